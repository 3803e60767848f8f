"""The report: Markdown, HTML, chapters, plots, the comparison of two reports."""

"""Documents for people: chapters, tables and pictures, as HTML."""

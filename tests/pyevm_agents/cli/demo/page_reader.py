"""Reads the pages of the command."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """Reads tags, labels and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.labels: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.labels += [str(found["aria-label"])] if found.get("role") == "img" else []
        self.links += [str(found[name]) for name in ("href", "src") if name in found]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

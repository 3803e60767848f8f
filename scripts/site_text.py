"""Texts of the documentation site: links between its pages, and sections of docstrings."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent

PAGES: Mapping[str, str] = {
    "index.md": "README.md",
    "benchmark-report.md": "benchmarks/reports/default-model/README.md",
    "chain-fixtures.md": "chain_fixtures/README.md",
    "changelog.md": "CHANGELOG.md",
    "contracts.md": "contracts/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "model-card.md": "MODEL_CARD.md",
    "precompile.md": "precompiles/README.md",
    "security.md": "SECURITY.md",
    "model-training.md": "training/README.md",
}
"""Page of the site to the file that it is, outside `docs/`."""

PAGE_OF_FILE = {file: page for page, file in PAGES.items()}

FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<bang>!?)\[(?P<text>[^\]\[]+)\]\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")

SECTION = re.compile(
    r"^(?P<name>Input|Output|Raises|Gas|Source):[ ]?"
    r"(?P<text>[^\n]*(?:\n(?!\s*$)(?![A-Z]\w+:)[^\n]+)*)",
    re.MULTILINE,
)
ENTRY = re.compile(r"\*{0,2}\w+(?:, \*{0,2}\w+)*: ")
BLOCKS = {"Input": "Args", "Raises": "Raises"}
"""Section to the section of the Google style that has entries."""


def convert_links(markdown: str, page: str) -> str:
    """Return a page's text with its links as links of the site; fenced code stays as it is.

    Input:
        page: its path in the site's sources, such as `index.md` or `api/chain.md`.
    """
    folder = posixpath.dirname(PAGES.get(page, f"docs/{page}"))
    parts = FENCE.split(markdown)
    return "".join(
        part
        if part.startswith("```")
        else LINK.sub(lambda link: _convert_link(link, page, folder), part)
        for part in parts
    )


def _convert_link(link: re.Match[str], page: str, folder: str) -> str:
    target = posixpath.normpath(posixpath.join(folder, link["path"]))
    if not (ROOT / target).exists():
        return link[0]  # Code that looks like a link; mkdocs reports what is one.
    in_site = PAGE_OF_FILE.get(target, target.removeprefix("docs/"))
    if in_site == target:
        return link["text"]
    path = posixpath.relpath(in_site, posixpath.dirname(page) or ".")
    return f"{link['bang']}[{link['text']}]({path}{link['anchor'] or ''})"


def convert_sections(text: str) -> str:
    """Return a docstring with its sections in the Google style, which griffe reads.

    `Input:` is shown as parameters, and `Raises:` on one line as exceptions. `Output:`, `Gas:` and
    `Source:` become paragraphs.
    """
    return SECTION.sub(_convert_section, text)


def _convert_section(section: re.Match[str]) -> str:
    name = section["name"]
    first, _, rest = section["text"].partition("\n")
    lines = f"{first}\n{dedent(rest)}".strip("\n")
    if name in BLOCKS and ENTRY.match(lines):
        body = (
            "\n".join(_indent_continuation(line) for line in lines.split("\n")) if first else lines
        )
        return f"{BLOCKS[name]}:\n{indent(body, '    ')}"
    return f"**{name}:** {lines}"


def _indent_continuation(line: str) -> str:
    """Return a line of a section that begins on its heading's line; entries stay at its margin."""
    return line if ENTRY.match(line) else indent(line, "    ")

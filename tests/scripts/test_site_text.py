"""Links between pages of the documentation site, and sections of docstrings in its API pages."""

from __future__ import annotations

import re

import pytest

from scripts.site_text import PAGES, convert_links, convert_sections
from tests.checkout import ROOT


@pytest.mark.parametrize(
    ("page", "text", "converted"),
    [
        ("index.md", "[A](docs/testing.md)", "[A](testing.md)"),
        ("index.md", "[A](docs/clients.md#hardhat)", "[A](clients.md#hardhat)"),
        ("index.md", "see [NOTICE](NOTICE).", "see NOTICE."),
        ("index.md", "[A](https://example.org/x.md)", "[A](https://example.org/x.md)"),
        ("testing.md", "[A](../precompiles/README.md)", "[A](precompile.md)"),
        ("testing.md", "[A](../tests/conftest.py)", "A"),
        ("architecture.md", "![A](architecture.svg)", "![A](architecture.svg)"),
        ("contracts.md", "[A](../docs/own-agent.md)", "[A](own-agent.md)"),
        ("api/chain.md", "[A](../../README.md)", "[A](../index.md)"),
        ("testing.md", "[A](missing.md)", "[A](missing.md)"),
        ("testing.md", "```\n[A](../README.md)\n```", "```\n[A](../README.md)\n```"),
    ],
)
def test_links_lead_to_pages(page: str, text: str, converted: str) -> None:
    assert convert_links(text, page) == converted


@pytest.mark.parametrize(
    ("text", "converted"),
    [
        ("Raises: A: one,\nor two.", "Raises:\n    A: one,\n        or two."),
        ("Raises:\n    A: one.\n    B: two.", "Raises:\n    A: one.\n    B: two."),
        ("Input:\n    a, b: 32 bytes each.", "Args:\n    a, b: 32 bytes each."),
        ("Output:\n    A digest,\n    32 bytes.", "**Output:** A digest,\n32 bytes."),
        ("Gas: 16 a byte.\nRaises: A: one.", "**Gas:** 16 a byte.\nRaises:\n    A: one."),
        ("A line.\n\nInput: 20 bytes.", "A line.\n\n**Input:** 20 bytes."),
    ],
)
def test_sections_become_those_of_griffe(text: str, converted: str) -> None:
    assert convert_sections(text) == converted


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    docs = {file.relative_to(ROOT / "docs").as_posix() for file in ROOT.glob("docs/**/*.md")}
    assert sorted(listed) == sorted(docs | PAGES.keys())

"""Decoded values of calls, as the page shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow


def test_members_of_structs_have_their_names(browser: Browser, node: PageNode) -> None:
    """The executor reads a tool's `getInputDescription()`, which returns a struct of structs."""
    sent = node.mined(node.run(node.counting, "Add 7"))
    with browser.page(f"{node.url}#/tx/{sent}") as page:
        page.wait("Counted.")
        page.click("details.prompt > summary")
        page.click("details.prompt .reads summary")
        page.wait("paramDescriptions: [(paramType: ", "details.prompt .reads li")
        (read,) = (text for text in page.texts("details.prompt .reads li") if "paramDesc" in text)
    assert "name: “amount”, description: “" in read

"""The page while a model writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow


def test_the_text_appears_while_the_model_writes_and_the_run_when_it_ends(
    browser: Browser, node: PageNode
) -> None:
    with browser.page(f"{node.url}/#/") as page, browser.page(f"{node.url}/#/") as second:
        for tab in (page, second):
            tab.wait("live", ".connection")
        node.model.hold()
        tx_hash = node.instruct("Refuse, please")
        for tab in (page, second):
            tab.wait("I now know the", ".live-run .writing")
            tab.wait("Refuse, please", ".live-run .asked")
        page.goto(f"{node.url}/#/tx/{tx_hash}")
        page.wait("pending", ".status")
        page.wait("Running", "h2")
        page.wait("I now know the", ".writing")
        node.model.release()
        page.wait("succeeded", ".status")
        page.wait("I will not do that.", ".reply")
        second.wait("Refuse, please", ".runs td")
        assert second.text(".hidden[aria-live=polite]") == "The run succeeded"
        assert second.texts(".live-run") == []

"""Two tabs of a browser on one node."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.page.page_node import PageNode

if TYPE_CHECKING:
    from tests.page.browser import Browser

pytestmark = pytest.mark.slow

GONE = "(text) => document.querySelector('.runs')?.innerText.includes(text) === false"


def test_two_tabs_show_one_chain_and_one_goes_on_without_the_other(browser: Browser) -> None:
    with PageNode() as node, ExitStack() as tabs:
        second_tab = tabs.enter_context(browser.page(f"{node.url}/#/"))
        with browser.page(f"{node.url}/#/ask/{node.asking}", beside=second_tab) as first_tab:
            for tab in (first_tab, second_tab):
                tab.wait("live", ".connection")
            first_tab.fill(".ask label.wide textarea", "Ask for 7")
            first_tab.click("button:text-is('Send')")
            first_tab.wait("Asked.", ".reply")
            second_tab.wait("Ask for 7", ".runs td")
            first_tab.goto(f"{node.url}/#/")
            snapshot = node.ask("evm_snapshot")
            node.mined(node.instruct("Sent by a program"))
            for tab in (first_tab, second_tab):
                tab.wait("Sent by a program", ".runs td")
            node.ask("evm_revert", snapshot)
            for tab in (first_tab, second_tab):
                tab.wait("A revert to a snapshot or a rollback replaced block", ".notices")
                tab.wait_for(GONE, "Sent by a program")
                tab.wait("Ask for 7", ".runs td")
            first_tab.click(".notices button")
            second_tab.wait("A revert to a snapshot", ".notices")
        node.model.hold()
        node.instruct("Sent to the tab that is left")
        second_tab.wait("I now know the", ".live-run .writing")
        node.model.release()
        second_tab.wait("Sent to the tab that is left", ".runs td")
        second_tab.wait("live", ".connection")

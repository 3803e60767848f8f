"""The page without a mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow

FOCUSED = (
    "() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
)
COUNT_STOPS = """() =>
    [...document.querySelectorAll('a, button, input, summary, [tabindex="0"]')]
        .filter((each) => each.checkVisibility() && each.tabIndex >= 0 && !each.disabled).length
"""
OUTLINE = "() => getComputedStyle(document.activeElement).outlineStyle"


def test_lists_are_walked_and_opened_by_keys(browser: Browser, node: PageNode) -> None:
    first = node.mined(node.instruct("First question"))
    second = node.mined(node.instruct("Second question"))
    with browser.page(f"{node.url}/#/") as page:
        page.wait("Second question", ".runs td")
        page.press("j")
        assert page.evaluate(FOCUSED).startswith("Second question")
        assert page.evaluate(OUTLINE) == "solid"
        page.press("j")
        assert page.evaluate(FOCUSED).startswith("First question")
        page.press("k", "Enter")
        page.wait_for("(hash) => location.hash === `#/tx/${hash}`", second)
        page.wait("I will not do that.", ".reply")
        page.press("j")
        assert page.evaluate("() => document.activeElement.matches('main [data-stop]')")
        page.press("Escape")
        assert page.evaluate("() => document.activeElement === document.body")
        page.press("/")
        page.ask("press", key="F")
        assert (
            page.evaluate("() => document.activeElement.id + document.activeElement.value")
            == "searchF"
        )
        page.press("Escape", "j")
        assert page.evaluate("() => document.activeElement.id") != "search"
        page.goto(f"{node.url}/#/tx/{first}")
        page.wait("First question", ".request")


def test_the_list_of_blocks_keeps_the_focus_in_view(browser: Browser, node: PageNode) -> None:
    node.ask("anvil_mine", hex(60))
    with browser.page(f"{node.url}/#/") as page:
        head = int(node.ask("eth_blockNumber"), 16)
        page.wait(f"{head}", ".blocks td")
        page.evaluate("() => document.querySelector('.blocks tr[tabindex=\"0\"]').focus()")
        page.press("End")
        page.wait_for("() => document.activeElement.getAttribute('aria-label') === 'Block 0'")
        page.press("k")
        page.wait_for("() => document.activeElement.getAttribute('aria-label') === 'Block 1'")
        page.press("Home", "PageDown")
        page.wait_for("() => document.activeElement.closest('.blocks') !== null")
        box = page.evaluate(
            "() => { const row = document.activeElement.getBoundingClientRect();"
            " const list = document.querySelector('.blocks .list').getBoundingClientRect();"
            " return row.top >= list.top && row.bottom <= list.bottom + 1; }"
        )
        assert box


def test_everything_is_reached_by_tab(browser: Browser, node: PageNode) -> None:
    tx_hash = node.mined(node.instruct("Deposit 10 USDC"))
    with browser.page(f"{node.url}/#/tx/{tx_hash}") as page:
        page.wait("Done.", ".reply")
        wanted = page.evaluate(COUNT_STOPS)
        page.evaluate("() => { globalThis.seen = new Set(); document.activeElement.blur(); }")
        for _ in range(wanted):
            page.press("Tab")
            page.evaluate("() => { globalThis.seen.add(document.activeElement); }")
        assert page.evaluate("() => globalThis.seen.size") >= wanted

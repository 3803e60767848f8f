"""A chain of 10,000 blocks: few elements in the document, few bytes from the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow

BLOCKS = 10_000
MAX_ELEMENTS = 1_200
"""Elements of the whole document; a row of the list has some ten."""

MAX_ROWS = 60

MAX_FIRST_BYTES = 250_000
"""Of all that the page fetches until its first rows are there; the page itself has 100,000."""

COUNT = "() => document.querySelectorAll('*').length"
SUM_BYTES = """() => performance.getEntriesByType('resource')
    .reduce((sum, each) => sum + each.encodedBodySize, 0)"""
SCROLL = """(share) => {
    const list = document.querySelector('.blocks .list');
    list.scrollTop = share * (list.scrollHeight - list.clientHeight);
}"""
IS_LOADED = """(wanted) => {
    const numbers = [...document.querySelectorAll('.blocks td:first-child')]
        .map((cell) => Number(cell.innerText.replaceAll(',', '')));
    const times = [...document.querySelectorAll('.blocks td.time')];
    return numbers.some((number) => Math.abs(number - wanted) < 40)
        && times.every((cell) => cell.innerText !== '…');
}"""
IS_WAITING = IS_LOADED.replace("times.every", "times.length > 0 && times.every").replace(
    "!== '…'", "=== '…'"
)
HOLD_TIMERS = """() => {
    const held = new Map();
    const { setTimeout, clearTimeout } = globalThis;
    let last = 0;
    globalThis.setTimeout = (run, ms) => {
        if (ms !== 100) return setTimeout(run, ms);
        held.set(--last, run);
        return last;
    };
    globalThis.clearTimeout = (id) => held.delete(id) || clearTimeout(id);
    globalThis.release = () => {
        const due = [...held.values()];
        held.clear();
        due.forEach((run) => run());
    };
}"""
"""The page's timers of 100 ms, after which it fetches the rows in view, run when released."""

RELEASE = """async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    await new Promise((done) => setTimeout(done, 0));
    globalThis.release();
}"""
"""Preact sets the timer of the rows in view in the frame after the one that shows them."""

FIRST_VISIBLE = """() => {
    const top = document.querySelector('.blocks .list').getBoundingClientRect().top;
    const rows = [...document.querySelectorAll('.blocks tr[data-index]')];
    return rows.find((row) => row.getBoundingClientRect().top >= top + 20).ariaLabel;
}"""


def test_ten_thousand_blocks_are_a_screen_of_rows(browser: Browser, node: PageNode) -> None:
    node.ask("anvil_mine", hex(BLOCKS))
    head = int(node.ask("eth_blockNumber"), 16)
    with browser.page(f"{node.url}/#/") as page:
        page.wait(f"{head:,}", ".blocks td")
        page.wait_for(IS_LOADED, head)
        assert page.evaluate(SUM_BYTES) < MAX_FIRST_BYTES
        assert page.evaluate(COUNT) < MAX_ELEMENTS
        for share in (0.25, 0.5, 1.0):
            page.evaluate(SCROLL, share)
            page.wait_for(IS_LOADED, head - round(share * head))
            assert page.evaluate(COUNT) < MAX_ELEMENTS
        assert len(page.texts(".blocks tr[data-index]")) < MAX_ROWS
        rows = page.evaluate("() => document.querySelector('.blocks table').ariaRowCount")
        assert rows == str(head + 2)  # Block 0 and the header, too.


def test_blocks_that_are_scrolled_past_are_not_fetched(browser: Browser, node: PageNode) -> None:
    node.ask("anvil_mine", hex(1_000))
    head = int(node.ask("eth_blockNumber"), 16)
    with browser.page(f"{node.url}/#/") as page:
        page.wait_for(IS_LOADED, head)
        page.evaluate(HOLD_TIMERS)
        for share in (0.25, 0.5):
            page.evaluate(SCROLL, share)
            page.wait_for(IS_WAITING, head - round(share * head))
        page.evaluate(RELEASE)
        page.wait_for(IS_LOADED, head - round(0.5 * head))
        page.evaluate(SCROLL, 0.25)
        page.wait_for(IS_WAITING, head - round(0.25 * head))


def test_the_scrolled_list_stays_where_it_is_when_blocks_come(
    browser: Browser, node: PageNode
) -> None:
    node.ask("anvil_mine", hex(200))
    head = int(node.ask("eth_blockNumber"), 16)
    with browser.page(f"{node.url}/#/") as page:
        page.wait(f"{head:,}", ".blocks td")
        page.evaluate("() => { document.querySelector('.blocks .list').scrollTop = 1500; }")
        page.wait_for("() => document.querySelector('.blocks tr[data-index]').dataset.index > 30")
        before = page.evaluate(FIRST_VISIBLE)
        node.ask("anvil_mine", "0x3")
        page.wait(f"{head + 3:,}", ".chain")
        assert page.evaluate(FIRST_VISIBLE) == before
        page.click(f".blocks tr[aria-label='{before}']")
        page.wait(before, "h1")
        page.evaluate("() => history.back()")
        page.wait("Agent runs", "h2")
        page.wait_for(f"(before) => ({FIRST_VISIBLE})() === before", before)


FAIL_BELOW = """(lowest) => {
    const plain = globalThis.fetch;
    globalThis.asked = [];
    globalThis.lowest = lowest;
    globalThis.fetch = async (url, options) => {
        const requests = [JSON.parse(options.body)].flat();
        const numbers = requests
            .filter((each) => each.method === 'eth_getBlockByNumber')
            .map((each) => Number(each.params[0]));
        globalThis.asked.push(numbers.length);
        if (!numbers.some((number) => number < globalThis.lowest)) return plain(url, options);
        const error = { code: -32005, message: 'the node is busy' };
        return Response.json(requests.map(({ id }) => ({ jsonrpc: '2.0', id, error })));
    };
}"""
"""Requests with a block below this number fail. Blocks by request are counted."""

MAX_AT_ONCE = 100


def test_a_search_that_fails_says_so_and_goes_on_where_it_ended(
    browser: Browser, node: PageNode
) -> None:
    filled = int(
        node.ask("eth_getTransactionByHash", node.mined(node.transfer()))["blockNumber"], 16
    )
    node.ask("anvil_mine", hex(450))
    with browser.page(f"{node.url}/#/") as page:
        page.wait("Only blocks with transactions", ".filter")
        page.evaluate(FAIL_BELOW, filled + 10)
        page.click(".filter input")
        page.wait("the node is busy", ".blocks .failed")
        page.wait("Search blocks before", ".blocks button")
        assert "No block from" in page.text(".blocks")
        page.evaluate("() => { globalThis.lowest = 0; }")
        page.click("text=Search again")
        page.wait(f"{filled:,}", ".blocks td")
        page.wait_for("() => !document.querySelector('.blocks .failed')")
        assert max(page.evaluate("() => globalThis.asked")) <= MAX_AT_ONCE


def test_a_search_of_which_nothing_is_answered_ends_with_the_failure(
    browser: Browser, node: PageNode
) -> None:
    with browser.page(f"{node.url}/#/") as page:
        page.wait("Only blocks with transactions", ".filter")
        page.evaluate(FAIL_BELOW, 10**9)
        page.click(".filter input")
        page.wait("the node is busy", ".blocks .failed")
        assert "No block from" not in page.text(".blocks")
        page.evaluate("() => { globalThis.lowest = 0; }")
        page.click("text=Search again")
        page.wait_for("() => document.querySelector('.blocks tr[data-index]')")

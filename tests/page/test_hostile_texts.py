"""Texts of contracts, models and senders that would run or hide, if they were more than text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.page.page_node import HOSTILE, MARKUP

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow

LONG = "long " * 400
HIDDEN = "\u200b"
TIMES = "\N{MULTIPLICATION SIGN}"
CALLS_ITSELF = "0x60006000600060006000305af100"
REVERTS_MEBIBYTE = "0x621000006000fd"

MAX_ELEMENTS = 2_500
"""Of the document, whatever a text has."""

MAX_ROW_PX = 60
MAX_VIEW_PX = 2_500

COUNT = "() => document.querySelectorAll('*').length"
MAX_HEIGHT = """(selector) => Math.max(
    ...[...document.querySelectorAll(selector)].map((each) => each.clientHeight))"""


def fills_slots(count: int) -> str:
    """Return code that writes storage slots, from `count` down to 1."""
    return f"0x60{count:02x}5b8080556001900380600257" + "00"


HAS_HIDDEN = """() => {
    const attributes = [...document.querySelectorAll('#app *')].flatMap((each) =>
        [...each.attributes].map((attribute) => attribute.value));
    return [document.title, document.body.innerText, ...attributes].some((text) =>
        /[\\u202a-\\u202e\\u2066-\\u2069\\u200b]/.test(text));
}"""
VISIBLE = (
    HOSTILE.replace("\u202e", "U+202E").replace("\u2066", "U+2066").replace("\u200b", "U+200B")
)


def test_hostile_texts_are_shown_as_text_in_every_view(browser: Browser, node: PageNode) -> None:
    asked = f"{HOSTILE} {LONG}"
    tx_hash = node.mined(node.run(node.quoting, asked))
    payment = node.mined(node.pay())
    views = {
        "": ".runs td",
        f"tx/{tx_hash}": ".observation",
        f"tx/{payment}": ".effects",
        f"address/{node.quoting}": ".told",
        f"ask/{node.quoting}": ".ask",
        "search/quote": ".found",
        "search/%3Cimg%20src=x%20onerror=alert(5)%3E": "h1",
        "tx/%3Cimg%20src=x%20onerror=alert(6)%3E": "main p.failed",
        "block/%E2%80%AE1": "main p.failed",
        "%3Cscript%3Ealert(7)%3C/script%3E": "#blocks",
        "address/%": "main p.failed",
    }
    with browser.page(f"{node.url}/#/") as page:
        for view, ready in views.items():
            page.goto(f"{node.url}/#/{view}")
            page.wait("", ready)
            page.evaluate(
                "() => document.querySelectorAll('details').forEach((each) => (each.open = true))"
            )
            assert (
                page.evaluate("() => document.querySelectorAll('#app img, #app script').length")
                == 0
            )
            hidden = page.evaluate(HAS_HIDDEN)
            assert not hidden, view
            links = page.evaluate(
                "() => [...document.links].map((link) => link.getAttribute('href'))"
            )
            assert {link[0] for link in links} == {"#"}
            assert page.problems() == []
        page.goto(f"{node.url}/#/tx/{tx_hash}")
        page.wait(VISIBLE, ".observation")
        page.wait(VISIBLE[:60], ".request")
        page.wait(MARKUP, ".thought")
        assert page.evaluate("() => document.querySelector('.observation bdi') !== null")


def test_long_texts_are_cut_until_the_reader_asks_for_more(
    browser: Browser, node: PageNode
) -> None:
    addresses = f"{node.first} " * 500
    asked = node.mined(node.instruct(HIDDEN * 10_000 + f"a{HIDDEN}" * 10_000))
    before = node.mined(node.instruct(addresses))
    with browser.page(f"{node.url}/#/") as page:
        page.wait(f"U+200B {TIMES}", ".runs td")
        assert page.evaluate(COUNT) < MAX_ELEMENTS
        page.goto(f"{node.url}/#/search/{node.first[2:].lower()}")
        page.wait(node.first, ".found a")
        assert page.evaluate(MAX_HEIGHT, ".found li") < MAX_ROW_PX
        page.goto(f"{node.url}/#/tx/{asked}")
        page.wait(f"U+200B {TIMES}1,000", ".request")
        assert page.evaluate(COUNT) < MAX_ELEMENTS
        page.goto(f"{node.url}/#/tx/{before}")
        page.wait("Show all", ".request")
        cut = len(page.texts(".request a"))
        assert 0 < cut < 30
        page.click(".request .more-text")
        page.wait_for("() => document.querySelectorAll('.request a').length === 500")


def test_a_huge_reason_leaves_the_rest_in_place(browser: Browser, node: PageNode) -> None:
    tx_hash = node.mined(node.call(REVERTS_MEBIBYTE))
    with browser.page(f"{node.url}/#/tx/{tx_hash}") as page:
        page.wait("characters", ".verdict")
        page.wait("Calls", "h2")
        assert page.evaluate("() => document.documentElement.scrollHeight") < MAX_VIEW_PX


def test_a_contract_that_calls_itself_deep_is_shown_in_parts(
    browser: Browser, node: PageNode
) -> None:
    tx_hash = node.mined(node.call(CALLS_ITSELF))
    with browser.page(f"{node.url}/#/tx/{tx_hash}") as page:
        page.wait("calls inside", ".tree")
        page.wait("fee", ".facts-grid")
        shown = len(page.texts(".tree li"))
        assert 10 < shown < 60
        page.click(".tree button:has-text('calls inside')")
        page.wait("A part of the run", ".entered")
        assert len(page.texts(".tree li")) == shown
        page.click(".entered button")
        page.wait_for("() => document.querySelector('.entered') === null")


def test_much_storage_is_closed_at_first(browser: Browser, node: PageNode) -> None:
    few, many = (node.mined(node.call(fills_slots(slots))) for slots in (2, 20))
    with browser.page(f"{node.url}/#/tx/{few}") as page:
        page.wait("2 slots", ".storage[open] summary")
        page.goto(f"{node.url}/#/tx/{many}")
        page.wait("20 slots", ".storage:not([open]) summary")


def test_the_policy_blocks_what_a_mistake_of_the_page_would_let_in(
    browser: Browser, node: PageNode
) -> None:
    with browser.page(f"{node.url}/#/", is_sound=False) as page:
        page.wait("Blocks", "h2")
        page.evaluate(
            "() => { document.body.insertAdjacentHTML('beforeend',"
            ' \'<img src=x onerror="globalThis.ran = 1"><p style="color: red">\');'
            " document.body.append(Object.assign(document.createElement('script'),"
            " {textContent: 'globalThis.ran = 1'})); }"
        )
        page.wait_for("() => globalThis.violations.length >= 3")
        assert page.evaluate("() => globalThis.ran ?? null") is None
        blocked = {problem.split()[1] for problem in page.problems() if problem.startswith("CSP")}
        assert blocked == {"script-src-attr", "script-src-elem", "style-src-attr"}

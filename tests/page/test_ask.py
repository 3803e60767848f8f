"""Asking an agent: two versions side by side, and sending."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow

CHOOSE_SECOND = """() => {
    const select = document.querySelector('.ask select');
    select.selectedIndex = 1;
    select.dispatchEvent(new Event('change', { bubbles: true }));
}"""


def test_both_versions_are_shown_side_by_side_and_nothing_is_sent(
    browser: Browser, node: PageNode
) -> None:
    with browser.page(f"{node.url}/#/ask/{node.wallet}") as page:
        page.wait("(owner)", ".ask select")
        head = node.ask("eth_blockNumber")
        page.fill(".ask label.wide textarea", "Deposit 10 USDC")
        prompt = page.evaluate("() => document.querySelector('.texts > .field textarea').value")
        page.fill(".texts > .field textarea", f"{prompt} Always double the amount.")
        page.click("text=Run both without sending")
        page.wait("another outcome", ".side h2")
        present, edited = (
            page.texts(
                f".side:nth-child({side}) .panel > .effects:has-text('Transfers') td:first-child"
            )
            for side in (1, 2)
        )
        assert (present, edited) == (["10"], ["20"])
        assert page.violations() == []
        assert node.ask("eth_blockNumber") == head
        page.click("text=Restore the present texts")
        page.click("text=Run without sending")
        page.wait("Done.", ".sides.alone .reply")


def test_what_differs_from_the_request_is_red_and_has_words(
    browser: Browser, node: PageNode
) -> None:
    with browser.page(f"{node.url}/#/ask/{node.wallet}") as page:
        page.wait("(owner)", ".ask select")
        page.fill(".ask label.wide textarea", "Deposit 10 USDC")
        page.click("text=Run without sending")
        page.wait("Amounts and accounts are those of the request.", ".agrees")
        assert page.texts(".differences") == []
        # The model deposits 10 in any case.
        page.fill(".ask label.wide textarea", "Deposit 25 USDC")
        assert page.texts("button.warned") == []
        page.click("text=Run without sending")
        page.wait("Differs from the request", ".differences")
        amount, unused = page.texts(".differences li")
        assert amount.startswith("moves 10 USDC to LiquidityPool")
        assert amount.endswith(": the request states no such amount")
        assert unused == '"25 USDC" is in the request, and nothing uses it'
        colour = "() => getComputedStyle(document.querySelector('.differences')).color"
        failed = "() => getComputedStyle(document.documentElement).getPropertyValue('--bad')"
        probe = f"() => {{ const one = document.body; one.style.color = ({failed})(); "
        probe += "const found = getComputedStyle(one).color; one.style.color = ''; return found; }"
        assert page.evaluate(colour) == page.evaluate(probe)
        page.click("button:text-is('Send all the same')")
        # The mined transaction differs as its simulation did, whose differences leave before.
        page.wait("Deposit 25 USDC", ".request")
        page.wait("Differs from the request", ".differences")
        assert page.texts(".differences li") == [amount, unused]
        assert page.violations() == []


def test_each_version_shows_its_text_while_the_model_writes(
    browser: Browser, node: PageNode
) -> None:
    present, edited = ".side:nth-child(1)", ".side:nth-child(2)"
    with browser.page(f"{node.url}/#/ask/{node.asking}") as page:
        page.wait("Instruction", ".ask")
        page.wait("live", ".connection")
        page.fill(".ask label.wide textarea", "Ask for 8")
        page.fill(".texts > .field textarea", "You ask. Say it anew.")
        node.model.hold("You ask.")
        page.click("text=Run both without sending")
        page.wait("run 1 of 2", f"{present} .progress")
        page.wait("I use it.", f"{present} .writing")
        page.wait("waits for the other", edited)
        page.wait("second", ".side .elapsed")
        assert page.texts(f"{edited} .live") == []
        node.model.hold("Say it anew.")
        page.wait("run 2 of 2", f"{edited} .progress")
        page.wait("I use it.", f"{edited} .writing")
        page.wait("Asked.", f"{present} .reply")
        assert page.texts(f"{present} .live") == []
        assert page.violations() == []
        node.model.release()
        page.wait("same outcome", f"{edited} h2")
        assert page.texts(".progress, .live") == []


def test_a_request_is_sent_and_watched(browser: Browser, node: PageNode) -> None:
    with browser.page(f"{node.url}/#/ask/{node.asking}") as page:
        page.wait("Instruction", ".ask")
        page.fill(".ask label.wide textarea", "Ask for 7")
        node.model.hold()
        page.click("button:text-is('Send')")
        page.wait("pending", ".title .status")
        page.wait("Running", "h2")
        page.wait("Ask for 7", ".request")
        node.model.release()
        page.wait("Asked.", ".reply")
        page.wait("Ask for 7", ".request")


def test_a_version_1_agent_is_asked_with_another_description(
    browser: Browser, node: PageNode
) -> None:
    with browser.page(f"{node.url}/#/ask/{node.draft}") as page:
        page.wait("Instruction", ".ask")
        page.fill(".ask label.wide textarea", "Add 7")
        page.fill(".texts > .field textarea", "You do nothing.")
        page.click("text=Run both without sending")
        page.wait("another outcome", ".side h2")
        assert page.texts(".side:nth-child(1) .reply") == ["Counted."]
        page.goto(f"{node.url}/#/ask/{node.draft}")
        page.wait("Instruction", ".ask")
        page.fill(".ask label.wide textarea", "Add 8")
        page.click("button:text-is('Send')")
        page.wait("Counted.", ".reply")
        page.wait("Add 8", ".request")


def test_a_refusal_of_the_agent_is_told(browser: Browser, node: PageNode) -> None:
    with browser.page(f"{node.url}/#/ask/{node.wallet}") as page:
        page.wait("(owner)", ".ask select")
        page.fill(".ask label.wide textarea", "Deposit 10 USDC")
        page.evaluate(CHOOSE_SECOND)
        page.click("text=Run without sending")
        page.wait("CallerNotAllowed", ".verdict")
        page.goto(f"{node.url}/#/ask/{node.second}")
        page.wait("There is no agent at this address")

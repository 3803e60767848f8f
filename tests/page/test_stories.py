"""From the first look at the page to what was asked, what was done, why it failed and its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import to_canonical_address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact

if TYPE_CHECKING:
    from tests.page.browser import Browser
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow


def create(node: PageNode, data: bytes) -> str:
    """Create a contract; return its address."""
    form = {"from": node.first, "data": "0x" + data.hex(), "gas": hex(20_000_000)}
    sent = node.mined(node.ask("eth_sendTransaction", form))
    return str(node.ask("eth_getTransactionReceipt", sent)["contractAddress"])


def create_lost_agent(node: PageNode) -> str:
    """Create an agent whose model the chain does not have."""
    texts = ("Lost Agent", "Finds nothing", "what to do", "You are lost.")
    return create(
        node,
        load_artifact("SimpleAgent").encode_creation(
            EXECUTOR_ADDRESS, "no such model", *texts, [], 2
        ),
    )


def create_forwarder(node: PageNode, target: str) -> str:
    """Create a contract that calls a target with its calldata, and reverts with what it returns."""
    code = bytes.fromhex("365f5f375f5f365f5f73") + to_canonical_address(target)
    code += bytes.fromhex("5af1503d5f5f3e3d5ffd")
    return create(node, bytes.fromhex(f"60{len(code):02x}8060095f395ff3") + code)


@pytest.mark.parametrize("request_text", ["Find it", "Find it for another contract"])
def test_a_refusal_is_a_click_away(browser: Browser, node: PageNode, request_text: str) -> None:
    agent = create_lost_agent(node)
    asked = create_forwarder(node, agent) if "contract" in request_text else agent
    sent = node.mined(node.run(asked, request_text))
    used = int(node.ask("eth_getTransactionReceipt", sent)["gasUsed"], 16)
    with browser.page(node.url) as page:
        page.click(f".runs a[href='#/tx/{sent}']")
        page.wait(request_text, ".request")
        assert "reverted" in page.text(".title .status")
        assert "UnknownModel(modelId=" in page.text(".verdict")
        assert page.text(".reply, .panel p.dim") == "No answer: no model ran."
        assert f"{used:,}" in page.text(".gas .total")


def test_a_new_page_finds_tools_by_name(browser: Browser, node: PageNode) -> None:
    node.mined(node.run(node.counting, "Add 7"))
    tool = node.ask("agent_describe", node.counting)["tools"][0]["address"].lower()
    with browser.page(f"{node.url}/#/search/countertool") as page:
        page.wait("“CounterTool”", ".found")
        page.click(".found a")
        page.wait(tool, ".title .hash-text")


def test_created_contracts_are_in_the_list_of_transactions(
    browser: Browser, node: PageNode
) -> None:
    created = create_lost_agent(node)
    with browser.page(f"{node.url}/#/address/{node.first}") as page:
        page.wait("creates a contract", ".rows")
        page.click(f".rows a[href='#/address/{created}']")
        page.wait("Lost Agent", "h1")


def test_storage_is_read_as_texts_numbers_and_addresses(browser: Browser, node: PageNode) -> None:
    created = create_lost_agent(node)
    with browser.page(f"{node.url}/#/address/{created}", width=390) as page:
        page.click("summary:has-text('Storage')")
        page.wait("no such model", ".slots")
        cells = dict(
            zip(
                page.texts(".slots td:nth-child(2)"),
                page.texts(".slots td:nth-child(3)"),
                strict=True,
            )
        )
        assert cells["0x19"] == "25"
        assert "Lost Agent" in cells.values()
        width = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
        assert width[0] <= width[1]
        assert page.violations() == []


def test_a_list_is_one_stop_of_tab_and_has_equal_rows(browser: Browser, node: PageNode) -> None:
    for number, agent in enumerate((node.counting, node.asking, node.quoting)):
        node.mined(node.run(agent, f"Add 7, time {number}"))
    with browser.page(node.url, width=1_240) as page:
        page.wait("time 2", ".runs td")
        page.wait("“Asking Agent”", ".runs td")
        heights = page.evaluate(
            "() => [...document.querySelectorAll('.runs tr[data-index]')]"
            ".map((each) => each.getBoundingClientRect().height)"
        )
        assert {*heights} == {30}  # As page/src/style.css has it, --row.
        stops = page.evaluate(
            "() => [...document.querySelectorAll('.runs .list a, .runs .list tr')]"
            ".filter((each) => each.tabIndex >= 0).length"
        )
    assert stops == 1

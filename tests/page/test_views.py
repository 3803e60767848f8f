"""Each view of the page, on a chain with a wallet, nested agents, a revert and a refusal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.page.browser import Browser
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow

SCHEMES = ("light", "dark")
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def runs(node: PageNode) -> Mapping[str, str]:
    """Hashes of mined transactions by what they show."""
    return {
        "deposit": node.mined(node.instruct("Deposit 10 USDC")),
        "nested": node.mined(node.run(node.asking, "Ask for 7")),
        "reverted": node.mined(node.run(node.trying, "Try it")),
        "refusal": node.mined(node.instruct("Send all to a stranger")),
        "transfer": node.mined(node.transfer()),
    }


def test_from_the_overview_to_what_was_asked_and_done_takes_a_click(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    with browser.page(f"{node.url}/#/") as page:
        page.wait("Deposit 10 USDC", ".runs td")
        head = int(node.ask("eth_blockNumber"), 16)
        assert page.text(".chain").split() == [
            "chain",
            "31337",
            "block",
            str(head),
            "model",
            "bytes",
        ]
        page.click(f'.runs a[href="#/tx/{runs["deposit"]}"]')
        page.wait("Deposit 10 USDC", ".request")
        assert page.text(".reply") == "Done."
        amount, token, sender, recipient = page.texts(".effects tbody tr:first-child td")[:4]
        assert amount == "10"
        address = node.ask("agent_traceCalls", runs["deposit"])["transfers"][0]["token"].lower()
        assert token == f"USDC{address[:6]}…{address[-4:]}"  # Any contract can say USDC.
        assert sender.startswith("WalletAccount")
        assert recipient.startswith("LiquidityPool")
        assert page.texts(".more, .less") == [f"{MINUS}10", "+10"]
        assert "DeployTool" in page.text(".action")


def test_nested_agents_are_nested(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    with browser.page(f"{node.url}/#/tx/{runs['nested']}") as page:
        page.wait("Asked.", ".reply")
        assert page.texts(".step > .line .tag.number") == ["1", "2", "3", "4"]
        assert page.texts(".step .step > .line .tag.number") == ["2", "3"]
        assert page.texts(".call.agent > .line .tag.agent") == ["agent", "agent"]
        page.wait("Counting Agent", ".claim")
        agents = page.texts(".call.agent > .line .address")
        for agent, address, name in zip(
            agents,
            (node.asking.lower(), node.counting.lower()),
            ("Asking Agent", "Counting Agent"),
            strict=True,
        ):
            assert agent == f"SimpleAgent{address[:6]}…{address[-4:]}“{name}”"
        page.goto(f"{node.url}/#/")
        page.wait("“Asking Agent”", ".runs td")


def test_a_revert_says_why_and_strikes_what_it_undid(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    with browser.page(f"{node.url}/#/tx/{runs['reverted']}") as page:
        page.wait("reverted", ".title .status")
        assert page.text(".verdict").startswith(
            "Reverted: nothing was done, because ToolRefused(call=1)"
        )
        struck = page.evaluate(
            "() => [...document.querySelectorAll('.reverted > .line .what')]"
            ".map((each) => getComputedStyle(each).textDecorationLine)"
        )
        assert set(struck) == {"line-through"}


def test_a_revert_without_a_reason_is_told_in_a_sentence(browser: Browser, node: PageNode) -> None:
    silent = node.mined(node.call("0x5f5ffd"))
    starved = node.mined(node.instruct("Deposit 10 USDC", gas=hex(600_000)))
    with browser.page(f"{node.url}/#/tx/{silent}") as page:
        page.wait("reverted", ".title .status")
        verdict = page.text(".verdict")
        assert verdict == "Reverted: nothing was done. The contract gave no reason."
        page.goto(f"{node.url}/#/tx/{starved}")
        page.wait("because a call of the executor", ".verdict")
        assert "no reason given" not in page.text(".verdict").partition("gas: it had")[0]


def test_blocks_without_transactions_are_left_out_if_asked(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    newest = int(node.ask("eth_getTransactionByHash", runs["transfer"])["blockNumber"], 16)
    node.ask("anvil_mine", hex(1_200))
    with browser.page(f"{node.url}/#/") as page:
        page.wait("Only blocks with transactions", ".filter")
        page.click(".filter input")
        page.wait("Search blocks before", ".blocks button")
        page.wait_for("() => !document.querySelector('.blocks tr[data-index]')")
        page.click(".blocks .quiet")
        page.wait(f"{newest:,}", ".blocks td")
        counts = page.texts(".blocks .count")
        assert counts
        assert "0" not in counts
        added = node.mined(node.transfer())
        page.wait(f"{added[:6]}", ".blocks td")
        rows = page.texts(".blocks tr[data-index] td:first-child")
        numbers = [int(row.replace(",", "")) for row in rows]
        assert numbers == sorted(numbers, reverse=True)
        page.click(".filter input")
        page.wait("Block", ".blocks th")
        page.wait_for("() => document.querySelectorAll('.blocks tr[data-index]').length > 20")


def test_a_refusal_changed_nothing_but_its_counter(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    with browser.page(f"{node.url}/#/tx/{runs['refusal']}") as page:
        page.wait("I will not do that.", ".reply")
        assert page.text(".verdict") == "No ether and no tokens moved."
        assert page.text(".storage summary") == "Storage: 1 slot of 1 contract changed"


def test_gas_is_split_by_its_causes(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    trace = node.ask("agent_traceTransaction", runs["deposit"])
    with browser.page(f"{node.url}/#/tx/{runs['deposit']}") as page:
        page.wait("written", ".gas")
        cells = [text.replace(",", "") for text in page.texts(".gas tbody td:nth-child(2)")]
        evm, read, reread, written, used = map(int, cells)
        assert (evm, read + reread, written, used) == (
            trace["gas"]["evm"],
            trace["gas"]["prompt"],
            trace["gas"]["output"],
            trace["gas"]["used"],
        )
        assert reread == 100 * trace["tokens"]["warm"]
        page.click(".prompt summary")
        assert page.text(".prompt pre") == trace["steps"][0]["prompt"]


def test_a_run_is_saved_as_a_trace_and_as_a_script(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    with browser.page(f"{node.url}/#/tx/{runs['deposit']}") as page:
        page.wait("Save script")
        name, text = page.save("text=Save JSON")
        assert name.endswith(".json")
        trace = node.ask("agent_traceTransaction", runs["deposit"])
        assert json.loads(text)["trace"] == trace
        _, text = page.save("text=Save script")
        deposit, answer = json.loads(text)
        assert (deposit["tool"], deposit["arguments"]["amount"]) == ("DeployTool", 10)
        assert answer["answer"] == "Done."
        page.click("text=Copy link")
        copied = page.evaluate("() => navigator.clipboard.readText()")
        assert copied == f"{node.url}/#/tx/{runs['deposit']}"


def test_a_transaction_without_an_agent_has_the_same_view(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    with browser.page(f"{node.url}/#/tx/{runs['transfer']}") as page:
        page.wait("1 wei", ".effects")
        assert page.text("h1") == "Transaction"
        assert page.texts(".request, .gas") == []


def test_a_block_has_its_transactions(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    number = int(node.ask("eth_getTransactionByHash", runs["deposit"])["blockNumber"], 16)
    with browser.page(f"{node.url}/#/block/{number}") as page:
        page.wait("Deposit 10 USDC", ".rows td")
        page.click("a[rel=next]")
        page.wait(f"Block {number + 1}", "h1")
        page.wait("Ask for 7", ".rows td")
        page.goto(f"{node.url}/#/block/123456")
        page.wait("There is no such block.")


def test_an_address_has_what_models_read_and_its_storage(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    with browser.page(f"{node.url}/#/address/{node.asking}") as page:
        page.wait("Asking Agent", "h1")
        page.wait("You ask.", ".told pre")
        page.wait("Counting Agent", ".told li")
        page.wait(runs["nested"][:6], ".rows td")
        page.click("text=Storage")
        page.wait("You ask.", ".rows td")
        page.click("text=Ask this agent")
        page.wait("Instruction", ".ask")


def test_search_finds_blocks_hashes_addresses_names_and_texts(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    block = node.ask("eth_getBlockByNumber", "0x1", False)  # noqa: FBT003 - JSON
    found = {
        "1": "#/block/1",
        block["hash"]: f"#/block/{block['hash']}",
        runs["nested"]: f"#/tx/{runs['nested']}",
        node.asking: f"#/address/{node.asking}",
        "stranger": "#/search/stranger",
    }
    with browser.page(f"{node.url}/#/") as page:
        for text, fragment in found.items():
            page.press("/")
            page.fill("#search", text)
            page.press("Enter")
            page.wait_for("(fragment) => location.hash === fragment", fragment)
        page.wait("Send all to a stranger", ".found a")
        page.goto(f"{node.url}/#/search/walletagent")
        page.wait("WalletAgent", ".found a")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_view_is_accessible(
    browser: Browser, node: PageNode, runs: Mapping[str, str], scheme: str
) -> None:
    views = {
        "": ".runs td",
        f"tx/{runs['deposit']}": ".tree",
        f"tx/{runs['reverted']}": ".tree",
        "block/1": ".rows",
        f"address/{node.wallet}": ".told",
        f"ask/{node.wallet}": ".ask",
        "search/Deposit": ".found",
        "block/-1": "main p.failed",
        "block/99999999999999999999": "main p.failed",
        "tx/nothing": "main p.failed",
        "ask/": "main p.failed",
    }
    with browser.page(f"{node.url}/#/", scheme=scheme) as page:
        for view, ready in views.items():
            page.goto(f"{node.url}/#/{view}")
            page.wait("", ready)
            page.evaluate(
                "() => document.querySelectorAll('details').forEach((each) => (each.open = true))"
            )
            assert page.violations() == [], view


def test_a_narrow_window_scrolls_down_only(
    browser: Browser, node: PageNode, runs: Mapping[str, str]
) -> None:
    quoted = node.mined(node.run(node.quoting, "Quote it"))
    views = {
        "": ".runs td",
        f"tx/{runs['deposit']}": ".tree",
        f"tx/{quoted}": ".tree",
        f"address/{node.quoting}": ".told",
        f"ask/{node.wallet}": ".ask",
        f"ask/{node.quoting}": ".ask",
    }
    with browser.page(f"{node.url}/#/", width=360) as page:
        for view, ready in views.items():
            page.goto(f"{node.url}/#/{view}")
            page.wait("", ready)
            width = page.evaluate("() => document.documentElement.scrollWidth")
            assert width == 360, view


def test_nothing_is_requested_of_another_host(browser: Browser, node: PageNode) -> None:
    with browser.page(f"{node.url}/#/") as page:
        page.wait("Blocks", "h2")
        assert {url.split("/")[2] for url in page.requests()} == {node.url.split("/")[2]}


def test_the_theme_can_be_switched(browser: Browser, node: PageNode) -> None:
    back = "() => getComputedStyle(document.body).backgroundColor"
    with browser.page(f"{node.url}/#/", scheme="light") as page:
        page.wait("Blocks", "h2")
        light = page.evaluate(back)
        page.click(".theme")
        page.click(".theme")
        dark = page.evaluate(back)
        assert dark != light
        page.click(".theme")
        assert page.evaluate(back) == light
        page.ask("setScheme", scheme="dark")
        assert page.evaluate(back) == dark


def test_a_request_of_a_stranger_says_why_it_was_refused(browser: Browser, node: PageNode) -> None:
    form = {"from": node.second, "gas": hex(1_000_000)}
    tx_hash = node.mined(node.instruct("Pay me", **form))
    with browser.page(f"{node.url}/#/tx/{tx_hash}") as page:
        page.wait("Pay me", ".request")
        assert "CallerNotAllowed" in page.text(".verdict")

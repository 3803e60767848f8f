"""What a run leaves beside its request: approvals that stay, accounts, differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.rpc.run_review import list_names, read_native_symbol
from tests.pyevm_agents.rpc.methods.agents_to_show import FIRST, AgentsToShow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

OTHER = "0x" + "57" * 20


@pytest.fixture(scope="module")
def shown() -> Iterator[AgentsToShow]:
    """A node whose model deposits 10 USDC, whatever it is asked."""
    node = AgentsToShow()
    yield node
    node.node.close()


def review(shown: AgentsToShow, text: str) -> Any:  # noqa: ANN401 - JSON
    return shown.ask("agent_traceCall", shown.instruction(text))


# -- differences -- #


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Deposit 10 USDC", []),
        ("Put ten usdc into the pool, please", []),
        ("Deposit 20 USDC", ["unstatedAmount", "unusedAmount"]),
        ("Deposit 10 DAI", ["unstatedAmount"]),
        ("Deposit 10 wei", ["unstatedAmount"]),
        ("Do not deposit 10 USDC", ["noOrder"]),
    ],
)
def test_a_run_is_compared_with_its_request(
    shown: AgentsToShow, text: str, kinds: list[str]
) -> None:
    form = review(shown, text)
    assert [each["kind"] for each in form["differences"]] == kinds
    assert form["request"] == text


def test_the_mined_transaction_has_the_same_review(shown: AgentsToShow) -> None:
    tried = review(shown, "Deposit 20 USDC")
    mined = shown.ask("agent_traceCalls", shown.send(shown.instruction("Deposit 20 USDC")))
    for name in ("request", "accounts", "approvals", "differences"):
        assert tried[name] == mined[name]
    pool = to_checksum_address(shown.wallet.pool)
    text = f"moves 10 USDC to {pool}: the request states no such amount"
    assert mined["differences"][0] == {"kind": "unstatedAmount", "text": text}


def test_the_accounts_are_those_that_the_tools_act_through(shown: AgentsToShow) -> None:
    wallet = shown.wallet
    accounts = {to_checksum_address(each) for each in (wallet.agent, wallet.account)}
    assert {*review(shown, "Deposit 10 USDC")["accounts"]} == accounts


def test_what_is_not_asked_of_the_agent_itself_is_not_compared(shown: AgentsToShow) -> None:
    form = shown.ask("agent_traceCall", {"from": FIRST, "to": OTHER, "value": "0x1"})
    assert (form["request"], form["accounts"], form["differences"]) == (None, [], None)
    # A run that reverts does nothing.
    tool = shown.owner.deploy(load_artifact("RevertingTool").encode_creation(0))
    agent = shown.deploy_agent("Trying Agent", "You try.", [tool])
    form = shown.ask("agent_traceCall", shown.question(agent, "Send 5 USDC"))
    assert (form["isSuccess"], form["request"], form["differences"]) == (False, "Send 5 USDC", None)


def test_an_agents_tool_is_compared_by_its_arguments(shown: AgentsToShow) -> None:
    outer = shown.deploy_nested()
    for text, kinds in (("Ask to add 7", []), ("Ask to add 8", ["unusedAmount"])):
        form = shown.ask("agent_traceCall", shown.question(outer, text))
        assert [each["kind"] for each in form["differences"]] == kinds


def test_names_and_the_native_symbol_are_those_of_the_base_prompt() -> None:
    first = to_checksum_address(FIRST)
    assert list_names([("Bob", first), ("addr1", first)]) == {"Bob": to_canonical_address(FIRST)}
    assert read_native_symbol("You act. BNB is the native currency.\n") == "BNB"
    assert read_native_symbol("The native token is POL.") == "POL"
    assert read_native_symbol("You act.") == "ETH"


# -- approvals -- #


class Holder:
    """An account that approves, by transactions of its own."""

    def __init__(self, shown: AgentsToShow) -> None:
        self.shown = shown

    def find_approvals(self, artifact: str, token: Address, function: str, *values: object) -> Any:  # noqa: ANN401 - JSON
        data = load_artifact(artifact).encode_call(function, *values)
        form = {"from": FIRST, "to": "0x" + token.hex(), "data": "0x" + data.hex()}
        sent = self.shown.send(form | {"gas": hex(500_000)})
        return self.shown.ask("agent_traceCalls", sent)["approvals"]


@pytest.fixture(scope="module")
def holder(shown: AgentsToShow) -> Holder:
    return Holder(shown)


def test_an_allowance_that_stays(shown: AgentsToShow, holder: Holder) -> None:
    token = shown.wallet.tokens["USDC"]
    [found] = holder.find_approvals("DemoToken", token, "approve", OTHER, 5_000_000)
    assert found == {
        "standard": "erc20",
        "token": to_checksum_address(token),
        "symbol": "USDC",
        "decimals": 6,
        "owner": to_checksum_address(FIRST),
        "spender": to_checksum_address(OTHER),
        "amount": "5000000",
        "id": None,
    }
    # The same again changes nothing; zero is none.
    assert holder.find_approvals("DemoToken", token, "approve", OTHER, 5_000_000) == []
    assert holder.find_approvals("DemoToken", token, "approve", OTHER, 0) == []


def test_items_that_may_be_taken(shown: AgentsToShow, holder: Holder) -> None:
    token = shown.owner.deploy(load_artifact("Collectible").encode_creation(FIRST, FIRST))
    for item in (7, 8):
        holder.find_approvals("Collectible", token, "safeMint", FIRST, item, "")
    [one] = holder.find_approvals("Collectible", token, "approve", OTHER, 7)
    assert (one["standard"], one["id"], one["amount"]) == ("erc721", "7", None)
    [everything] = holder.find_approvals("Collectible", token, "setApprovalForAll", OTHER, True)  # noqa: FBT003 - Solidity's
    assert (everything["standard"], everything["id"], everything["spender"]) == (
        "all", None, to_checksum_address(OTHER),
    )  # fmt: skip
    # An item that is given away takes its approval with it.
    assert holder.find_approvals("Collectible", token, "transferFrom", FIRST, OTHER, 7) == []
    assert holder.find_approvals("Collectible", token, "setApprovalForAll", OTHER, False) == []  # noqa: FBT003 - Solidity's


def test_an_allowance_that_the_transaction_uses_up_does_not_stay(shown: AgentsToShow) -> None:
    """The wallet approves the pool for each deposit."""
    assert review(shown, "Deposit 10 USDC")["approvals"] == []

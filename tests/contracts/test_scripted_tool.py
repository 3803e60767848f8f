"""The tool that returns the results of a task, and the ledger of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import keccak

from tests.contracts.plain_evm import STRANGER, ZERO

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract, Evm

PARAMETERS = [(4, "amount", "how much"), (1, "to", "to whom")]


def arguments(amount: int) -> bytes:
    return encode(["uint256", "address"], [amount, STRANGER.address])


def tool_input(amount: int) -> tuple[object, ...]:
    return ([], arguments(amount))


def reply(amount: int, text: str, *, is_failure: bool = False) -> tuple[bytes, bool, str]:
    return keccak(arguments(amount)), is_failure, text


@pytest.fixture
def ledger(evm: Evm) -> Contract:
    return evm.deploy("Ledger")


def deploy(evm: Evm, ledger: str, *replies: tuple[bytes, bool, str]) -> Contract:
    return evm.deploy(
        "ScriptedTool", "send money", "Sends it", PARAMETERS, ledger, "Sent", [*replies]
    )


def test_tool_shows_what_it_was_given(evm: Evm, ledger: Contract) -> None:
    tool = deploy(evm, ledger.address)
    assert tool("name") == "send money"
    assert tool("description") == "Sends it"
    assert tool("inputDescription") == (tuple(PARAMETERS),)
    assert tool("ledger") == ledger.address


def test_an_action_is_noted_whatever_its_arguments(evm: Evm, ledger: Contract) -> None:
    tool = deploy(evm, ledger.address, reply(5, "Sent 5"))
    assert tool("run", tool_input(5), ZERO, sender=STRANGER) == (-1, "Sent 5")
    assert tool("run", tool_input(6), ZERO) == (-1, "Sent")
    assert tool("run", tool_input(5), ZERO) == (-1, "Sent 5")
    assert ledger("entries") == tuple(
        (tool.address, keccak(arguments(amount))) for amount in (5, 6, 5)
    )


def test_a_failure_is_told_and_not_noted(evm: Evm, ledger: Contract) -> None:
    tool = deploy(evm, ledger.address, reply(5, "Error: paused", is_failure=True))
    assert tool("run", tool_input(5), ZERO) == (-1, "Error: paused")
    assert ledger("entries") == ()


def test_replies_to_the_same_arguments_come_in_order(evm: Evm, ledger: Contract) -> None:
    replies = (reply(5, "first", is_failure=True), reply(7, "seven"), reply(5, "second"))
    tool = deploy(evm, ledger.address, *replies)
    said = [tool("run", tool_input(amount), ZERO)[1] for amount in (5, 7, 5, 5)]
    assert said == ["first", "seven", "second", "second"]
    assert [entry[1] for entry in ledger("entries")] == [
        keccak(arguments(amount)) for amount in (7, 5, 5)
    ]


def test_a_tool_without_ledger_only_looks(evm: Evm) -> None:
    tool = deploy(evm, ZERO, reply(5, "It is 72"))
    assert tool("run", tool_input(5), ZERO) == (-1, "It is 72")
    assert tool("run", tool_input(6), ZERO) == (-1, "Sent")


def test_tools_share_a_ledger(evm: Evm, ledger: Contract) -> None:
    tools = [deploy(evm, ledger.address) for _ in range(2)]
    for tool in tools:
        tool("run", tool_input(1), ZERO)
    assert [entry[0] for entry in ledger("entries")] == [tool.address for tool in tools]

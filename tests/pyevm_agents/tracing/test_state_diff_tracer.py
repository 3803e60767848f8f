"""Parity's stateDiff, in addition to `test_anvil`."""

from __future__ import annotations

from typing import Any

import pytest

from pyevm_agents.tracing import StateDiffTracer
from tests.chain_bench import OWNER, STRANGER
from tests.pyevm_agents.tracing.scenario import CONTRACT
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CREATED, NOBODY

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")


def difference(name: str) -> dict[str, Any]:
    result = BY_NAME[name].trace(StateDiffTracer())
    assert isinstance(result, dict)
    return result


def test_an_account_that_was_not_is_all_new() -> None:
    assert difference("transfer")["0x" + NOBODY.hex()] == {
        "balance": {"+": "0x5"},
        "nonce": {"+": "0x0"},
        "code": {"+": "0x"},
        "storage": {},
    }


def test_a_contract_that_was_created_has_code() -> None:
    created = difference("creation")["0x" + CREATED.hex()]
    assert created["nonce"] == {"+": "0x1"}
    assert created["code"]["+"].startswith("0x")
    assert len(created["code"]["+"]) > 2


def test_an_account_that_is_no_more_shows_what_it_was() -> None:
    gone = difference("creation of a funded account that destroys itself")["0x" + CREATED.hex()]
    assert gone["balance"] == {"-": "0x8"}


def test_what_stayed_the_same_is_said_so_or_left_out() -> None:
    changed = difference("calls of all kinds")
    sender = changed["0x" + OWNER.hex()]
    assert sender["nonce"] == {"*": {"from": "0x0", "to": "0x1"}}
    assert sender["code"] == "="
    assert sender["storage"] == {}


def test_a_slot_of_an_account_that_was_is_changed_and_not_new() -> None:
    authority = "0x" + STRANGER.hex()
    assert difference("delegation set and used")[authority]["storage"] == {
        f"0x{1:064x}": {"*": {"from": f"0x{0:064x}", "to": f"0x{0x2A:064x}"}}
    }


def test_what_reverted_changed_nothing_but_the_senders_balance() -> None:
    changed = difference("revert with a reason at depth")
    assert changed.keys() == {"0x" + OWNER.hex(), "0x" + bytes(20).hex()}
    assert "0x" + CONTRACT.hex() not in changed

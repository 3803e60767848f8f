"""`eth_createAccessList`, compared with anvil's recorded results."""

from __future__ import annotations

from typing import Any

import pytest
from eth_typing import Address

from pyevm_agents.tracing import AccessListTracer
from tests.chain_bench import OWNER, STRANGER
from tests.pyevm_agents.tracing.anvil_answers import answers
from tests.pyevm_agents.tracing.scenario import CONTRACT
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CALLEE, NOBODY

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")

LISTED = [
    name for name in BY_NAME if answers()[name]["accessList"] is not None and "deep" not in name
]


def listed(name: str) -> list[dict[str, Any]]:
    result = BY_NAME[name].trace(AccessListTracer())
    assert isinstance(result, list)
    return result


def ordered(access_list: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return sorted((entry["address"], sorted(entry["storageKeys"])) for entry in access_list)


@pytest.mark.parametrize("name", LISTED)
def test_lists_what_anvil_lists(name: str) -> None:
    assert ordered(listed(name)) == ordered(answers()[name]["accessList"])


def test_lists_what_is_not_warm_anyway_in_order_of_use() -> None:
    assert [entry["address"] for entry in listed("accounts read")] == [
        "0x" + NOBODY.hex(),
        "0x" + STRANGER.hex(),
        "0x" + "00" * 20,  # The coinbase: warm, but geth lists it.
    ]


def test_lists_slots_of_the_recipient_but_not_the_recipient_alone() -> None:
    assert listed("storage")[0]["address"] == "0x" + CONTRACT.hex()
    assert len(listed("storage")[0]["storageKeys"]) == 4
    assert listed("transfer") == []


def test_leaves_out_who_signed_an_authorisation() -> None:
    entries = listed("delegation set and used")
    assert [entry["address"] for entry in entries] == ["0x" + STRANGER.hex()]  # for its slot
    assert listed("delegation that is not valid") == []


def test_begins_with_what_is_known() -> None:
    tracer = AccessListTracer([(CALLEE, [9]), (OWNER, []), (Address(bytes(19) + b"\4"), [])])
    BY_NAME["access list"].trace(tracer)
    assert tracer.to_access_list() == ((CALLEE, (9, 2, 3)), (CONTRACT, (1,)))

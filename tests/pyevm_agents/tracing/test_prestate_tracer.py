"""geth's prestateTracer: differences from anvil, and options."""

from __future__ import annotations

from typing import Any

import pytest
from eth_utils import keccak

from pyevm_agents.chain import GenesisAccount
from pyevm_agents.tracing import create_tracer
from tests.chain_bench import OWNER, STRANGER
from tests.pyevm_agents.tracing.assembler import asm
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CALLEE, CREATED, STORE

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")

SLOT_1 = "0x" + "00" * 31 + "01"
ZERO = "0x" + "00" * 32


def prestate(name: str, **options: object) -> dict[str, Any]:
    request = {"tracer": "prestateTracer", "tracerConfig": options}
    result = BY_NAME[name].trace(create_tracer(request))
    assert isinstance(result, dict)
    return result


def key(address: bytes) -> str:
    return "0x" + address.hex()


def test_accounts_that_were_empty_are_left_out_unless_asked_for() -> None:
    assert prestate("transfer") == {key(OWNER): {"balance": "0xd3c21bcecceda1000000"}}
    shown = prestate("transfer", includeEmpty=True)
    assert shown.keys() == {key(OWNER), "0x" + "ee" * 20, "0x" + "00" * 20}


def test_code_comes_with_its_hash_and_may_be_left_out() -> None:
    account = prestate("transaction to a delegated account")[key(CALLEE)]
    assert account == {
        "balance": "0x0",
        "nonce": 1,
        "code": "0x" + STORE.hex(),
        "codeHash": "0x" + keccak(STORE).hex(),
    }
    account = prestate("transaction to a delegated account", disableCode=True)[key(CALLEE)]
    assert account.keys() == {"balance", "nonce", "codeHash"}


def test_storage_may_be_left_out() -> None:
    assert prestate("refunds at depth")[key(CONTRACT)]["storage"] == {SLOT_1: f"0x{5:064x}"}
    assert "storage" not in prestate("refunds at depth", disableStorage=True)[key(CONTRACT)]


def test_a_slot_that_there_was_no_gas_to_touch_is_left_out() -> None:
    assert "storage" not in prestate("out of gas for storage")[key(CALLEE)]
    assert prestate("write protection of a slot")[key(CALLEE)]["storage"] == {SLOT_1: ZERO}


def test_an_account_that_there_was_no_gas_to_touch_is_left_out() -> None:
    assert prestate("out of gas for a call", includeEmpty=True).keys() == {
        key(OWNER),
        key(CONTRACT),
        key(CALLEE),
        "0x" + "00" * 20,
    }


def test_who_signed_an_authorisation_is_there_as_it_was_and_whom_it_names_is_not() -> None:
    shown = prestate("delegation set and used")
    assert shown[key(STRANGER)] == {"balance": "0x1", "storage": {SLOT_1: ZERO}}
    assert key(CALLEE) not in shown  # geth looks for delegates before the authorizations.
    assert key(CALLEE) in prestate("transaction to a delegated account")
    assert key(STRANGER) not in prestate("delegation that is not valid")
    assert key(STRANGER) in prestate("delegation that is not valid", includeEmpty=True)


def test_the_difference_shows_what_was_and_what_is() -> None:
    shown = prestate("refunds at depth", diffMode=True)
    assert shown["pre"][key(CONTRACT)]["storage"] == {SLOT_1: f"0x{5:064x}"}
    assert shown["post"][key(CONTRACT)] == {"storage": {SLOT_1: f"0x{6:064x}"}}
    assert shown["post"][key(CALLEE)] == {}  # Its slot was emptied.
    assert shown["post"][key(OWNER)].keys() == {"balance", "nonce"}
    assert key(b"\xcf" * 20) not in shown["pre"]  # What it did was undone.


def test_the_difference_of_a_new_delegation_is_its_code() -> None:
    shown = prestate("delegation set and used", diffMode=True)
    code = b"\xef\x01\x00" + CALLEE
    assert shown["post"][key(STRANGER)] == {
        "nonce": 1,
        "code": "0x" + code.hex(),
        "codeHash": "0x" + keccak(code).hex(),
        "storage": {SLOT_1: f"0x{42:064x}"},
    }


def test_an_account_that_was_destroyed_is_before_and_not_after() -> None:
    shown = prestate("creation of a funded account that destroys itself", diffMode=True)
    (destroyed,) = shown["pre"].keys() - {key(OWNER)}
    assert shown["pre"][destroyed] == {"balance": "0x8"}
    assert destroyed not in shown["post"]


@pytest.mark.parametrize(
    ("initcode", "storage"),
    [
        ("0x01 SLOAD POP CALLER SELFDESTRUCT", {SLOT_1: ZERO}),
        ("0x07 0x01 SSTORE CALLER SELFDESTRUCT", {SLOT_1: ZERO}),
        ("0x01 SLOAD POP CALLER SELFDESTRUCT", None),
    ],
    ids=["read", "written", "not shown"],
)
def test_an_account_that_was_created_and_destroyed_has_all_its_slots_before(
    initcode: str, storage: dict[str, str] | None
) -> None:
    scenario = Scenario(
        name="destroyed",
        to=None,
        data=asm(initcode),
        accounts={CREATED: GenesisAccount(balance_wei=8)},
    )
    options = {"diffMode": True, "disableStorage": storage is None}
    shown: Any = scenario.trace(
        create_tracer({"tracer": "prestateTracer", "tracerConfig": options})
    )
    assert shown["pre"][key(CREATED)] == {
        "balance": "0x8",
        **({} if storage is None else {"storage": storage}),
    }
    assert key(CREATED) not in shown["post"]

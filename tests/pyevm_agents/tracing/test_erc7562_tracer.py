"""geth's erc7562Tracer."""

from __future__ import annotations

from typing import Any

import pytest

from pyevm_agents.chain import GenesisAccount
from pyevm_agents.tracing import create_tracer
from pyevm_agents.tracing.opcodes import OPCODE_TABLE
from tests.pyevm_agents.tracing.anvil_answers import flattened
from tests.pyevm_agents.tracing.assembler import asm, calling
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CALLEE, NOBODY

OPS = {form.name: hex(op) for op, form in OPCODE_TABLE.items()}
OWN_FIELDS = {
    "accessedSlots",
    "extCodeAccessInfo",
    "usedOpcodes",
    "contractSize",
    "outOfGas",
    "keccak",
}
CALLEE_KEY, NOBODY_KEY = "0x" + CALLEE.hex(), "0x" + NOBODY.hex()


def word(number: int) -> str:
    return f"0x{number:064x}"


def trace(code: str, callee: str = "STOP", **options: object) -> dict[str, Any]:
    scenario = Scenario(
        name="validation",
        accounts={
            CONTRACT: GenesisAccount(nonce=1, code=asm(code), storage={1: 5}),
            CALLEE: GenesisAccount(nonce=1, code=asm(callee)),
        },
    )
    result = scenario.trace(create_tracer({"tracer": "erc7562Tracer", "tracerConfig": options}))
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(
    ("code", "used"),
    [
        ("0x01 0x02 ADD POP STOP", {"STOP": 1}),
        ("JUMPDEST JUMPDEST TIMESTAMP STOP", {"JUMPDEST": 2, "TIMESTAMP": 1, "STOP": 1}),
        ("GAS POP STOP", {"GAS": 1, "STOP": 1}),
        (calling("CALL", CALLEE) + " STOP", {"CALL": 1, "STOP": 1}),
        (calling("CALL", CALLEE, gas="GAS 0x01 ADD") + " STOP", {"GAS": 1, "CALL": 1, "STOP": 1}),
        ("GAS PUSH0 PUSH0 RETURN", {"GAS": 1, "RETURN": 1}),
        ("PUSH0 GAS RETURN", {"RETURN": 1}),
        ("MULMOD", {"MULMOD": 1}),
    ],
)
def test_counts_opcodes_that_matter(code: str, used: dict[str, int]) -> None:
    assert trace(code)["usedOpcodes"] == {OPS[name]: count for name, count in used.items()}


def test_counts_all_but_the_ignored_opcodes() -> None:
    ignored = [OPS["PUSH1"], OPS["STOP"]]
    assert trace("0x01 0x02 ADD STOP", ignoredOpcodes=ignored)["usedOpcodes"] == {OPS["ADD"]: 1}


@pytest.mark.parametrize(
    ("code", "slots"),
    [
        ("0x01 SLOAD 0x01 SLOAD 0x02 SLOAD", {"reads": {word(1): [word(5)], word(2): [word(0)]}}),
        ("0x07 0x01 SSTORE 0x01 SLOAD", {"writes": {word(1): 1}}),
        (
            "0x01 SLOAD 0x07 0x01 SSTORE 0x08 0x01 SSTORE",
            {"reads": {word(1): [word(5)]}, "writes": {word(1): 2}},
        ),
        (
            "0x01 TLOAD 0x01 TLOAD 0x07 0x02 TSTORE",
            {"transientReads": {word(1): 2}, "transientWrites": {word(2): 1}},
        ),
    ],
)
def test_lists_slots(code: str, slots: dict[str, object]) -> None:
    fields = ("reads", "writes", "transientReads", "transientWrites")
    assert trace(code)["accessedSlots"] == {field: slots.get(field, {}) for field in fields}


@pytest.mark.parametrize(
    ("after", "accounts"),
    [
        ("EXTCODESIZE ISZERO", []),
        ("EXTCODESIZE POP", [CALLEE_KEY]),
        ("EXTCODEHASH ISZERO", [CALLEE_KEY]),
        ("EXTCODESIZE PUSH0 ISZERO", [CALLEE_KEY]),
        ("EXTCODESIZE PUSH0 RETURN", [CALLEE_KEY]),
        ("PUSH0 PUSH0 PUSH0 DUP4 EXTCODECOPY RETURN", []),
        ("BALANCE POP", []),
    ],
)
def test_lists_codes_that_are_read(after: str, accounts: list[str]) -> None:
    assert trace(f"{CALLEE_KEY} {after}")["extCodeAccessInfo"] == accounts


def test_lists_sizes_of_accounts_with_the_first_opcode() -> None:
    code = f"{CALLEE_KEY} EXTCODEHASH POP " + calling("CALL", CALLEE) + calling("CALL", NOBODY)
    assert trace(code, "0x01 POP STOP")["contractSize"] == {
        CALLEE_KEY: {"contractSize": 4, "opcode": 0x3F},
        NOBODY_KEY: {"contractSize": 0, "opcode": 0xF1},
    }


def test_each_call_has_its_own_and_the_first_the_hashes() -> None:
    callee = "0x03 SLOAD 0x01 PUSH0 KECCAK256 STOP"
    top = trace("PUSH0 PUSH0 KECCAK256 " + calling("CALL", CALLEE) + " STOP", callee)
    assert top["keccak"] == ["0x", "0x00"]
    assert top["accessedSlots"]["reads"] == {}
    (call,) = top["calls"]
    assert call["accessedSlots"]["reads"] == {word(3): [word(0)]}
    assert "keccak" not in call
    assert "keccak" not in trace("STOP")


@pytest.mark.parametrize(
    ("callee", "is_starved"),
    [
        ("JUMPDEST PUSH0 JUMP", True),
        ("0x01 0x01 SSTORE", True),
        (f"0x01 0x{2**64:032x} MSTORE", False),
        ("INVALID", False),
        ("STOP", False),
    ],
)
def test_tells_of_inner_calls_out_of_gas(callee: str, *, is_starved: bool) -> None:
    top = trace(calling("CALL", CALLEE, gas="0x07d0") + " STOP", callee)
    assert (top["outOfGas"], top["calls"][0]["outOfGas"]) == (False, is_starved)
    starved = BY_NAME["out of gas"].trace(create_tracer({"tracer": "erc7562Tracer"}))
    assert isinstance(starved, dict)
    assert starved["outOfGas"] is False  # geth sets it for inner calls.


@pytest.mark.filterwarnings("ignore:SELFDESTRUCT")
@pytest.mark.parametrize("name", BY_NAME)
def test_has_the_calls_of_the_call_tracer(name: str) -> None:
    ours, plain = (
        flattened(
            BY_NAME[name].trace(  # type: ignore[arg-type]
                create_tracer({"tracer": tracer, "tracerConfig": {"withLog": True}})
            )
        )
        for tracer in ("erc7562Tracer", "callTracer")
    )
    assert [
        {field: value for field, value in call.items() if field not in OWN_FIELDS} for call in ours
    ] == plain

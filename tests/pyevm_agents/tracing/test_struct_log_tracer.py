"""Struct logs: differences between anvil and geth, and options."""

from __future__ import annotations

from typing import Any

import pytest

from pyevm_agents.chain import GenesisAccount
from pyevm_agents.tracing import create_tracer
from tests.pyevm_agents.tracing.assembler import asm, calling, creating, returning
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario
from tests.pyevm_agents.tracing.scenarios import BY_NAME, RUNTIME


def logs(scenario: Scenario | str, **options: object) -> list[dict[str, Any]]:
    found = scenario if isinstance(scenario, Scenario) else BY_NAME[scenario]
    result = found.trace(create_tracer(options))
    assert isinstance(result, dict)
    steps: list[dict[str, Any]] = result["structLogs"]
    return steps


def of_code(code: str, **fields: Any) -> Scenario:  # noqa: ANN401 - a scenario's own
    return Scenario(name="code", accounts={CONTRACT: GenesisAccount(code=asm(code))}, **fields)


def only(steps: list[dict[str, Any]], op: str) -> dict[str, Any]:
    (found,) = [step for step in steps if step["op"] == op]
    return found


def test_a_creations_cost_leaves_out_what_is_granted_to_it() -> None:
    initcode = asm(returning(RUNTIME))
    created = only(logs(of_code(creating(initcode) + " STOP")), "CREATE")
    assert created["gasCost"] == 32_000 + 2 * 2  # two words of initcode
    salted = only(logs(of_code(creating(initcode, salt=1) + " STOP")), "CREATE2")
    assert salted["gasCost"] == 32_000 + 2 * 2 + 2 * 6  # which CREATE2 hashes


@pytest.mark.parametrize("name", ["create without the balance", "create2 without the balance"])
def test_a_refused_creation_costs_as_much(name: str) -> None:
    op = name.partition(" ")[0].upper()
    words = 1 if op == "CREATE" else 1 + 3
    assert only(logs(name), op)["gasCost"] == 32_000 + 2 * words


def test_a_calls_cost_counts_what_is_granted_to_it() -> None:
    call = only(logs(of_code(calling("CALL", b"\xaa" * 20, gas="0x2710") + " STOP")), "CALL")
    assert call["gasCost"] == 2_600 + 10_000


def test_the_refund_is_the_transactions_and_an_sstores_own_is_in_it() -> None:
    found = [(step["depth"], step["op"], step.get("refund")) for step in logs("refunds at depth")]
    assert [entry for entry in found if entry[1] in {"SSTORE", "STOP", "REVERT"}] == [
        (1, "SSTORE", 4_800),
        (2, "SSTORE", 9_600),
        (2, "STOP", 9_600),
        (2, "SSTORE", 14_400),
        (2, "REVERT", 14_400),
        # The call was undone. Setting again what was cleared takes back its refund; that the slot
        # is not what it was gives none.
        (1, "SSTORE", 4_800),
        (1, "STOP", 4_800),
    ]


def test_an_authorisations_refund_is_there_from_the_start() -> None:
    assert logs("delegation set and used")[0]["refund"] == 12_500


def test_storage_is_what_the_contract_accessed_so_far() -> None:
    word = "0x" + "00" * 31
    found = [step.get("storage") for step in logs("storage") if step["op"] in {"SLOAD", "SSTORE"}]
    assert found[0] == {f"{word}01": f"{word}00"}
    assert found[1] == {f"{word}01": f"{word}00", f"{word}02": f"{word}00"}
    assert found[3] == {
        f"{word}01": f"{word}00",
        f"{word}02": f"{word}00",
        f"{word}03": f"{word}05",
    }
    assert all("storage" not in step for step in logs("storage", disableStorage=True))


def test_errors_are_those_that_geth_finds_before_an_opcode_runs() -> None:
    assert logs("stack underflow")[-3]["error"] == "stack underflow (1 <=> 2)"
    assert logs("stack underflow of a call")[-3]["gasCost"] == 100
    assert logs("stack overflow")[-3]["error"] == "stack limit reached 1024 (1023)"
    assert logs("out of gas")[-1]["error"] == "out of gas"
    assert "error" not in logs("invalid opcode at the top")[-1]
    assert "error" not in logs("logs undone")[-1]


def test_an_opcode_that_is_too_dear_shows_its_price() -> None:
    slot = [step for step in logs("out of gas for a slot") if step.get("error")]
    assert [(step["op"], step["gas"], step["gasCost"]) for step in slot] == [("SLOAD", 97, 2_100)]


def test_a_failed_transactions_return_value_is_that_of_a_revert_alone() -> None:
    for name, value in [
        ("creation that reverts", "0x08c379a0"),
        ("invalid opcode at the top", "0x"),
        ("create2", "0x"),
    ]:
        result = BY_NAME[name].trace(create_tracer({}))
        assert isinstance(result, dict)
        assert result["returnValue"][:10] == value
        assert result["failed"] is (name != "create2")


def test_the_options_leave_out_and_add() -> None:
    plain = logs("all opcodes")
    assert plain[0]["stack"] == []
    assert not any(step.keys() & {"memory", "returnData"} for step in plain)
    assert not any("stack" in step for step in logs("all opcodes", disableStack=True))
    memory = logs("all opcodes", enableMemory=True)[-1]["memory"]
    assert len(memory) == 0x420 // 32
    assert all(len(word) == 66 for word in memory)
    assert not any(
        "memory" in step for step in logs("all opcodes", enableMemory=True, disableMemory=True)
    )
    returned = logs("calls of all kinds", enableReturnData=True)
    assert any(step.get("returnData", "").startswith("0x00") for step in returned)


def test_the_limit_keeps_the_first_steps() -> None:
    whole = logs("calls of all kinds")
    assert logs("calls of all kinds", limit=20) == whole[:20]

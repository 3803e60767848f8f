"""Parity's vmTrace, compared with geth's struct logs, which are compared with anvil's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.tracing import MuxTracer, TraceBudget, TraceTooLargeError, VmTracer
from pyevm_agents.tracing.opcodes import get_opcode
from pyevm_agents.tracing.struct_log_tracer import StructLogOptions, StructLogTracer
from tests.pyevm_agents.tracing.scenario import CONTRACT
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CALLEE, RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")

LOGS = {"LOG0", "LOG1", "LOG2", "LOG3", "LOG4"}
CREATIONS = {"CREATE", "CREATE2"}
LEAVES = {form.name: form.pushes for form in map(get_opcode, range(256))}


def traced(name: str) -> tuple[Any, list[dict[str, Any]]]:
    """Return a scenario's vmTrace and struct logs of one execution."""
    tracers = {"vm": VmTracer(), "logs": StructLogTracer(StructLogOptions())}
    told: Any = BY_NAME[name].trace(MuxTracer(tracers))
    return told["vm"], told["logs"]["structLogs"]


def flat(code: dict[str, Any] | None, depth: int = 1) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield all opcodes in execution order, without recursion."""
    waiting = [] if code is None else [(depth, iter(code["ops"]))]
    while waiting:
        depth, ops = waiting[-1]
        op = next(ops, None)
        if op is None:
            waiting.pop()
            continue
        yield depth, op
        if op["sub"] is not None:
            waiting.append((depth + 1, iter(op["sub"]["ops"])))


@pytest.mark.parametrize("name", BY_NAME)
def test_each_opcode_is_one_of_the_struct_logs(name: str) -> None:
    code, logs = traced(name)
    ops = [*flat(code)]
    assert [(depth, op["pc"], op["op"]) for depth, op in ops] == [
        (log["depth"], log["pc"], log["op"]) for log in logs
    ]
    for index, ((depth, op), log) in enumerate(zip(ops, logs, strict=True)):
        if op["op"] not in CREATIONS:  # Here with what they grant, as Parity counts.
            assert op["cost"] == log["gasCost"]
        if "error" in log:
            assert op["ex"] is None
        later = next((one for one in logs[index + 1 :] if one["depth"] <= depth), None)
        if op["ex"] is None or later is None or later["depth"] < depth:
            continue
        assert op["ex"]["used"] == later["gas"]
        left = LEAVES.get(op["op"], 0)
        assert op["ex"]["push"] == later["stack"][len(later["stack"]) - left :]


def test_code_is_that_which_runs() -> None:
    code, _ = traced("creation")
    assert code["code"].startswith("0x")
    scenario = BY_NAME["calls of all kinds"]
    code, _ = traced("calls of all kinds")
    assert code["code"] == "0x" + scenario.accounts[CONTRACT].code.hex()
    calls = [op for op in code["ops"] if op["sub"] is not None]
    assert "0x" + scenario.accounts[CALLEE].code.hex() in {op["sub"]["code"] for op in calls}


def test_what_is_written_is_shown() -> None:
    code, _ = traced("delegation set and used")
    ops = [op for _, op in flat(code)]
    stored = next(op for op in ops if op["op"] == "SSTORE")
    assert stored["ex"]["store"] == {"key": "0x1", "val": "0x2a"}
    written = next(op for op in ops if op["op"] == "MSTORE")
    assert written["ex"]["mem"] == {"off": 0, "data": f"0x{0x2A:064x}"}


def test_a_call_that_never_began_has_no_code_and_one_of_nobody_an_empty_one() -> None:
    refused, _ = traced("call without the balance")
    assert all(op["sub"] is None for _, op in flat(refused) if op["op"] == "CALL")
    empty, _ = traced("transfer")
    assert empty == {"code": "0x", "ops": []}


def test_what_ended_a_call_did_nothing() -> None:
    code, _ = traced("jump into nowhere")
    (call,) = (op for op in code["ops"] if op["sub"] is not None)
    assert call["sub"]["ops"][-1]["op"] == "JUMP"
    assert call["sub"]["ops"][-1]["ex"] is None
    assert call["ex"]["push"] == ["0x0"]


def test_a_creation_costs_what_it_grants_too() -> None:
    code, logs = traced("create and call")
    ours = next(op for _, op in flat(code) if op["op"] == "CREATE")
    theirs = next(log for log in logs if log["op"] == "CREATE")
    assert ours["cost"] > theirs["gasCost"]
    first = ours["sub"]["ops"][0]
    assert ours["cost"] - theirs["gasCost"] == first["ex"]["used"] + first["cost"]
    assert ours["sub"]["code"] != "0x" + RUNTIME.hex()


def test_opcodes_memory_and_code_are_counted() -> None:
    for name in ("calls of all kinds", "create and call"):
        with pytest.raises(TraceTooLargeError, match="more than 20,000 bytes of memory"):
            BY_NAME[name].trace(VmTracer(TraceBudget(20_000)))

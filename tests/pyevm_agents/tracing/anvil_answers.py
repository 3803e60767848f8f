"""Results of anvil 1.7.1 for the scenarios, and its differences from geth.

`scripts/record_anvil.py` writes the file. Where the two differ, we follow geth, and `comparable`
removes the fields that differ in anvil.

Source: geth's `eth/tracers` and `core/vm`, read in November 2026.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

ANSWERS = Path(__file__).with_name("anvil.json.gz")
REQUESTS: dict[str, dict[str, Any]] = {
    "structLogs": {"enableMemory": True, "enableReturnData": True},
    "callTracer": {"tracer": "callTracer", "tracerConfig": {"withLog": True}},
    "topCall": {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": True}},
    "prestate": {"tracer": "prestateTracer"},
    "difference": {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}},
    "4byteTracer": {"tracer": "4byteTracer"},
}
OTTERSCANS = ("ots_getInternalOperations", "ots_getTransactionError", "ots_traceTransaction")
MOST_STEPS = 120

UNLIKE = {
    ("creation of nothing", "structLogs"): "anvil executes a STOP where there is no code",
    ("create of nothing", "structLogs"): "anvil executes a STOP where there is no code",
    ("selfdestruct to itself", "callTracer"): "anvil's frame of the transfer has no accounts",
    ("selfdestruct to itself", "parity"): "anvil's trace of the transfer has no accounts",
    ("write protection of a value", "structLogs"): "anvil counts what such a call would cost",
    ("precompiles", "4byteTracer"): "anvil counts input of precompiles, which has no selector",
    ("precompile as recipient", "4byteTracer"): "as above",
    ("out of gas for storage", "prestate"): "anvil shows the slot that there was no gas to touch",
    ("creation of a funded account that destroys itself", "stateDiff"): "anvil does not show it",
    ("delegation set and used", "prestate"): "geth looks for delegates before the authorizations",
    ("delegation set and used", "stateDiff"): "anvil does not show the code that was set",
    ("write protection of a slot", "prestate"): "anvil does not show a slot that was not written",
}
"""Results that are not compared; each is checked in its tracer's tests."""

ERRORS = {
    "CallNotAllowedInsideStatic": "write protection",
    "CallTooDeep": "max call depth exceeded",
    "CreateCollision": "contract address collision",
    "CreateContractSizeLimit": "max code size exceeded",
    "CreateContractStartingWithEF": "invalid code: must not begin with 0xef",
    "CreateInitCodeSizeLimit": "out of gas",
    "MemoryOOG": "out of gas",
    "Out of stack": "stack limit reached",
    "OutOfGas": "out of gas",
    "OutOfOffset": "return data out of bounds",
    "StackOverflow": "stack limit reached",
    "StackUnderflow": "stack underflow",
    "StateChangeDuringStaticCall": "write protection",
    "contract creation code storage out of gas": "out of gas",
    "bad elliptic curve pairing size": "precompiled failed",
    "gas uint64 overflow": "out of gas",
    "invalid input length": "precompiled failed",
    "point is not on curve": "precompiled failed",
}
"""Messages of anvil and geth that differ, mapped to common ones."""

IN_PARITYS_WORDS = {
    "Insufficient balance for transfer": "insufficient balance for transfer",
    "max code size exceeded": "Out of gas",
    "out of gas": "Out of gas",
    "return data out of bounds": "Out of bounds",
    "stack limit reached": "Out of stack",
    "stack underflow": "Stack underflow",
}
"""Errors in anvil's wording or capitalisation, where geth has Parity's."""

STEP_ERRORS = frozenset({"out of gas", "stack limit reached", "stack underflow"})
"""Errors that geth reports in a step; others only in the call."""


@cache
def answers() -> dict[str, dict[str, Any]]:
    """Return anvil's results by scenario and request."""
    loaded: dict[str, dict[str, Any]] = json.loads(gzip.decompress(ANSWERS.read_bytes()))
    return loaded


def write(found: dict[str, dict[str, Any]]) -> str:
    packed = json.dumps(found, separators=(",", ":"), sort_keys=True).encode()
    ANSWERS.write_bytes(gzip.compress(packed, mtime=0))
    return f"{ANSWERS}: {len(packed)} bytes, {ANSWERS.stat().st_size} packed"


def shortened(request: str, result: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a result in the file's form: calls as a list, and no long step lists."""
    if request == "structLogs" and len(steps := result["structLogs"]) > MOST_STEPS:
        half = MOST_STEPS // 2
        return {**result, "structLogs": [*steps[:half], len(steps), *steps[-half:]]}
    return flattened(result) if request in {"callTracer", "topCall"} else result


def flattened(call: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a tree of calls as a list, each before its inner calls, with their number."""
    flat, waiting = [], [call]
    while waiting:
        call = waiting.pop()
        calls = call.get("calls", [])
        flat.append({**call, "calls": len(calls)})
        waiting.extend(reversed(calls))
    return flat


def comparable(request: str, result: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the fields of a result that both ours and anvil's have."""
    return _COMPARABLE[request](result)


def _words(error: str) -> str:
    error = error.removeprefix("Some(").removesuffix(")")
    for beginning in ("stack underflow", "stack limit reached", "invalid opcode"):
        if error.startswith(beginning):  # geth tells how high the stack was, and which opcode.
            return beginning
    if error.startswith("out of gas: "):  # geth tells what the gas was for.
        return "out of gas"
    return ERRORS.get(error, error)


def _steps(result: Any) -> Any:  # noqa: ANN401
    return {**result, "structLogs": [_step(step) for step in result["structLogs"]]}


def _step(step: Any) -> Any:  # noqa: ANN401
    if isinstance(step, int):
        return step
    step = {
        name: value for name, value in step.items() if value not in ([], "0x") or name == "stack"
    }
    # anvil's refund is that of one call, and does not count the SSTORE itself.
    step.pop("refund", None)
    # anvil leaves out slots that are in the access list, and those that there was no gas to read.
    step.pop("storage", None)
    if step["op"] == "Unknown":
        step["op"] = "opcode 0xc not defined"
    error = _words(step.pop("error", ""))
    if error in STEP_ERRORS:
        step["error"] = error
    # anvil counts what is granted to a creation, and of what is not affordable what there was.
    if step["op"] in {"CREATE", "CREATE2"} or error in STEP_ERRORS:
        step.pop("gasCost")
    return step


def _calls(result: Any) -> Any:  # noqa: ANN401
    top, *others = result
    # geth gives the transaction's gas limit here.
    return [_call({**top, "gas": ""}), *map(_call, others)]


def _call(call: Any) -> Any:  # noqa: ANN401
    call = dict(call)
    if "error" in call:
        call["error"] = _words(call["error"])
        call.pop("logs", None)  # geth does not show what was undone.
    if "logs" in call:  # anvil counts undone logs.
        call["logs"] = [{**log, "index": ""} for log in call["logs"]]
    return call


def _top_call(result: Any) -> Any:  # noqa: ANN401
    # anvil shows the transfer of a SELFDESTRUCT although only the top is asked for.
    return [{**call, "calls": 0} for call in _calls(result[:1])]


def _accounts(result: Any) -> Any:  # noqa: ANN401
    # anvil knows no codeHash, and shows accounts that were empty.
    shown = {
        address: {name: value for name, value in account.items() if name != "codeHash"}
        for address, account in result.items()
    }
    return {
        address: account
        for address, account in shown.items()
        if account.get("balance") != "0x0" or account.keys() & {"nonce", "code"}
    }


def _difference(result: Any) -> Any:  # noqa: ANN401
    after = {
        address: {name: value for name, value in account.items() if name != "codeHash"}
        for address, account in result["post"].items()
    }
    return {"pre": _accounts(result["pre"]), "post": after}


def _traces(result: Any) -> Any:  # noqa: ANN401
    return [_trace(trace) for trace in result]


def _trace(trace: Any) -> Any:  # noqa: ANN401
    trace = dict(trace)
    if "error" in trace:
        words = _words(trace["error"])
        trace["error"] = IN_PARITYS_WORDS.get(words, words)
    if trace["type"] == "create" and "error" in trace and trace["result"]:
        trace["result"] = {**trace["result"], "address": ""}  # geth: there is none.
    return trace


def _changes(result: Any) -> Any:  # noqa: ANN401
    return {address: _change(account) for address, account in result.items()}


def _change(account: Any) -> Any:  # noqa: ANN401
    # anvil takes every account for one that exists, and whoever gets a balance for one that had 0.
    if (account["nonce"], account["code"]) != ({"+": "0x0"}, {"+": "0x"}):
        return account
    balance = {"*": {"from": "0x0", "to": account["balance"]["+"]}}
    return {"balance": balance, "nonce": "=", "code": "=", "storage": {}}


def _as_it_is(result: Any) -> Any:  # noqa: ANN401
    return result


_COMPARABLE = {
    "structLogs": _steps,
    "callTracer": _calls,
    "topCall": _top_call,
    "prestate": _accounts,
    "difference": _difference,
    "4byteTracer": _as_it_is,
    "parity": _traces,
    "stateDiff": _changes,
}

"""Calls as a flat list: geth's flatCallTracer, and Parity's `trace_*` methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.tracing.call_tracer import CREATIONS, CallTree
from pyevm_agents.tracing.error_messages import (
    CODE_TOO_LARGE,
    GAS_OVERFLOW,
    NO_GAS_FOR_CODE,
    OUT_OF_GAS,
    PRECOMPILE_ERRORS,
    PRECOMPILE_FAILED,
    REVERTED,
)
from pyevm_agents.tracing.hex import encode_data, encode_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.tracing.budget import TraceBudget
    from pyevm_agents.tracing.call_tracer import CallNode
    from pyevm_agents.tracing.tracer import CallFrame, TransactionStart

_PARITY_ERRORS = {
    NO_GAS_FOR_CODE: "Out of gas",
    OUT_OF_GAS: "Out of gas",
    GAS_OVERFLOW: "Out of gas",
    CODE_TOO_LARGE: "Out of gas",
    "invalid jump destination": "Bad jump destination",
    REVERTED: "Reverted",
    "return data out of bounds": "Out of bounds",
    **dict.fromkeys([PRECOMPILE_FAILED, *PRECOMPILE_ERRORS.values()], "Built-in failed"),
    "stack limit reached": "Out of stack",
    "invalid opcode": "Bad instruction",
    "stack underflow": "Stack underflow",
}
"""Prefixes of geth's messages, and Parity's. Source: geth, `eth/tracers/native/call_flat.go`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLocation:
    """Location of a mined transaction."""

    block_hash: bytes
    block_number: int
    transaction_hash: bytes
    transaction_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatCallOptions:
    """Options of the flat call tracer."""

    convert_parity_errors: bool = False
    include_precompiles: bool = False
    as_parity: bool = False
    """For the transaction's own call, show its gas without the transaction's intrinsic gas; for a
    call without a result, show null. geth does neither."""


PARITY = FlatCallOptions(convert_parity_errors=True, include_precompiles=True, as_parity=True)
"""Options of `trace_transaction` and `trace_block`, with calls of precompiles, as in anvil."""


class FlatCallTracer(CallTree):
    """geth's flatCallTracer."""

    def __init__(
        self,
        options: FlatCallOptions | None = None,
        place: TransactionLocation | None = None,
        budget: TraceBudget | None = None,
    ) -> None:
        """Create a tracer for a transaction at `place`; None if not mined."""
        super().__init__(budget)
        self._options = options or FlatCallOptions()
        self._location = place
        self._precompiles: frozenset[bytes] = frozenset()

    def on_tx_start(self, start: TransactionStart) -> None:
        """Record the addresses of precompiles."""
        super().on_tx_start(start)
        self._precompiles = start.precompiles

    def result(self) -> object:
        """Return the list, each call before the inner calls."""
        if self.root is None:
            return []
        forms: list[object] = []
        open_nodes: list[tuple[CallNode, list[int]]] = [(self.root, [])]
        while open_nodes:
            node, path = open_nodes.pop()
            calls = list(self._iter_listed_calls(node))
            forms.append(self._serialize_call(node.frame, path, len(calls)))
            inner = [(call, [*path, index]) for index, call in enumerate(calls)]
            open_nodes.extend(reversed(inner))
        return forms

    def _iter_listed_calls(self, node: CallNode) -> Iterator[CallNode]:
        for call in node.calls:
            plain = call.frame.kind in {"CALL", "STATICCALL"}
            if self._options.include_precompiles or not (
                plain and call.frame.to in self._precompiles
            ):
                yield call

    def _serialize_call(
        self, frame: CallFrame, path: list[int], subtraces: int
    ) -> dict[str, object]:
        gas, gas_used = frame.gas, frame.gas_used
        if not path and not self._options.as_parity:
            gas, gas_used = self.gas_limit, self.gas_used
        if frame.kind == "SELFDESTRUCT":
            kind, action, result = "suicide", _serialize_suicide(frame), None
        elif frame.kind in CREATIONS:
            kind, action = "create", _serialize_create_action(frame, gas)
            result = {"gasUsed": encode_quantity(gas_used), "code": encode_data(frame.output)}
            if frame.error is None:
                result["address"] = encode_data(frame.to)
        else:
            kind, action = "call", _serialize_call_action(frame, gas)
            result = {"gasUsed": encode_quantity(gas_used), "output": encode_data(frame.output)}
        form: dict[str, object] = {
            "action": action,
            "subtraces": subtraces,
            "traceAddress": path,
            "type": kind,
            **self._serialize_location(),
        }
        if frame.error is not None:
            form["error"] = self._convert_error(frame.error)
        if result is not None and frame.error in {None, REVERTED}:
            form["result"] = result
        elif self._options.as_parity:
            form["result"] = None
        return form

    def _serialize_location(self) -> dict[str, object]:
        place = self._location
        if place is None and self._options.as_parity:
            return {}  # A replayed or simulated transaction, requested without its location.
        return {
            "blockHash": None if place is None else encode_data(place.block_hash),
            "blockNumber": 0 if place is None else place.block_number,
            "transactionHash": None if place is None else encode_data(place.transaction_hash),
            "transactionPosition": 0 if place is None else place.transaction_index,
        }

    def _convert_error(self, error: str) -> str:
        if not self._options.convert_parity_errors:
            return error
        for prefix, message in _PARITY_ERRORS.items():
            if error.startswith(prefix):
                return message
        return error


def _serialize_suicide(frame: CallFrame) -> dict[str, object]:
    return {
        "address": encode_data(frame.sender),
        "balance": encode_quantity(frame.value_wei or 0),
        "refundAddress": encode_data(frame.to),
    }


def _serialize_create_action(frame: CallFrame, gas: int) -> dict[str, object]:
    return {
        "creationMethod": frame.kind.lower(),
        "from": encode_data(frame.sender),
        "gas": encode_quantity(gas),
        "init": encode_data(frame.input),
        "value": encode_quantity(frame.value_wei or 0),
    }


def _serialize_call_action(frame: CallFrame, gas: int) -> dict[str, object]:
    return {
        "callType": frame.kind.lower(),
        "from": encode_data(frame.sender),
        "gas": encode_quantity(gas),
        "input": encode_data(frame.input),
        "to": encode_data(frame.to),
        "value": encode_quantity(frame.value_wei or 0),
    }

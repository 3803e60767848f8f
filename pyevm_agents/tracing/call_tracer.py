"""The tree of a transaction's calls: geth's callTracer, and the base of other call tracers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.tracing.budget import TraceBudget
from pyevm_agents.tracing.error_messages import REVERTED, decode_revert_reason
from pyevm_agents.tracing.hex import encode_data, encode_quantity, encode_word
from pyevm_agents.tracing.tracer import NoopTracer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.tracing.tracer import CallFrame, TracedLog, TransactionStart

CREATIONS = frozenset({"CREATE", "CREATE2"})

NODE_BYTES = 2_000
"""Memory of a call or a log with its JSON form, without data."""

DATA_FACTOR = 3
"""Memory for each byte of data: itself, and two hexadecimal digits."""


@dataclass(slots=True, kw_only=True)
class CallNode:
    """A call with inner calls and logs."""

    frame: CallFrame
    calls: list[CallNode] = field(default_factory=list)
    logs: list[tuple[int, int]] = field(default_factory=list)
    """Index of a log in `CallTree.logs`, and the number of inner calls before it."""


class CallTree(NoopTracer):
    """Collects the calls and logs of a transaction."""

    def __init__(self, budget: TraceBudget | None = None) -> None:
        self._budget = budget or TraceBudget()
        self.root: CallNode | None = None
        self.logs: list[TracedLog] = []
        self.gas_limit = 0
        self.gas_used = 0
        self._path: list[CallNode] = []

    def on_tx_start(self, start: TransactionStart) -> None:
        """Record the transaction's gas limit."""
        self.gas_limit = start.transaction.gas

    def on_enter(self, frame: CallFrame) -> None:
        """Add a call to the current one."""
        self._budget.spend(NODE_BYTES + DATA_FACTOR * len(frame.input))
        node = CallNode(frame=frame)
        if self._path:
            self._path[-1].calls.append(node)
        else:
            self.root = node
        self._path.append(node)

    def on_exit(self, frame: CallFrame) -> None:
        """Leave the current call."""
        self._budget.spend(DATA_FACTOR * len(frame.output))
        self._path.pop()

    def on_log(self, entry: TracedLog) -> None:
        """Add a log to the current call."""
        self._budget.spend(NODE_BYTES + DATA_FACTOR * len(entry.data))
        node = self._path[-1]
        node.logs.append((len(self.logs), len(node.calls)))
        self.logs.append(entry)

    def on_tx_end(self, gas_used: int) -> None:
        """Record the transaction's gas used."""
        self.gas_used = gas_used

    def walk_nodes(self) -> Iterator[tuple[CallNode, bool]]:
        """Yield every call before the inner calls, and whether the call or an outer one failed.

        Iterative, because calls nest deeper than Python's recursion limit.
        """
        open_nodes = [] if self.root is None else [(self.root, False)]
        while open_nodes:
            node, around_failed = open_nodes.pop()
            failed = around_failed or node.frame.error is not None
            yield node, failed
            open_nodes.extend((call, failed) for call in reversed(node.calls))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTracerOptions:
    """Options of geth's callTracer."""

    only_top_call: bool = False
    with_log: bool = False
    first_log_index: int = 0
    """Number of logs of the block's earlier transactions."""


class CallTracer(CallTree):
    """geth's callTracer."""

    def __init__(
        self, options: CallTracerOptions | None = None, budget: TraceBudget | None = None
    ) -> None:
        super().__init__(budget)
        self._options = options or CallTracerOptions()

    def result(self) -> object:
        """Return the transaction's call, with inner calls nested."""
        if self.root is None:
            return {}
        forms = {id(node): self._serialize_call(node) for node, _ in self.walk_nodes()}
        top = forms[id(self.root)]
        # The transaction's gas includes what it pays for its data.
        top["gas"], top["gasUsed"] = encode_quantity(self.gas_limit), encode_quantity(self.gas_used)
        if self._options.with_log:
            self._add_logs(forms)
        if not self._options.only_top_call:
            for node, _ in self.walk_nodes():
                if node.calls:
                    forms[id(node)]["calls"] = [forms[id(call)] for call in node.calls]
        return top

    def _serialize_call(self, node: CallNode) -> dict[str, object]:
        frame = node.frame
        form: dict[str, object] = {
            "from": encode_data(frame.sender),
            "gas": encode_quantity(frame.gas),
            "gasUsed": encode_quantity(frame.gas_used),
            "input": encode_data(frame.input),
            "type": frame.kind,
        }
        if not (frame.kind in CREATIONS and frame.error is not None):
            form["to"] = encode_data(frame.to)
        if frame.output and frame.error in {None, REVERTED}:
            form["output"] = encode_data(frame.output)
        if frame.error is not None:
            form["error"] = frame.error
        if frame.error == REVERTED and (reason := decode_revert_reason(frame.output)):
            form["revertReason"] = reason
        if frame.value_wei is not None:
            form["value"] = encode_quantity(frame.value_wei)
        return form

    def _add_logs(self, forms: dict[int, dict[str, object]]) -> None:
        """Add the logs that were not reverted, with their indices in the block."""
        indices = sorted(
            index for node, failed in self.walk_nodes() if not failed for index, _ in node.logs
        )
        position_in_block = {
            index: self._options.first_log_index + order for order, index in enumerate(indices)
        }
        for node, failed in self.walk_nodes():
            if failed or not node.logs:
                continue
            forms[id(node)]["logs"] = [
                {
                    "address": encode_data(self.logs[index].address),
                    "topics": [encode_word(topic) for topic in self.logs[index].topics],
                    "data": encode_data(self.logs[index].data),
                    "index": encode_quantity(position_in_block[index]),
                    "position": encode_quantity(0 if self._options.only_top_call else calls_before),
                }
                for index, calls_before in node.logs
            ]

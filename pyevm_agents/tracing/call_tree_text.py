"""The tree of a transaction's calls as text, in the style of forge's traces.

lines = [*iter_call_lines(tree, steps, names)]

  [29,733] DemoToken::transfer(to: 0x7099…79C8, amount: 5)
    ├─ emit Transfer(from: 0xf39F…2266, to: 0x7099…79C8, value: 5)
    └─ ← [Return] true

The number is the gas that the call used. A call of the executor has the decision of the model.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth.constants import CREATE_CONTRACT_ADDRESS
from eth_utils import to_canonical_address, to_checksum_address

from precompiles.spec import EXECUTOR_ADDRESS, SELECTOR_BYTES
from pyevm_agents.abi.address_names import list_addresses
from pyevm_agents.abi.revert_reasons import format_revert
from pyevm_agents.abi.values import decode_values, format_arguments, format_bytes
from pyevm_agents.display import name_addresses, sanitize
from pyevm_agents.tracing.call_names import CallNames, assign_steps, get_precompile_name
from pyevm_agents.tracing.call_tracer import CREATIONS
from pyevm_agents.tracing.console_log import CONSOLE_ADDRESS, decode_console_line
from pyevm_agents.tracing.error_messages import REVERTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.abi.address_names import AddressNames
    from pyevm_agents.agents.trace import TracedStep
    from pyevm_agents.tracing.call_tracer import CallNode, CallTree
    from pyevm_agents.tracing.tracer import CallFrame, TracedLog

MAX_LINES = 1_000
"""The most lines of a transaction."""

MAX_LINE_CHARACTERS = 1_000

MARGIN, BRANCH, END, STEM = "  ", "  ├─ ", "  └─ ", "  │ "


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLine:
    """A line of the tree."""

    branches: str
    """The lines of the tree before the text."""

    text: str
    is_failure: bool = False
    """Whether it tells that a call failed."""


def iter_call_lines(
    tree: CallTree, steps: Sequence[TracedStep], names: AddressNames
) -> Iterator[TreeLine]:
    """Yield the lines of a transaction's calls.

    Input: the calls; the steps of the transaction's agents, in order; the names of addresses, after
           the transaction.
    """
    if tree.root is None:
        return
    texts = _CallTexts(names=CallNames(names=names), tree=tree, steps=assign_steps(tree, steps))
    pending: list[TreeLine | tuple[CallNode, str, str]] = [(tree.root, MARGIN, MARGIN)]
    lines = 0
    while pending:
        entry = pending.pop()
        if isinstance(entry, TreeLine):
            yield entry
        else:
            node, branches, margin = entry
            yield TreeLine(branches=branches, text=texts.describe_call(node.frame))
            pending += reversed([*texts.iter_contents(node, margin)])
        lines += 1
        if lines == MAX_LINES and pending:
            yield TreeLine(
                branches=MARGIN,
                text="… more calls; debug_traceTransaction with callTracer has all of them",
            )
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class _CallTexts:
    """Texts of one transaction's calls."""

    names: CallNames
    tree: CallTree
    steps: dict[int, TracedStep]

    # -- calls -- #

    def describe_call(self, frame: CallFrame) -> str:
        """Return a call's gas, contract, function and arguments."""
        gas = f"[{frame.gas_used:,}] "
        address = to_checksum_address(frame.to or CREATE_CONTRACT_ADDRESS)
        if frame.kind in CREATIONS:
            code = b"" if frame.error else frame.output
            name = self.names.names.known.find_name(code) or "<unknown>"
            return f"{gas}→ new {name}@{address}{_format_value(frame)}"
        if frame.kind == "SELFDESTRUCT":
            return f"{gas}selfdestruct to {self.names.find_name(frame.to) or address}"
        name = self.names.find_name(frame.to) or address
        kind = "" if frame.kind == "CALL" else f" [{frame.kind.lower()}]"
        return f"{gas}{name}::{self._add_names(self._describe_input(frame))}{kind}"

    def _describe_input(self, frame: CallFrame) -> str:
        data, value = frame.input, _format_value(frame)
        if frame.to == CONSOLE_ADDRESS:
            line = decode_console_line(data)
            return f"log({format_bytes(data)})" if line is None else f'log("{line}")'
        if (precompile := get_precompile_name(frame.to)) is not None:
            return f"{precompile}({format_bytes(data)})"
        function = self.names.find_function(frame)
        if function is None:
            if len(data) < SELECTOR_BYTES:
                return f"{'fallback' if data else 'receive'}{value}({data.hex()})"
            rest = format_bytes(data[SELECTOR_BYTES:]) if data[SELECTOR_BYTES:] else ""
            return f"{data[:SELECTOR_BYTES].hex()}{value}({rest})"
        if frame.to == EXECUTOR_ADDRESS:
            return f"{function.name}({len(data):,} bytes)"
        arguments = decode_values(function.types, data[SELECTOR_BYTES:])
        text = (
            format_bytes(data[SELECTOR_BYTES:])
            if arguments is None
            else format_arguments(function.types, function.argument_names, arguments)
        )
        return f"{function.name}{value}({text})"

    # -- what happens in a call -- #

    def iter_contents(
        self, node: CallNode, margin: str
    ) -> Iterator[TreeLine | tuple[CallNode, str, str]]:
        """Yield the lines and the inner calls of a call, in order, and the end."""
        frame, branch = node.frame, margin + BRANCH
        logs = deque(node.logs)
        for position, call in enumerate([*node.calls, None]):
            while logs and logs[0][1] == position:
                entry = self.tree.logs[logs.popleft()[0]]
                yield TreeLine(branches=branch, text=self._describe_log(entry, frame))
            if call is not None:
                yield (call, branch, margin + STEM)
        step = self.steps.get(id(frame))
        for text in () if step is None else self._iter_step_texts(step):
            yield TreeLine(branches=branch, text=self._add_names(text))
        yield TreeLine(
            branches=margin + END,
            text=self._add_names(f"← {self._describe_end(frame)}"),
            is_failure=frame.error is not None,
        )

    def _iter_step_texts(self, step: TracedStep) -> Iterator[str]:
        decision, usage = step.decision, step.usage
        yield f"thought: {decision.thought}"
        if decision.answer is not None:
            yield f"answer: {decision.answer}"
        else:
            yield f"tool: {decision.action}"
            yield f"input: {decision.action_input}"
            failure = step.tool_failure
            reverted = "reverted" if failure is None else failure.explain(self.names.names.known)
            yield f"observation: {reverted if step.observation is None else step.observation}"
        if usage.is_decided:
            yield "inference: none, the rules decided"
            return
        yield (
            f"inference: {usage.prompt_gas + usage.output_gas:,} gas, "
            f"{usage.cold_tokens + usage.warm_tokens:,} tokens read, {usage.cold_tokens:,} of them "
            f"new, {usage.output_tokens:,} written"
        )

    def _describe_log(self, entry: TracedLog, frame: CallFrame) -> str:
        decoded = self.names.decode_log(entry, frame)
        if decoded is None:
            shown = [f"topic {at}: 0x{topic:064x}" for at, topic in enumerate(entry.topics)]
            return self._add_names(
                "emit " + ", ".join([*shown, f"data: {format_bytes(entry.data)}"])
            )
        event, values = decoded
        text = format_arguments(event.types, event.argument_names, values)
        return self._add_names(f"emit {event.name}({text})")

    def _describe_end(self, frame: CallFrame) -> str:
        if frame.error == REVERTED:
            reason = format_revert(frame.output, self.names.names.known)
            return f"[Revert] {reason}"
        if frame.error is not None:
            return f"[Halt] {frame.error}"
        if frame.kind in CREATIONS or frame.to == EXECUTOR_ADDRESS:
            what = "bytes of code" if frame.kind in CREATIONS else "bytes"
            return f"[Return] {len(frame.output):,} {what}"
        return f"[Return] {self._describe_output(frame)}" if frame.output else "[Stop]"

    def _describe_output(self, frame: CallFrame) -> str:
        function = self.names.find_function(frame)
        values = None
        if function is not None and function.output_types:
            values = decode_values(function.output_types, frame.output)
        if function is None or values is None:
            return format_bytes(frame.output)
        return format_arguments(function.output_types, function.output_names, values)

    def _add_names(self, text: str) -> str:
        """Return a text on one line, with the names of addresses."""
        names = {}
        for address in list_addresses(text):
            account = to_canonical_address(address)
            name = self.names.find_name(account) if self.names.may_look_up(account) else None
            if name is not None and get_precompile_name(account) is None:
                names[address] = name
        return _limit(name_addresses(text, names))


def _format_value(frame: CallFrame) -> str:
    return (
        f"{{value: {frame.value_wei}}}" if frame.value_wei and frame.kind != "DELEGATECALL" else ""
    )


def _limit(text: str) -> str:
    return sanitize(text, MAX_LINE_CHARACTERS)

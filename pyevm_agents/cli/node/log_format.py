"""What a node's log says of a request, of a transaction and of an agent's step, in lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.agents.events import (
    RunEnded,
    RunFaulted,
    StepDecided,
    StepFailed,
    StepProgressed,
    StepStarted,
    ToolReturned,
)
from pyevm_agents.agents.revert_reasons import RevertContext, explain_revert, read_revert_context
from pyevm_agents.display import sanitize
from pyevm_agents.node.listeners import find_warning
from pyevm_agents.tracing.console_log import iter_console_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyevm_agents.agents.events import Event, StepLocation
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.cli.output import LiveOutput
    from pyevm_agents.rpc.dispatcher import RequestLogEntry

INDENT = " " * 14
"""Where a request's name begins: what belongs to it stands below. A hash then ends at column 80."""

MAX_METHOD_CHARACTERS = 80
MAX_REASON_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedTransaction:
    """What the log keeps of a transaction in a block."""

    hash: str
    block: int
    gas_used: int
    created: str | None
    failure: str | bytes | None
    """Why it failed, in words or as what it reverted with; None where it succeeded."""

    context: RevertContext = field(default_factory=RevertContext)
    """Facts about a revert that its data do not contain."""

    printed: tuple[str, ...]
    """Its lines of `console.log`."""

    warning: str | None = None
    """The warning about it, if any."""

    @property
    def reason(self) -> str | None:
        """Why it failed, in words. Slow for the first time: all contracts' errors are read."""
        if isinstance(self.failure, bytes):
            return explain_revert(self.failure, self.context)
        return self.failure

    def as_json(self) -> dict[str, object]:
        """Return it as an object of JSON."""
        return {
            "hash": self.hash,
            "block": self.block,
            "gasUsed": self.gas_used,
            "contractAddress": self.created,
            "isSuccess": self.failure is None,
            "reason": self.reason,
            "console": [*self.printed],
            "warning": self.warning,
        }


def iter_mined_transactions(mined: MinedBlock) -> Iterator[MinedTransaction]:
    """Yield what the log keeps of a block."""
    before = 0
    for transaction, receipt, computation in zip(
        mined.block.transactions, mined.receipts, mined.computations, strict=True
    ):
        failure: str | bytes | None = None
        context, created = RevertContext(), None
        if computation.is_error:
            burns_gas = computation.error.burns_gas
            failure = str(computation.error) if burns_gas else bytes(computation.output)
            context = RevertContext() if burns_gas else read_revert_context(computation)
        elif computation.msg.is_create:
            created = to_checksum_address(computation.msg.storage_address)
        yield MinedTransaction(
            hash="0x" + transaction.hash.hex(),
            block=mined.block.number,
            gas_used=receipt.gas_used - before,
            created=created,
            failure=failure,
            context=context,
            printed=tuple(iter_console_lines(computation)),
            warning=find_warning(computation),
        )
        before = receipt.gas_used


class NodeLogFormatter:
    """Writes lines in the colours of a paper."""

    def __init__(self, paper: LiveOutput) -> None:
        """Take what colours there are."""
        self._paint = paper.paint

    def format_request(self, answered: RequestLogEntry, printed: Sequence[str]) -> list[str]:
        """Say that a request was answered, and what a contract printed in it."""
        method = sanitize(answered.method)[:MAX_METHOD_CHARACTERS] or "(no request)"
        took = self._paint(f"{answered.milliseconds:9.1f} ms", dim=True)
        failed = ""
        if answered.error_code is not None:
            reason = sanitize(answered.error_message or "", MAX_REASON_CHARACTERS)
            failed = f"  {answered.error_code}  {reason}".rstrip()
        return [
            f"{took}  {method}{self._paint(failed, 'red')}",
            *self.format_console_lines(printed),
        ]

    def format_warnings(self, warnings: Iterable[str]) -> list[str]:
        """Return the lines of warnings."""
        return [
            f"{INDENT}{self._paint('WARNING', 'yellow')}  {sanitize(text)}" for text in warnings
        ]

    def format_console_lines(self, printed: Sequence[str]) -> list[str]:
        """Say what a contract printed."""
        return [
            f"{INDENT}{self._paint('console.log', 'magenta')}  {sanitize(line)}" for line in printed
        ]

    def format_transaction(self, mined: MinedTransaction) -> list[str]:
        """Say what became of a transaction."""
        summary = f"block {mined.block:,}, {mined.gas_used:,} gas"
        if mined.created is not None:
            summary += f", created {mined.created}"
        lines = [INDENT + self._paint(mined.hash, dim=True), INDENT + summary]
        if mined.warning is not None:
            lines += self.format_warnings([mined.warning])
        if mined.reason is not None:
            lines.append(INDENT + self._paint(f"reverted: {sanitize(mined.reason)}", "red"))
        return [*lines, *self.format_console_lines(mined.printed)]

    def format_step(self, event: Event) -> list[str]:
        """Say what an agent did; of a call and an estimate, in a line for each step."""
        place = event.location
        margin = INDENT + "  " * place.depth
        if place.purpose != "block":
            return [margin + self._paint(line, dim=True) for line in self._iter_brief_lines(event)]
        return [margin + line for line in self._iter_full_lines(event)]

    def _iter_brief_lines(self, event: Event) -> Iterator[str]:
        place = event.location
        at = f"{place.purpose} {place.step}"
        match event:
            case StepDecided(decision=words):
                done = words.answer if words.action is None else words.action
                yield f"{at}  {sanitize(done or '')} {sanitize(words.action_input or '')}".rstrip()
            case StepFailed(reason=reason) | RunFaulted(reason=reason):
                yield f"{at}  {sanitize(reason)}"
            case _:
                return

    def _iter_full_lines(self, event: Event) -> Iterator[str]:
        place = event.location
        match event:
            case StepStarted(charge=prompted):
                agent = to_checksum_address(place.agent)
                all_tokens = prompted.cold_tokens + prompted.warm_tokens
                read = f" reads {all_tokens:,} tokens, {prompted.cold_tokens:,} of them new"
                yield self._format_field(place, "agent", agent) + self._paint(read, dim=True)
            case StepDecided(decision=words):
                content = {
                    "thought": words.thought,
                    "action": words.action,
                    "input": words.action_input,
                    "answer": words.answer,
                }
                for name, text in content.items():
                    if text is not None:
                        yield self._format_field(place, name, sanitize(text))
            case ToolReturned(observation=content):
                text = self._paint("reverted", "red") if content is None else sanitize(content)
                yield self._format_field(place, "observation", text)
            case StepFailed(reason=reason) | RunFaulted(reason=reason):
                name = "failed" if isinstance(event, StepFailed) else "fault"
                yield self._format_field(place, name, self._paint(sanitize(reason), "red"))
            case _:
                return

    def _format_field(self, place: StepLocation, name: str, text: str) -> str:
        return f"{self._paint(f'{place.step} {name:11}', 'cyan')} {text}"

    def format_progress(self, event: Event) -> str | None:
        """Say what is going on; empty for nothing, None for what it was."""
        place = event.location
        of = "" if place.purpose == "block" else f" of the {place.purpose}"
        match event:
            case StepStarted():
                return f"{INDENT}step {place.step}{of}: reading"
            case StepProgressed(is_writing=False, done=done, total=total):
                return f"{INDENT}step {place.step}{of}: reading {done:,} of {total:,} tokens"
            case StepProgressed(done=done, text=text):
                words = sanitize(" ".join(text.split()))
                return f"{INDENT}step {place.step}{of}: writing, {done:,} tokens  {words}"
            case StepFailed() | RunEnded() | RunFaulted() | StepDecided():
                return ""
            case _:
                return None

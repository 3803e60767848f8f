"""Lines of the node's log for requests, transactions and steps of agents."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.abi.address_names import list_addresses
from pyevm_agents.agents.events import (
    RunEnded,
    RunFaulted,
    StepDecided,
    StepFailed,
    StepProgressed,
    StepStarted,
    ToolReturned,
)
from pyevm_agents.agents.failures import read_failure
from pyevm_agents.agents.trace import extract_inferences
from pyevm_agents.display import name_addresses, sanitize
from pyevm_agents.node.listeners import find_warning
from pyevm_agents.tracing.console_log import iter_console_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eth_typing import Address

    from pyevm_agents.abi.address_names import AddressNames
    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.agents.events import Event, StepLocation
    from pyevm_agents.agents.failures import Failure
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.cli.output import LiveOutput
    from pyevm_agents.rpc.dispatcher import RequestLogEntry
    from pyevm_agents.tracing.call_tree_text import TreeLine

INDENT = " " * 14
"""Column of a request's method, and of the lines below it. A hash then ends at column 80."""

MAX_METHOD_CHARACTERS = 80
MAX_HANDLES = 256
MAX_RUNS = 64
"""Unfinished agent runs whose handles are kept."""

MAX_REASON_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedTransaction:
    """A mined transaction in the log."""

    hash: str
    block: int
    gas_used: int
    to: Address | None
    """The address that the transaction called or created."""

    is_create: bool
    code: bytes
    """The runtime code at that address; empty for an account without code."""

    selector: bytes
    """The first four bytes of the calldata; fewer if it is shorter, empty for a creation."""

    failure: Failure | None
    """None if the transaction succeeded."""

    handles: tuple[tuple[str, str], ...]
    """(handle, checksummed address) of each address in the agents' prompts."""

    printed: tuple[str, ...]
    """Its lines of `console.log`."""

    warning: str | None = None
    """The warning about it, if any."""

    @property
    def created_address(self) -> str | None:
        """The checksummed address of a created contract; None if none was created."""
        if self.to is None or not self.is_create or self.failure is not None:
            return None
        return to_checksum_address(self.to)

    def explain_failure(self, known: KnownContracts) -> str | None:
        """Return the reason of a failure; None without one. Slow at first: ABIs are loaded."""
        return None if self.failure is None else self.failure.explain(known)

    def find_function(self, known: KnownContracts) -> str | None:
        """Return the signature of the called function; None if unknown."""
        return known.find_function(self.selector) if len(self.selector) == SELECTOR_BYTES else None

    def as_json(self, known: KnownContracts) -> dict[str, object]:
        """Return the transaction as a JSON object.

        Input: the contracts that have names.
        """
        return {
            "hash": self.hash,
            "block": self.block,
            "gasUsed": self.gas_used,
            "contractAddress": self.created_address,
            "contract": known.find_name(self.code),
            "function": self.find_function(known),
            "isSuccess": self.failure is None,
            "reason": self.explain_failure(known),
            "console": [*self.printed],
            "warning": self.warning,
        }


def iter_mined_transactions(mined: MinedBlock) -> Iterator[MinedTransaction]:
    """Yield the transactions of a block."""
    before = 0
    for transaction, receipt, computation in zip(
        mined.block.transactions, mined.receipts, mined.computations, strict=True
    ):
        message, inferences = computation.msg, extract_inferences(computation)
        is_create = message.is_create
        yield MinedTransaction(
            hash="0x" + transaction.hash.hex(),
            block=mined.block.number,
            gas_used=receipt.gas_used - before,
            to=message.storage_address,
            is_create=is_create,
            code=bytes(computation.output if is_create else message.code),
            selector=b"" if is_create else bytes(message.data[:SELECTOR_BYTES]),
            failure=read_failure(computation),
            handles=tuple({pair: None for entry in inferences for pair in entry.handles}),
            printed=tuple(iter_console_lines(computation)),
            warning=find_warning(computation),
        )
        before = receipt.gas_used


class NodeLogFormatter:
    """Formats entries of the log as lines of text."""

    def __init__(self, output: LiveOutput, names: AddressNames) -> None:
        """Input: the output, for the colours; the names of addresses."""
        self._paint = output.paint
        self._names = names
        self._handles: OrderedDict[int, tuple[tuple[str, str], ...]] = OrderedDict()

    def format_request(self, answered: RequestLogEntry, printed: Sequence[str]) -> list[str]:
        """Return the lines of a request and of `console.log`."""
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
        """Return the lines of `console.log`."""
        return [
            f"{INDENT}{self._paint('console.log', 'magenta')}  {sanitize(line)}" for line in printed
        ]

    def format_transaction(self, mined: MinedTransaction) -> list[str]:
        """Return the lines of a mined transaction."""
        summary = f"block {mined.block:,}, {mined.gas_used:,} gas"
        known = self._names.known
        name, function = known.find_name(mined.code), mined.find_function(known)
        if mined.created_address is not None:
            summary += f", created {'' if name is None else f'{name} '}{mined.created_address}"
        elif name is not None:
            summary += f", {name}.{function or '0x' + mined.selector.hex()}"
        lines = [INDENT + self._paint(mined.hash, dim=True), INDENT + summary]
        if mined.warning is not None:
            lines += self.format_warnings([mined.warning])
        reason = mined.explain_failure(known)
        if reason is not None:
            text = sanitize(self._name_addresses(reason, mined.handles))
            lines.append(INDENT + self._paint(f"reverted: {text}", "red"))
        return [*lines, *self.format_console_lines(mined.printed)]

    def format_tree(self, tree: Iterable[TreeLine]) -> list[str]:
        """Return the lines of a transaction's calls."""
        return [
            self._paint(line.branches, dim=True)
            + (self._paint(line.text, "red") if line.is_failure else line.text)
            for line in tree
        ]

    def format_step(self, event: Event) -> list[str]:
        """Return the lines of an agent's event; one per step in a call or an estimate."""
        place = event.location
        margin = INDENT + "  " * place.depth
        self._update_handles(event)
        if place.purpose != "block":
            return [margin + self._paint(line, dim=True) for line in self._iter_brief_lines(event)]
        return [margin + line for line in self._iter_full_lines(event)]

    def _iter_brief_lines(self, event: Event) -> Iterator[str]:
        place = event.location
        at = f"{place.purpose} {place.step}"
        match event:
            case StepDecided(decision=words):
                done = words.answer if words.action is None else words.action
                values = self._name_step(event, words.action_input or "")
                yield f"{at}  {self._name_step(event, done or '')} {values}".rstrip()
            case StepFailed(reason=reason) | RunFaulted(reason=reason):
                yield f"{at}  {self._name_step(event, reason)}"
            case _:
                return

    def _iter_full_lines(self, event: Event) -> Iterator[str]:
        place = event.location
        match event:
            case StepStarted(charge=prompted):
                address, name = (
                    to_checksum_address(place.agent),
                    self._names.find_contract(place.agent),
                )
                agent = address if name is None else f"{name} {address}"
                all_tokens = prompted.cold_tokens + prompted.warm_tokens
                read = (
                    f" reads {all_tokens:,} tokens, {prompted.cold_tokens:,} of them new"
                    if all_tokens
                    else " asks no model: the rules decide"
                )
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
                        yield self._format_field(place, name, self._name_step(event, text))
            case ToolReturned(observation=None, failure=failure):
                reason = "" if failure is None else f": {self._name_step(event, failure)}"
                text = self._paint(f"reverted{reason}", "red")
                yield self._format_field(place, "observation", text)
            case ToolReturned(observation=str(content)):
                yield self._format_field(place, "observation", self._name_step(event, content))
            case StepFailed(reason=reason) | RunFaulted(reason=reason):
                name = "failed" if isinstance(event, StepFailed) else "fault"
                yield self._format_field(
                    place, name, self._paint(self._name_step(event, reason), "red")
                )
            case _:
                return

    def _update_handles(self, event: Event) -> None:
        """Keep the handles of an agent's prompt until the run ends."""
        match event:
            case StepDecided(inference=inference):
                run = event.location.run
                self._handles[run] = inference.handles + self._handles.pop(run, ())[:MAX_HANDLES]
                if len(self._handles) > MAX_RUNS:
                    self._handles.popitem(last=False)
            case RunEnded() | RunFaulted():
                self._handles.pop(event.location.run, None)
            case _:
                pass

    def _name_step(self, event: Event, text: str) -> str:
        """Return a text of a step on one line, with names of the addresses."""
        return sanitize(self._name_addresses(text, self._handles.get(event.location.run, ())))

    def _name_addresses(self, text: str, handles: Iterable[tuple[str, str]]) -> str:
        return name_addresses(text, self._names.find_names(list_addresses(text), handles))

    def _format_field(self, place: StepLocation, name: str, text: str) -> str:
        return f"{self._paint(f'{place.step} {name:11}', 'cyan')} {text}"

    def format_progress(self, event: Event) -> str | None:
        """Return the live line of an event; empty to clear the line, None for no change."""
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

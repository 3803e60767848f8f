"""Output of `pyevm-agents run`: lines of phases, effects of a dry run's writes, the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from pyevm_agents.cli.output import err, out
from pyevm_agents.cli.run_preview import RunPreview
from pyevm_agents.cli.trace import format_line
from pyevm_agents.display import format_amount, name_addresses, pluralize, sanitize
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.phase_texts import describe_phase, describe_result
from pyevm_agents.lifecycle.statuses import Phase, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.cli.output import StatusLine
    from pyevm_agents.control.results import (
        ResultModel,
        RunResult,
        ValidationReport,
        WriteEffects,
    )
    from pyevm_agents.lifecycle.host import RunEvent

NUMBERS = {phase: number for number, phase in enumerate(Phase, 1)}
NAME_WIDTH = max(len(phase.value) for phase in Phase)
INDENT = " " * (NAME_WIDTH + 4)


class RunPrinter:
    """Prints the phases of a run, each at the end. Called by the thread that advances the run."""

    def __init__(self, status: StatusLine, *, is_quiet: bool) -> None:
        """Input: the line of the phase that is performed; whether nothing is printed."""
        self._status, self._is_quiet = status, is_quiet
        self._run_id: str | None = None
        self._printed: set[Phase] = set()

    def watch(self, run_id: str) -> None:
        """Print the phases of a run from now on."""
        self._run_id = run_id

    def on_event(self, event: RunEvent) -> None:
        """Print a phase that has ended."""
        if event.run_id != self._run_id:
            return
        if event.moment is Moment.BEGUN and out.is_terminal and not self._is_quiet:
            self._status.show_status(event.phase.value)
        elif event.moment is Moment.STORED:
            self._status.stop()
            if not self._is_quiet:
                self._printed.add(event.phase)
                _print_phase(event)

    def note(self, text: str) -> None:
        """Print lines for people to standard error, where JSON is not in the way."""
        self._status.stop()
        if text:
            err.print(text, soft_wrap=True, markup=False)

    def print_question(self, run: RunResult, writes: Sequence[WriteEffects]) -> None:
        """Print what an operator confirms: the plan, unless it was printed, and the writes.

        Input: the run after the dry run; the effects of its writes.
        """
        self._status.stop()
        screen = err if self._is_quiet else out  # Standard output is JSON.
        for line in (*self._iter_plan_lines(run), *_iter_write_lines(writes)):
            screen.print(INDENT + line, soft_wrap=True)

    def _iter_plan_lines(self, run: RunResult) -> Iterator[str]:
        if Phase.PLAN in self._printed:
            return
        for each in run.phases:
            if each.phase is Phase.PLAN:
                first, *steps = describe_result(each.result)
                yield from map(escape, (f"plan: {first}", *steps))

    def print_end(
        self, run: RunResult, validation: ValidationReport | None, *, is_kept: bool
    ) -> None:
        """Print the summary of a run, or the phase before which the run stopped.

        Input: the run; the validator's response, if any; whether the run can go on later.
        """
        self._status.stop()
        if not run.status.is_final:
            assert run.phase is not None  # noqa: S101 - not ended
            _print(f"\nStopped before {run.phase.value}; nothing was executed")
            if is_kept:
                _print(f"Next: {run.next_step}")
            return
        if run.summary is not None:
            _print(f"\n{sanitize(run.summary.text)}")
            for warning in run.summary.warnings:
                _print(f"Warning: {sanitize(warning)}")
        if validation is not None:
            _print(
                f"Validation: {validation.response} of 100 for agent {validation.agent_id} by "
                f"{validation.validator}, {validation.tag}, request {validation.request_hash}"
            )
        receipts = pluralize(len(run.receipts), "receipt")
        # A run has no status for a task that is rejected: the run failed.
        is_rejected = run.task_status is TaskStatus.REJECTED
        status = TaskStatus.REJECTED if is_rejected else run.status
        _print(f"{run.run_id}: {status.value}, {receipts}")


def _iter_write_lines(writes: Sequence[WriteEffects]) -> Iterator[str]:
    """Yield the effects of writes as lines of markup."""
    for number, write in enumerate(writes, 1):
        amount, call = format_amount(write.value_wei), _format_call(write)
        place = f"{sanitize(write.contract)} {write.target}" if write.contract else write.target
        yield escape(f"write {number}: {place}, {amount}, {call}")
        if write.request is not None:
            yield format_line("Request", sanitize(write.request), "bold")
        if write.is_skipped:
            yield format_line("Skipped", "an earlier run of the task made it")
        elif write.failure is not None:
            reason = sanitize(name_addresses(write.failure, write.names))
            yield format_line("Fails", reason, "bold red")
        else:
            yield from _build_preview(write).iter_lines()


def _format_call(write: WriteEffects) -> str:
    size = (len(write.data) - 2) // 2
    if not size:
        return "no calldata"
    if write.function is None:
        return f"{size} bytes of calldata of an unknown function"
    if write.request is not None:
        return write.function
    if write.arguments is None:
        return f"{write.function} with {size} bytes of calldata"
    arguments = [f"{each.name}: {each.value}".removeprefix(": ") for each in write.arguments]
    text = name_addresses(f"{write.function}({', '.join(arguments)})", write.names)
    return sanitize(text)


def _build_preview(write: WriteEffects) -> RunPreview:
    def dump(parts: Sequence[ResultModel]) -> list[dict[str, Any]]:
        return [each.model_dump(mode="json", by_alias=True) for each in parts]

    return RunPreview(
        transfers=dump(write.transfers),
        approvals=dump(write.approvals),
        balances=dump(write.balances),
        differences=None if write.differences is None else dump(write.differences),
        names=write.names,
    )


def _print_phase(event: RunEvent) -> None:
    phase = event.phase
    mark = "[bold red]✗[/]" if event.run.failed_phase is phase else "[green]✓[/]"
    first, *others = describe_phase(event.run, phase, event.result) or [""]
    out.print(
        f"{NUMBERS[phase]} {phase.value:{NAME_WIDTH}} {mark} {escape(first)}".rstrip(),
        soft_wrap=True,
    )
    for line in others:
        _print(INDENT + line)


def _print(text: str) -> None:
    out.print(text, soft_wrap=True, markup=False)

"""Output of `pyevm-agents run`: a line for each phase, the writes of a dry run, the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from pyevm_agents.cli.output import err, out
from pyevm_agents.display import format_amount, pluralize, sanitize
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.phase_texts import describe_phase
from pyevm_agents.lifecycle.statuses import Phase, TaskStatus

if TYPE_CHECKING:
    from pyevm_agents.cli.output import StatusLine
    from pyevm_agents.control.results import DryRunReport, RunResult, ValidationReport
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
                _print_phase(event)

    def note(self, text: str) -> None:
        """Print lines for people to standard error, where JSON is not in the way."""
        self._status.stop()
        if text:
            err.print(text, soft_wrap=True, markup=False)

    def print_writes(self, dry_run: DryRunReport) -> None:
        """Print the writes of an execution that follows a dry run."""
        for number, trace in enumerate(dry_run.trace.writes, 1):
            write = trace.write
            amount, size = format_amount(write.value_wei), (len(write.data) - 2) // 2
            line = f"{INDENT}write {number}: {write.target}, {amount}, {size} bytes of calldata"
            if self._is_quiet:  # Standard output is JSON.
                self.note(line)
            else:
                _print(line)

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

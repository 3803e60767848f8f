"""Output of `pyevm-agents run`: a line for each phase, the writes of a dry run, the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from rich.markup import escape

from pyevm_agents.cli.output import err, out
from pyevm_agents.display import format_amount, pluralize, sanitize
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.statuses import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyevm_agents.cli.output import StatusLine
    from pyevm_agents.lifecycle.host import RunEvent

NUMBERS = {phase: number for number, phase in enumerate(Phase, 1)}
NAME_WIDTH = max(len(phase.value) for phase in Phase)
INDENT = " " * (NAME_WIDTH + 4)
SHOWN_DIGITS = 18
"""Characters shown of a digest: 0x and 8 bytes."""


class RunReader(Protocol):
    """What tells of runs, such as a control plane."""

    def get_run(self, run_id: str) -> dict[str, Any]:
        """Return a run with the results of its phases."""
        ...


class RunPrinter:
    """Prints the phases of a run as they end. Called by the thread that advances it."""

    def __init__(self, status: StatusLine, *, is_quiet: bool) -> None:
        """Input: the line for what goes on; whether nothing is printed."""
        self._status, self._is_quiet = status, is_quiet
        self._plane: RunReader | None = None
        self._run_id = ""

    def watch(self, plane: RunReader, run_id: str) -> None:
        """Print the phases of a run from now on."""
        self._plane, self._run_id = plane, run_id

    def on_event(self, event: RunEvent) -> None:
        """Print a phase that has ended."""
        if self._plane is None or event.run_id != self._run_id:
            return
        if event.moment is Moment.BEGUN and out.is_terminal and not self._is_quiet:
            self._status.show_status(event.phase.value)
        elif event.moment is Moment.STORED:
            self._status.stop()
            if not self._is_quiet:
                _print_phase(self._plane.get_run(self._run_id), event.phase)

    def note(self, text: str) -> None:
        """Print lines for people to standard error, where JSON is not in the way."""
        self._status.stop()
        if text:
            err.print(text, soft_wrap=True, markup=False)

    def print_writes(self, dry_run: dict[str, Any]) -> None:
        """Print what an execution will do on the chain."""
        for number, trace in enumerate(dry_run["trace"]["writes"], 1):
            write = trace["write"]
            amount = format_amount(int(write["valueWei"]))
            size = (len(write["data"]) - 2) // 2
            line = f"{INDENT}write {number}: {write['target']}, {amount}, {size} bytes of calldata"
            if self._is_quiet:  # Standard output is JSON.
                self.note(line)
            else:
                _print(line)

    def print_end(self, run: dict[str, Any]) -> None:
        """Print the summary of a run, or where it stopped."""
        self._status.stop()
        if run["status"] not in {"completed", "failed", "cancelled"}:
            _print(f"\nStopped before {run['phase']}; nothing was executed")
            return
        summary = run["summary"]
        if summary is not None:
            _print(f"\n{sanitize(summary['text'])}")
            for warning in summary["warnings"]:
                _print(f"Warning: {sanitize(warning)}")
        if (validation := run.get("validation")) is not None:
            _print(
                f"Validation: {validation['response']} of 100 for agent {validation['agentId']} by "
                f"{validation['validator']}, {validation['tag']}, request "
                f"{validation['requestHash']}"
            )
        receipts = pluralize(len(run["receipts"]), "receipt")
        _print(f"{run['runId']}: {_name_status(run)}, {receipts}")


def _print_phase(run: dict[str, Any], phase: Phase) -> None:
    mark = "[bold red]✗[/]" if run["failedPhase"] == phase.value else "[green]✓[/]"
    first, *others = describe_phase(run, phase) or [""]
    out.print(
        f"{NUMBERS[phase]} {phase.value:{NAME_WIDTH}} {mark} {escape(first)}".rstrip(),
        soft_wrap=True,
    )
    for line in others:
        _print(INDENT + line)


def describe_phase(run: dict[str, Any], phase: Phase) -> list[str]:
    """Return lines about the result of a phase that was performed, or why the run stopped in it."""
    if run["failedPhase"] == phase.value:
        return [sanitize(run["failure"])]
    results = {each["phase"]: each["result"] for each in run["phases"]}
    return [*DESCRIBERS[phase](results.get(phase.value) or {}, run)]


def _describe_discovery(result: dict[str, Any], _run: dict[str, Any]) -> Iterator[str]:
    yield f"{result['agentSlug']} {result['version']}"


def _describe_plan(result: dict[str, Any], _run: dict[str, Any]) -> Iterator[str]:
    yield pluralize(len(result["steps"]), "step")
    for step in result["steps"]:
        after = f", after {', '.join(step['dependsOn'])}" if step["dependsOn"] else ""
        yield f"{step['stepId']} ({step['agentSlug']}{after}): {sanitize(step['description'])}"


def _describe_trust(result: dict[str, Any], _run: dict[str, Any]) -> Iterator[str]:
    yield ", ".join(f"{each['agentSlug']}: score {each['score']:.2f}" for each in result["agents"])


def _describe_policy(_result: dict[str, Any], _run: dict[str, Any]) -> Iterator[str]:
    yield "within the limits"


def _describe_dry_run(result: dict[str, Any], _run: dict[str, Any]) -> Iterator[str]:
    use, found = result["use"], result["result"]
    yield (
        f"{pluralize(use['onchainWrites'], 'write')}, {pluralize(use['toolCalls'], 'tool call')}, "
        f"{found['estimatedGas']:,} gas, digest {result['digests']['trace'][:SHOWN_DIGITS]}…"
    )
    yield from map(sanitize, found["warnings"])


def _describe_execution(result: dict[str, Any], _run: dict[str, Any]) -> Iterator[str]:
    block = result["block"]
    where = "no transaction" if block is None else f"block {block['number']}"
    yield f"{where}, digest {result['digest'][:SHOWN_DIGITS]}…, that of the dry run"
    for step in result["result"]["steps"]:
        yield f"{step['stepId']}: {sanitize(step['result'] or step['error'] or step['status'])}"


def _describe_verification(result: dict[str, Any], _run: dict[str, Any]) -> Iterator[str]:
    passed = sum(each["isPassed"] for each in result["checks"])
    yield f"{passed} of {len(result['checks'])} checks, score {result['score']:.2f}"


def _describe_nothing(_result: dict[str, Any], _run: dict[str, Any]) -> Iterator[str]:
    yield from ()


def _describe_record(_result: dict[str, Any], run: dict[str, Any]) -> Iterator[str]:
    yield f"{_name_status(run)}, in the agent's log"


def _name_status(run: dict[str, Any]) -> str:
    """Return the status of a run; a task that is rejected has a run that failed."""
    is_rejected = run["status"] == "failed" and run["taskStatus"] == "rejected"
    return "rejected" if is_rejected else str(run["status"])


DESCRIBERS: dict[Phase, Callable[[dict[str, Any], dict[str, Any]], Iterator[str]]] = {
    Phase.DISCOVER: _describe_discovery,
    Phase.PLAN: _describe_plan,
    Phase.TRUST_CHECK: _describe_trust,
    Phase.POLICY_CHECK: _describe_policy,
    Phase.DRY_RUN: _describe_dry_run,
    Phase.EXECUTE: _describe_execution,
    Phase.VERIFY: _describe_verification,
    Phase.SUMMARIZE: _describe_nothing,
    Phase.RECORD: _describe_record,
}
"""What is printed about the result of each phase."""


def _print(text: str) -> None:
    out.print(text, soft_wrap=True, markup=False)

"""`pyevm-agents run`: a goal for agents, in nine phases."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyevm_agents.cli.agent.extra import require_agents_extra
from pyevm_agents.cli.agent.plane_options import add_plane_options
from pyevm_agents.cli.errors import FAULT_STATUS
from pyevm_agents.cli.option_group import add_option_group
from pyevm_agents.cli.output import StatusLine
from pyevm_agents.cli.rpc_client import print_json
from pyevm_agents.cli.run_output import RunPrinter
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.statuses import Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.cli.agent.plane_options import PlaneChoices
    from pyevm_agents.control.forms import TaskForm
    from pyevm_agents.control.plane import ControlPlane

STANDARD = ComputeBudget()

EXAMPLES = """\b
Examples:
  pyevm-agents run "What is my balance?" --agent gas-watcher --no-model
  pyevm-agents run "Deposit 10 USDC" --agent trader --agent risk-check --fixture wallet_agent
  pyevm-agents run "Deposit 10 USDC" --agent trader --confirm      # asks after the dry run
  pyevm-agents run "Deposit 10 USDC" --agent trader --until dry_run --json
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetChoices:
    """The limits of a run."""

    max_steps: int
    max_tool_calls: int
    max_runtime_ms: int
    max_onchain_writes: int
    max_gas_wei: str | None


def add_budget_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the limits of a run to a command, which gets them as `budget`."""
    number = click.IntRange(0)
    return add_option_group(
        command,
        "budget",
        BudgetChoices,
        [
            click.option(
                "--max-steps", type=number, default=STANDARD.max_steps, show_default=True,
                metavar="N", help="Steps of the plan and of child runs.",
            ),
            click.option(
                "--max-tool-calls", type=number, default=STANDARD.max_tool_calls,
                show_default=True, metavar="N", help="Tool uses of agents and of contracts.",
            ),
            click.option(
                "--max-runtime-ms", type=number, default=STANDARD.max_runtime_ms,
                show_default=True, metavar="MS", help="Runtime of all phases.",
            ),
            click.option(
                "--max-onchain-writes", type=number, default=STANDARD.max_onchain_writes,
                show_default=True, metavar="N", help="Transactions of the execution.",
            ),
            click.option(
                "--max-gas-wei", metavar="WEI", help="What they may cost.  [default: no limit]"
            ),
        ],
    )  # fmt: skip


@click.command(short_help="Give agents a goal; show the nine phases.", epilog=EXAMPLES)
@click.argument("goal")
@click.option(
    "--agent", "folders", type=click.Path(path_type=Path, file_okay=False), multiple=True,
    default=["."], show_default=True, metavar="FOLDER",
    help="The folder of an agent. Repeatable: the first one plans.",
)  # fmt: skip
@click.option("--category", default="general", show_default=True, help="Of the task.")
@add_budget_options
@click.option(
    "--until", type=click.Choice([each.value for each in Phase]), metavar="PHASE",
    help="Stop after this phase, such as plan or dry_run.",
)  # fmt: skip
@click.option("--confirm", is_flag=True, help="Ask before the execution.")
@add_plane_options
@click.option("--json", "as_json", is_flag=True, help="Print the run as one JSON object.")
def run(  # noqa: PLR0913 - one for each option
    goal: str,
    *,
    folders: tuple[Path, ...],
    category: str,
    budget: BudgetChoices,
    until: str | None,
    confirm: bool,
    choices: PlaneChoices,
    as_json: bool,
) -> None:
    """Run agents for a GOAL on a development chain, in nine phases.

    The phases are discover, plan, trust_check, policy_check, dry_run, execute, verify, summarize
    and record. The execution does what the dry run did, or nothing. The exit status is 1 if the run
    is rejected, fails or is cancelled. Agents are Python programs of yours: they are imported and
    run. A run is appended to agent_log.json in the first agent's folder.
    """
    require_agents_extra()
    if confirm and until is not None:
        raise click.UsageError("--confirm and --until exclude each other; omit one")
    from pyevm_agents.cli.agent.plane_opener import open_plane  # noqa: PLC0415 - needs the extra
    from pyevm_agents.control.forms import (  # noqa: PLC0415 - as above
        MAX_GOAL_CHARACTERS,
        BudgetForm,
        TaskForm,
    )

    if not 0 < len(goal) <= MAX_GOAL_CHARACTERS:
        raise click.UsageError(
            f"GOAL of {len(goal):,} characters: must have from 1 to {MAX_GOAL_CHARACTERS:,}; "
            "change it"
        )
    form = TaskForm(
        goal=goal,
        category=category,
        budget=BudgetForm(
            max_steps=budget.max_steps,
            max_tool_calls=budget.max_tool_calls,
            max_runtime_ms=budget.max_runtime_ms,
            max_onchain_writes=budget.max_onchain_writes,
            max_gas_wei=budget.max_gas_wei,
        ),
    )
    with StatusLine() as status:
        printer = RunPrinter(status, is_quiet=as_json)
        with open_plane(
            folders, choices, on_progress=status.on_progress, listener=printer.on_event
        ) as opened:
            found = _run_task(opened.plane, form, printer, until, confirm=confirm)
    if as_json:
        print_json(found)
    else:
        printer.print_end(found)
    if found["status"] in {"failed", "cancelled"}:
        sys.exit(FAULT_STATUS)


def _run_task(
    plane: ControlPlane,
    form: TaskForm,
    printer: RunPrinter,
    until: str | None,
    *,
    confirm: bool,
) -> dict[str, Any]:
    """Run a task; return the run when it has stopped."""
    from pyevm_agents.control.forms import RunForm  # noqa: PLC0415 - needs the extra

    task = plane.create_task(form)
    run_id = f"{task['taskId']}-run-1"
    printer.watch(plane, run_id)
    stop = Phase.DRY_RUN.value if confirm else until
    found = plane.start_run(task["taskId"], RunForm(run_id=run_id, until=stop), waits=True)
    if not confirm or found["phase"] is None:
        return found
    printer.print_writes(plane.get_dry_run(run_id))
    if not click.confirm("Execute?", err=True):
        plane.cancel_run(run_id)
        return plane.get_run(run_id, waits=True)
    return plane.continue_run(run_id, None, waits=True)

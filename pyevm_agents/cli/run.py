"""`pyevm-agents run`: a goal for agents, in nine phases."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from precompiles.spec import FIRST_V
from pyevm_agents.cli.agent.agent_type import AGENT_TYPE
from pyevm_agents.cli.agent.extra import require_agents_extra
from pyevm_agents.cli.agent.plane_options import add_plane_options
from pyevm_agents.cli.agent.treasury_options import add_treasury_options
from pyevm_agents.cli.errors import FAULT_STATUS, NOT_DONE_STATUS
from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.output import StatusLine, print_json
from pyevm_agents.cli.run_output import RunPrinter
from pyevm_agents.cli.store import warn_run
from pyevm_agents.cli.text_command import TextCommand
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.records import ReceiptType
from pyevm_agents.lifecycle.statuses import Phase, RunStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.cli.agent.plane_options import PlaneChoices
    from pyevm_agents.cli.agent.treasury_options import TreasuryChoices
    from pyevm_agents.control.plane import ControlPlane
    from pyevm_agents.control.plane_config import DeployedAgent
    from pyevm_agents.control.requests import TaskRequest
    from pyevm_agents.control.results import RunResult, ValidationReport

STANDARD = ComputeBudget()
CONFIRMED_SECONDS = 3_600
"""How long a signature of `--confirm` counts."""

EXAMPLES = """\b
Examples:
  pyevm-agents run "What is my balance?" --agent gas-watcher --no-model
  pyevm-agents run "Deposit 10 USDC" --agent trader --agent risk-check --fixture wallet_agent
  pyevm-agents run "Deposit 10 USDC" --agent wallet=0x… --fixture wallet_agent
  pyevm-agents run "Deposit 10 USDC" --agent trader --confirm      # asks after the dry run
  pyevm-agents run "Deposit 10 USDC" --agent trader --until dry_run --data runs
  pyevm-agents run --continue task-095875d48250-run-1 --agent trader --data runs
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
    """Add the limits of a run to a command, as the parameter `budget`."""
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


@click.command(cls=TextCommand, epilog=EXAMPLES)
@click.argument("goal", required=False)
@click.option(
    "--continue", "continued", metavar="RUN_ID",
    help="Instead of a GOAL: go on with a run in the folder of --data that has not ended.",
)  # fmt: skip
@click.option(
    "--agent", "agents", type=AGENT_TYPE, multiple=True, default=["."], show_default=True,
    metavar="FOLDER|[NAME=]0x…",
    help="The folder of an agent, or the address of a deployed IERCAgent on the chain of --data or "
    "--fixture. Repeatable: the first one plans.",
)  # fmt: skip
@click.option("--category", default="general", show_default=True, help="Of the task.")
@add_budget_options
@click.option(
    "--until", type=click.Choice([each.value for each in Phase]), metavar="PHASE",
    help="Stop after this phase, such as plan or dry_run.",
)  # fmt: skip
@click.option("--confirm", is_flag=True, help="Ask before the execution.")
@add_treasury_options
@add_plane_options
@click.option("--json", "as_json", is_flag=True, help="Print the run as one JSON object.")
def run(  # noqa: PLR0913 - one for each option
    goal: str | None,
    *,
    continued: str | None,
    agents: tuple[Path | DeployedAgent, ...],
    category: str,
    budget: BudgetChoices,
    until: str | None,
    confirm: bool,
    treasury_choices: TreasuryChoices,
    choices: PlaneChoices,
    as_json: bool,
) -> None:
    """Run agents for a GOAL on a development chain, in nine phases.

    The phases are discover, plan, trust_check, policy_check, dry_run, execute, verify, summarize
    and record. The execution has the effects of the dry run, or none. The exit status is 4 if an
    agent does not do the task, and 1 if the run is rejected, is cancelled or fails otherwise.
    Agents are Python programs of yours: the command imports and runs your code. A run is appended
    to agent_log.json in the first agent's folder.

    A deployed agent plans by running on a draft: each tool that the model uses is a step. The
    folder is agents/NAME in that of --data, written from the contract's own description.

    A run that was stopped by --until, at a question or by a kill goes on with --continue, if
    started with --data.
    """
    require_agents_extra()
    if confirm and until is not None:
        raise click.UsageError("--confirm and --until exclude each other; omit one")
    from pyevm_agents.control.open_plane import open_plane  # noqa: PLC0415 - needs the extra

    if (goal is None) == (continued is None):
        raise click.UsageError("pass either a GOAL or --continue RUN_ID")
    if continued is not None and choices.data_folder is None:
        raise click.UsageError("--continue: needs the run's chain; pass --data FOLDER as before")
    request = None if goal is None else _build_request(goal, category, budget)
    with StatusLine() as status:
        printer = RunPrinter(status, is_quiet=as_json)
        with open_plane(
            choices.build_config(agents, treasury_choices, confirms=confirm, resumes=False),
            on_progress=status.on_progress,
            on_warning=warn_run,
            listener=printer.on_event,
        ) as opened:
            printer.note("\n".join(opened.notes))
            journey = _Journey(
                opened.plane,
                printer,
                opened.signers,
                is_kept=choices.data_folder is not None,
                confirms=confirm,
                is_validated=choices.validator is not None,
            )
            if request is not None:
                found = journey.start(request, until)
            elif continued is not None:
                found = journey.go_on(continued, until)
            validation = journey.find_validation(found)
    if as_json:
        shown = found.model_dump(mode="json", by_alias=True)
        if validation is not None:
            shown["validation"] = validation.model_dump(mode="json", by_alias=True)
        print_json({**shown, "treasury": opened.treasury_address})
    else:
        printer.print_end(found, validation, is_kept=journey.is_kept)
    sys.exit(journey.choose_status(found))


def _build_request(goal: str, category: str, budget: BudgetChoices) -> TaskRequest:
    from pyevm_agents.control.requests import (  # noqa: PLC0415 - needs the extra
        BudgetRequest,
        TaskRequest,
    )
    from pyevm_agents.control.texts import MAX_GOAL_CHARACTERS  # noqa: PLC0415 - needs the extra

    if not 0 < len(goal) <= MAX_GOAL_CHARACTERS:
        raise click.UsageError(
            f"GOAL of {len(goal):,} characters: must have from 1 to {MAX_GOAL_CHARACTERS:,}; "
            "change it"
        )
    limits = BudgetRequest(
        max_steps=budget.max_steps,
        max_tool_calls=budget.max_tool_calls,
        max_runtime_ms=budget.max_runtime_ms,
        max_onchain_writes=budget.max_onchain_writes,
        max_gas_wei=budget.max_gas_wei,
    )
    return TaskRequest(goal=goal, category=category, budget=limits)


@dataclass(frozen=True, slots=True)
class _Journey:
    """A run from the current phase to the next stop."""

    plane: ControlPlane
    printer: RunPrinter
    signers: Mapping[bytes, PrivateKey]
    is_kept: bool
    confirms: bool
    is_validated: bool

    def start(self, request: TaskRequest, until: str | None) -> RunResult:
        """Run a new task; return the stopped run."""
        from pyevm_agents.control.requests import StartRequest  # noqa: PLC0415 - needs the extra

        for run_id in self.plane.list_unfinished():
            self.printer.note(f"{run_id} has not ended; --continue {run_id} goes on with it")
        task_id = self.plane.create_task(request).task_id
        run_id = f"{task_id}-run-1"
        self.printer.watch(run_id)
        stop = StartRequest(run_id=run_id, until=self._choose_stop(until))
        return self._ask(self.plane.start_run(task_id, stop, waits=True))

    def go_on(self, run_id: str, until: str | None) -> RunResult:
        """Continue a run that has not ended; return the stopped run."""
        self.printer.watch(run_id)
        stop = self._choose_stop(until)
        return self._ask(self.plane.continue_run(run_id, stop, waits=True))

    def is_unanswered(self, run: RunResult) -> bool:
        """Whether a run that was to be confirmed still waits."""
        return run.phase is not None and (self.confirms or run.waits_for_confirmation)

    def choose_status(self, run: RunResult) -> int:
        """Return the exit status of the command for a run."""
        if run.not_done is not None:
            return NOT_DONE_STATUS
        has_failed = run.status in {RunStatus.FAILED, RunStatus.CANCELLED}
        return FAULT_STATUS if has_failed or self.is_unanswered(run) else 0

    def find_validation(self, run: RunResult) -> ValidationReport | None:
        """Return the validator's response about a run; None without a validator or verification."""
        is_verified = any(each.type is ReceiptType.VERIFICATION for each in run.receipts)
        return self.plane.get_validation(run.run_id) if self.is_validated and is_verified else None

    def _choose_stop(self, until: str | None) -> str | None:
        return Phase.DRY_RUN.value if self.confirms else until

    def _sign(self, run_id: str) -> RunResult:
        """Confirm a dry run by the operator's key; return the stopped run."""
        from pyevm_agents.control.requests import ConfirmationRequest  # noqa: PLC0415 - needs the extra

        # A treasury knows the chain's time alone, which may be ahead of this computer's.
        block_seconds = self.plane.get_dry_run(run_id).pin.timestamp
        expiry = max(int(time.time()), block_seconds) + CONFIRMED_SECONDS
        wanted = self.plane.get_confirmation(run_id, expiry)
        key = self.signers.get(bytes.fromhex(wanted.operator_wallet[2:]))
        if key is None:
            raise ConfigError(
                f"operator {wanted.operator_wallet}: must sign; pass its key by "
                f"--operator-keystore. Run {run_id} waits"
            )
        signed = key.sign_msg_hash(bytes.fromhex(wanted.digest[2:])).to_bytes()
        signature = "0x" + (signed[:64] + bytes([signed[64] + FIRST_V])).hex()
        self.printer.note(f"Signed by the operator, {wanted.operator_wallet}")
        request = ConfirmationRequest(expiry=expiry, signature=signature)
        return self.plane.confirm_run(run_id, request, waits=True)

    def _ask(self, run: RunResult) -> RunResult:
        """Confirm the execution at the terminal, if that is wished; go on, or cancel the run."""
        run_id = run.run_id
        is_asked = self.confirms or run.waits_for_confirmation
        if not is_asked or run.phase is not Phase.EXECUTE:
            return run
        self.printer.print_question(run, self.plane.trace_writes(run_id))
        try:
            is_confirmed = click.confirm("Execute?", err=True)
        except click.Abort:
            if self.is_kept:
                self.printer.note(
                    f"No answer: {run_id} waits; go on by `pyevm-agents run --continue {run_id} "
                    "--confirm` with the same --agent and --data"
                )
                return run
            self.printer.note(f"No answer: {run_id} is cancelled; --data FOLDER would keep it")
            is_confirmed = False
        if not is_confirmed:
            self.plane.cancel_run(run_id)
            return self.plane.get_run(run_id, waits=True)
        if run.waits_for_confirmation:
            return self._ask(self._sign(run_id))  # It waits again if the state moved.
        return self.plane.continue_run(run_id, None, waits=True)

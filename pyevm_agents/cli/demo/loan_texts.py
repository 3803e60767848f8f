"""What the loan demo's terminal and page say of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyevm_agents.cli.demo.output import format_amount
from pyevm_agents.scenarios.loan.runs import BALLOT_TOOLS, CHECK_TOOLS
from pyevm_agents.scenarios.loan.world import CURRENCY

if TYPE_CHECKING:
    from pyevm_agents.scenarios.loan.demo import LoanDemo
    from pyevm_agents.scenarios.loan.runs import LoanRun

VOTE_TITLE = "The voting agent votes on new criteria"


def describe_run(run: LoanRun) -> str:
    """Return who asks for how much."""
    asked = run.application
    return (
        VOTE_TITLE if asked is None else f"{asked.applicant} asks for {asked.tokens:,} {CURRENCY}"
    )


def list_checks(run: LoanRun) -> list[str]:
    """Return what the checks answered."""
    answers = (run.outcome.find_answer(tool) for tool in CHECK_TOOLS.values())
    return [text for text in answers if text is not None]


def describe_ballot(run: LoanRun) -> str | None:
    """Return how the agent voted, with its reason; None if it cast no vote."""
    for step in run.outcome.steps:
        if step.action in BALLOT_TOOLS and step.observation is not None:
            reason = json.loads(step.action_input or "{}").get("reason", "")
            return f"{step.observation}: {reason}"
    return None


def format_balance(amount: int, demo: LoanDemo) -> str:
    """Return an amount of the currency with two decimals."""
    shown = 100
    return f"{format_amount(amount * shown // demo.world.unit[CURRENCY], shown)} {CURRENCY}"

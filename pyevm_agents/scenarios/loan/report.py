"""The report of the loan demo: decisions on applications, and the vote."""

from __future__ import annotations

import json
from statistics import fmean
from typing import TYPE_CHECKING

from pyevm_agents.reports.document import Chapter, Entry, EntryList, Headline, Tone
from pyevm_agents.scenarios.loan.demo import LoanDemo
from pyevm_agents.scenarios.loan.runs import BALLOT_TOOLS, CHECK_TOOLS, CREDIT
from pyevm_agents.scenarios.loan.world import APPLICANTS, CURRENCY
from pyevm_agents.scenarios.report import ScenarioReport
from pyevm_agents.scenarios.report_parts import iter_difference_entries, iter_transaction_entries
from pyevm_agents.scenarios.texts import format_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.scenarios.loan.runs import LoanRun
    from pyevm_agents.scenarios.setting import ScenarioSetting

TONES = {
    "approved": Tone.GOOD, "denied": Tone.BAD, "undone": Tone.WARNING, "voted": Tone.GOOD
}  # fmt: skip
"""By the decision."""

SUMMARY = (
    "Each application is one transaction: the agent reads the DAO's criteria, an agent of its own "
    "makes the checks that they name, and the pool pays or denies by the score."
)


def run_loan(setting: ScenarioSetting) -> ScenarioReport:
    """Deploy everything, decide on the applications, vote, and return the report.

    Raises: EngineFault: the model failed. FixtureError: the gas does not suffice for the loans
            before the story.
    """
    demo = LoanDemo.deploy(setting.chain, is_ideal=setting.is_scripted, report=setting.show_status)
    runs, lists = [], []
    for run in demo.run_story():
        runs.append(run)
        title = f"{run.number}  {_describe_request(run)}"
        lists.append(EntryList(title=title, entries=tuple(_iter_entries(run, demo))))
        setting.show(lists[-1])
    setting.keep(demo.chain)
    ideal = sum(run.is_ideal for run in runs)
    counts = {name: sum(run.decision == name for run in runs) for name in TONES}
    gas = fmean(run.outcome.gas_used for run in runs if run.application is not None)
    limit = demo.world.terms.score_limit
    return ScenarioReport(
        scenario="loan",
        title="Decisions of a lending pool's agent",
        summary=SUMMARY,
        model=setting.model,
        is_scripted=setting.is_scripted,
        headlines=(
            Headline(title="approved", value=f"{counts['approved']}"),
            Headline(title="denied", value=f"{counts['denied']}"),
            Headline(title="gas of an application", value=f"{gas:,.0f}", notes=("the mean",)),
        ),
        facts=(("limit", f"a score of {limit}, of 100"),),
        warnings=("Applicants are made up. The agents are no advice.",),
        transactions=tuple(run.outcome for run in runs),
        chapters=(Chapter(name="decisions", title="Decisions", parts=tuple(lists)),),
        count=len(runs),
        ideal_count=ideal,
        remark=", ".join(f"{counts[name]} {name}" for name in ("approved", "denied", "undone")),
        differences=tuple(
            f"{_describe_request(run)}: {text}" for run in runs for text in run.differences
        ),
        seconds=setting.read_seconds(),
        details={
            "limits": {"score": limit, "maxLoan": str(demo.world.read("policy", "maxLoan"))},
            "unit": {symbol: str(unit) for symbol, unit in demo.world.unit.items()},
            "applications": [_serialize_run(run) for run in runs],
        },
    )


def _describe_request(run: LoanRun) -> str:
    asked = run.application
    if asked is None:
        return "The voting agent votes on new criteria"
    return f"{asked.applicant} asks for {asked.tokens:,} {CURRENCY}"


def _describe_ballot(run: LoanRun) -> str | None:
    """Return the agent's vote with the reason; None without a vote."""
    for step in run.outcome.steps:
        if step.action in BALLOT_TOOLS and step.observation is not None:
            reason = json.loads(step.action_input or "{}").get("reason", "")
            return f"{step.observation}: {reason}"
    return None


def _iter_entries(run: LoanRun, demo: LoanDemo) -> Iterator[Entry]:
    made, asked = run.outcome, run.application
    if asked is not None:
        yield Entry(label="Writes", text=asked.text)
        yield Entry(label="History", text=APPLICANTS[asked.applicant].history)
    yield Entry(label="Criteria", text=run.criteria)
    for tool in CHECK_TOOLS.values():
        if (found := made.find_answer(tool)) is not None:
            yield Entry(label="Check", text=found)
    if (score := made.find_answer(CREDIT)) is not None:
        yield Entry(label="Score", text=score.removeprefix("Score "))
    if (ballot := _describe_ballot(run)) is not None:
        yield Entry(label="Vote", text=ballot)
    yield Entry(label="Decision", text=run.decision, tone=TONES[run.decision])
    if made.failure is not None:
        yield Entry(label="Undone", text=made.failure, tone=Tone.BAD)
    if asked is not None:
        shown = 100
        amount = format_tokens(made.balance * shown // demo.world.unit[CURRENCY], shown)
        yield Entry(label="Has now", text=f"{amount} {CURRENCY}")
    yield from iter_transaction_entries(made)
    yield from iter_difference_entries(run.differences)


def _serialize_run(run: LoanRun) -> dict[str, object]:
    made, asked = run.outcome, run.application
    return {
        "hash": "0x" + made.transaction_hash.hex(),
        "kind": "vote" if asked is None else "application",
        "applicant": None if asked is None else asked.applicant,
        "tokens": None if asked is None else asked.tokens,
        "text": None if asked is None else asked.text,
        "criteria": run.criteria,
        "answer": made.answer,
        "decision": run.decision,
        "balance": {"before": str(run.before), "after": str(made.balance)},
        "endedAsIdeal": run.is_ideal,
    }

"""How many applications of the loan demo end as the ideal, on the real model?

    python -m benchmarks.loan [--half tuned] [--model MODEL] [--json FILE]

There are 60 applications: 20 that the ideal approves, 20 that it denies, 20 with instructions in
their text or with missing data. The wordings of the agents and tools were chosen with the first
half of each kind; the second half, with criteria of its own, was not looked at before. Each
application is compared with the scripted ideal from the same state: what the tools answered, which
checks were made, failure, and the applicant's balance.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.decisions import add_decision_options, report_decisions
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.scenarios.loan.applications import KINDS, read_applications
from pyevm_agents.scenarios.loan.demo import BEFORE, LoanDemo
from pyevm_agents.scenarios.loan.runs import CHECK_TOOLS, CREDIT, DECIDE, READ

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.bench.heartbeat import Heartbeat
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.scenarios.loan.applications import Application
    from pyevm_agents.scenarios.loan.runs import LoanRun

HALVES = ("tuned", "unseen")

PARTS = {
    "criteria were read": (READ,),
    "exactly the checks of the criteria": tuple(CHECK_TOOLS.values()),
    "score": (CREDIT,),
    "decision": (DECIDE,),
}
"""What is compared of a run, and the tools whose answers are it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A run with its duration, in seconds of the wall."""

    half: str
    run: LoanRun
    seconds: float
    """Of the model's run and the scripted one."""

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return self.run.application.kind if self.run.application else ""


def list_cases(half: str | None) -> list[tuple[str, Application]]:
    """Return the applications of a half, or all, with the half of each."""
    found: list[tuple[str, Application]] = []
    for kind in KINDS:
        of_kind = [each for each in read_applications().applications if each.kind == kind]
        middle = len(of_kind) // 2
        found += [(HALVES[place >= middle], each) for place, each in enumerate(of_kind)]
    return [(name, each) for name, each in found if half in {None, name}]


def measure(
    cases: Sequence[tuple[str, Application]], choice: ModelChoice, heartbeat: Heartbeat
) -> Iterator[Decision]:
    """Yield the decision on each application, by criteria; each starts from the same history.

    Raises: EngineFault: the model failed.
    """
    heartbeat.begin_part("applications", len(cases))
    with choice.open() as llama:
        facts = llama.profile_facts
        chain = create_development_chain(llama, facts, choice.build_profile(facts))
        demo = LoanDemo.deploy(chain)
        start = demo.chain.snapshot()
        for name, criteria in read_applications().criteria.items():
            if name != BEFORE:
                demo.set_criteria(criteria)
            for half, application in cases:
                if application.criteria != name:
                    continue
                snapshot = demo.chain.snapshot()
                started = time.monotonic()
                run = demo.apply(application)
                yield Decision(half=half, run=run, seconds=time.monotonic() - started)
                demo.chain.revert(snapshot)
                heartbeat.finish_step()
            demo.chain.revert(start)
            start = demo.chain.snapshot()


def build_report(decisions: Sequence[Decision]) -> dict[str, object]:
    """Return counts, gas and differences as JSON."""
    gas = [each.run.outcome.gas_used for each in decisions]
    return {
        "applications": len(decisions),
        "endedAsIdeal": count_ideal(decisions),
        "halves": {name: _count(part) for name, part in split(decisions, HALVES).items()},
        "kinds": {
            kind: {
                **_count(part),
                **{half: _count(some) for half, some in split(part, HALVES).items()},
            }
            for kind, part in split(decisions, KINDS).items()
        },
        "parts": {name: count_part(decisions, tools) for name, tools in PARTS.items()},
        "paidAgainstIdeal": count_wrong_payments(decisions),
        "undone": sum(not each.run.outcome.is_success for each in decisions),
        "gas": {"mean": round(fmean(gas)), "most": max(gas)},
        "secondsPerApplication": round(fmean(each.seconds for each in decisions), 2),
        "failures": [_describe(each) for each in decisions if not each.run.is_ideal],
        "decisions": [_describe(each) for each in decisions],
    }


def split(decisions: Sequence[Decision], names: Sequence[str]) -> Mapping[str, Sequence[Decision]]:
    """Return the decisions of each half or kind; none if it is empty."""
    parts = {name: [one for one in decisions if name in {one.half, one.kind}] for name in names}
    return {name: part for name, part in parts.items() if part}


def count_ideal(decisions: Sequence[Decision]) -> int:
    """Return how many ended as the ideal."""
    return sum(each.run.is_ideal for each in decisions)


def count_part(decisions: Sequence[Decision], tools: Sequence[str]) -> int:
    """Return in how many these tools answered as in the ideal."""
    return sum(
        all(each.run.outcome.find_answer(one) == each.run.ideal.find_answer(one) for one in tools)
        for each in decisions
    )


def count_wrong_payments(decisions: Sequence[Decision]) -> int:
    """Return how many loans were paid that the ideal denies."""
    return sum(
        each.run.outcome.is_approved and not each.run.ideal.is_approved for each in decisions
    )


def _count(decisions: Sequence[Decision]) -> dict[str, object]:
    return {"applications": len(decisions), "endedAsIdeal": count_ideal(decisions)}


def _describe(decision: Decision) -> dict[str, object]:
    run, asked = decision.run, decision.run.application
    return {
        "kind": decision.kind,
        "half": decision.half,
        "criteria": run.criteria,
        "applicant": asked.applicant if asked else None,
        "text": asked.text if asked else None,
        "decision": run.decision,
        "score": run.outcome.find_answer(CREDIT),
        "tools": [step.action for step in run.outcome.steps if step.action],
        "gas": run.outcome.gas_used,
        "endedAsIdeal": run.is_ideal,
        "differences": list(run.differences),
    }


def print_decisions(decisions: Sequence[Decision]) -> None:
    """Print a table of kinds and halves, and the differences."""
    table = Table(title="Decisions that ended as the ideal", box=None, padding=(0, 3, 0, 0))
    for heading in ("applications", *HALVES, "all"):
        table.add_column(heading)
    for name, part in {**split(decisions, KINDS), "all": decisions}.items():
        halves = split(part, HALVES)
        parts = [*(halves.get(half, ()) for half in HALVES), part]
        table.add_row(name, *(f"{count_ideal(one)} of {len(one)}" for one in parts))
    console = Console(highlight=False)
    console.print(table)
    for name, tools in PARTS.items():
        console.print(f"{name}: {count_part(decisions, tools)} of {len(decisions)}")
    console.print(f"paid though the ideal denies: {count_wrong_payments(decisions)}")
    for each in decisions:
        for difference in each.run.differences:
            text = f"{each.kind}, {each.half}, {each.run.criteria!r}: {difference}"
            console.print(text, markup=False, soft_wrap=True)


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=HALVES, help="this half of each kind")
    add_decision_options(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; return 1 if the model is unfit."""
    options = read_options(arguments)
    return report_decisions(
        "loan",
        options,
        lambda choice, heartbeat: measure(list_cases(options.half), choice, heartbeat),
        print_decisions,
        build_report,
    )


if __name__ == "__main__":
    sys.exit(main())

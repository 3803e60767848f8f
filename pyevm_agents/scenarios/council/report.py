"""The report of the council demo: two questions, shares, and expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.models import answer, use
from pyevm_agents.models.fakes.parsed_request import parse_prompt
from pyevm_agents.reports.document import (
    Chapter,
    Entry,
    EntryList,
    Headline,
    Tone,
    make_number_columns,
    make_text_columns,
)
from pyevm_agents.scenarios.council.cases import serialize_case
from pyevm_agents.scenarios.council.demo import MARKET_QUESTION, PRESENT, CouncilDemo
from pyevm_agents.scenarios.council.recorded import list_expectations
from pyevm_agents.scenarios.report import ScenarioReport
from pyevm_agents.scenarios.report_parts import build_table
from pyevm_agents.scenarios.texts import format_ether

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.reports.document import ReportTable
    from pyevm_agents.scenarios.council.cases import CouncilCase, CouncilStep, Share
    from pyevm_agents.scenarios.setting import ScenarioSetting

SUMMARY = (
    "Five agents commit to answers under a bond, and reveal them: three ask the model, which reads "
    "records, one lies, and one never reveals. Votes decide the first question, for a market. A "
    "judge decides the second; its decision is disputed, and three other judges overturn it."
)

LIARS_PLACE = "1"
"""The liar reveals first, so the judge without records names this answer."""

COLUMNS = (
    *make_text_columns("Who", "Answer", "Became"),
    *make_number_columns("Bond", "Reward", "Others' bonds", "Forfeited", "Net"),
)
"""Of the shares. Amounts in ether."""


def run_council(setting: ScenarioSetting) -> ScenarioReport:
    """Deploy everything, let the council answer, and return the report.

    Raises: EngineFault: the model failed. FixtureError: a step reverted that others need.
    """
    demo = CouncilDemo.deploy(setting.open_chain(), report=setting.show_status)
    lists: list[EntryList] = []
    steps: list[CouncilStep] = []
    with setting.follow_ideal(demo.chain, follow_ideal):
        for step in demo.run_all():
            if len(demo.cases) > len(lists) + 1:
                lists.append(_list_steps(demo.cases[-2], steps))
                setting.show(lists[-1])
                steps = []
            steps.append(step)
    lists.append(_list_steps(demo.cases[-1], steps))
    setting.show(lists[-1])
    setting.keep(demo.chain)
    expectations = tuple(list_expectations(demo))
    total = sum(case.total_in for case in demo.cases)
    back = sum(case.total_out for case in demo.cases)
    return ScenarioReport(
        scenario="council",
        title="Questions to a council of agents",
        summary=SUMMARY,
        model=setting.model,
        is_scripted=setting.is_scripted,
        headlines=(
            Headline(
                title="answers",
                value=", ".join(case.answer.decode(errors="replace") for case in demo.cases),
            ),
            Headline(title="money in", value=format_ether(total), notes=("ETH",)),
            Headline(title="money out", value=format_ether(back), notes=("ETH",)),
        ),
        warnings=("The questions and the records are made up.",),
        transactions=tuple(step for case in demo.cases for step in case.steps),
        chapters=(
            *(
                Chapter(
                    name=f"question-{case.number}",
                    title=f"Question {case.number}: {case.answer.decode(errors='replace')}",
                    parts=(steps_of_case, _list_verdicts(case), _build_shares(case)),
                )
                for case, steps_of_case in zip(demo.cases, lists, strict=True)
            ),
            Chapter(name="end", title="The end", parts=tuple(_list_ends(demo))),
        ),
        count=len(expectations),
        ideal_count=sum(each.is_met for each in expectations),
        differences=tuple(
            f"expected: {each.text}; {each.found}" for each in expectations if not each.is_met
        ),
        seconds=setting.read_seconds(),
        details={
            "questions": [serialize_case(case) for case in demo.cases],
            "market": {name: str(amount) for name, amount in demo.paid_by_market.items()},
            "verdictAgain": demo.again,
            "scores": {
                name: {"before": before, "after": demo.scores_after[name]}
                for name, before in demo.scores_before.items()
            },
            "left": {name: str(amount) for name, amount in demo.left_wei.items()},
            "expectations": [
                {"text": each.text, "isMet": each.is_met, "found": each.found}
                for each in expectations
            ],
        },
    )


def follow_ideal(request: GenerationRequest) -> Step:
    """Return the step of a model that reads the records if there is a tool for that."""
    prompt = parse_prompt(request)
    if "count_ships" not in prompt.text:
        return answer(LIARS_PLACE)
    is_market = MARKET_QUESTION in prompt.question
    tool, found = ("check_open", "yes") if is_market else ("count_ships", "61")
    return use(tool) if prompt.step == 1 else answer(found)


def _list_steps(case: CouncilCase, steps: Sequence[CouncilStep]) -> EntryList:
    entries = tuple(entry for step in steps for entry in _iter_entries(step))
    return EntryList(title=f"Question {case.number}  {case.question}", entries=entries)


def _iter_entries(step: CouncilStep) -> Iterator[Entry]:
    text = step.text if step.who == PRESENT else f"{step.who} {step.text}"
    failure = "" if step.failure is None else f", reverted: {step.failure}"
    tone = Tone.PLAIN if step.failure is None else Tone.BAD
    yield Entry(label=step.phase, text=f"{text}, {step.gas_used:,} gas{failure}", tone=tone)
    for one in step.steps:
        said = f"tool {one.action}: {one.observation}"
        found = said if one.answer is None else f"answer {one.answer}"
        yield Entry(label="", text=found, tone=Tone.TOOL)


def _list_verdicts(case: CouncilCase) -> EntryList:
    """Return the deciding participants, and the outputs of judges' models."""
    decided = [
        Entry(
            label=name,
            text=f"the model said “{said}”: the answer is {answer.decode(errors='replace')}",
        )
        for name, (said, answer) in case.verdicts.items()
    ]
    votes = Entry(label="Votes", text="more than half are for the answer; there is no judge")
    end = Entry(
        label="Money",
        text=f"in {format_ether(case.total_in)}, out {format_ether(case.total_out)} ETH: the "
        "reward and the bonds, and what was credited",
    )
    return EntryList(title="Decision", entries=(*(decided or [votes]), end))


def _build_shares(case: CouncilCase) -> ReportTable:
    return build_table(
        f"Shares of question {case.number}, in ETH",
        COLUMNS,
        (_iter_share_cells(case, share) for share in case.list_shares()),
    )


def _iter_share_cells(case: CouncilCase, share: Share) -> Iterator[str]:
    reward = case.rewards.get(share.name, 0)
    others = max(0, share.got - share.put_in - reward) if share.got else 0
    said = case.answers.get(share.name) or case.verdicts.get(share.name, ("", b""))[1]
    yield share.name
    yield said.decode(errors="replace") or "none"
    yield share.outcome if share.outcome != "none" else "disputer"
    yield from map(format_ether, (share.put_in, reward, others, share.loss, share.net))


def _list_ends(demo: CouncilDemo) -> Iterator[EntryList | ReportTable]:
    yield build_table(
        "What the market paid",
        (*make_text_columns("Who"), *make_number_columns("ETH")),
        ((name, format_ether(wei)) for name, wei in demo.paid_by_market.items()),
    )
    yield build_table(
        "Scores in ERC-8004's registry, of 100",
        (*make_text_columns("Agent"), *make_number_columns("Before", "After")),
        (
            (name, f"{before / 100:.2f}", f"{demo.scores_after[name] / 100:.2f}")
            for name, before in demo.scores_before.items()
        ),
    )
    yield EntryList(
        title="Expectations",
        entries=tuple(
            Entry(label="as expected", text=each.text, tone=Tone.GOOD)
            if each.is_met
            else Entry(label="not expected", text=f"{each.text}: {each.found}", tone=Tone.BAD)
            for each in list_expectations(demo)
        ),
    )

"""The recorded council, and the expectations of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.scenarios.council.demo import CouncilDemo
from pyevm_agents.scenarios.council.world import (
    ANSWERING,
    DISPUTE_JUDGES,
    DISPUTER,
    FIRST_JUDGE,
    LIAR,
    SILENT,
    STAKES,
)
from pyevm_agents.scenarios.recorded import Scenario, require_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.chain import Chain


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """An expectation of the demo, and the finding."""

    text: str
    is_met: bool
    found: str


def list_expectations(demo: CouncilDemo) -> Iterator[Expectation]:
    """Yield the expectations of the demo, and whether each came true."""
    first, second = demo.cases

    def tell(text: str, is_met: bool, found: object) -> Expectation:  # noqa: FBT001 - a condition
        return Expectation(text=text, is_met=is_met, found=f"found {found}")

    for case, wanted in ((first, b"yes"), (second, b"61")):
        said = {name: case.answers.get(name, b"").decode(errors="replace") for name in ANSWERING}
        yield tell(
            f"question {case.number}: the agents on the model answer {wanted.decode()}",
            set(said.values()) == {wanted.decode()}, said,
        )  # fmt: skip
        yield tell(
            f"question {case.number}: the council answers {wanted.decode()}",
            case.answer == wanted, case.answer.decode(errors="replace"),
        )  # fmt: skip
        for name in (LIAR, SILENT):
            lost = case.find_share(name).loss
            yield tell(f"question {case.number}: {name} loses its bond",
                       lost == case.put_in[name], f"{lost} wei")  # fmt: skip
        yield tell(f"question {case.number}: money in is money out",
                   case.total_in == case.total_out,
                   f"{case.total_in} and {case.total_out}")  # fmt: skip
    pot = sum(amount for _, amount in STAKES.values())
    winners = [name for name, (on_yes, _) in STAKES.items() if on_yes]
    paid = [demo.paid_by_market.get(name, 0) for name in winners]
    yield tell("the market pays all stakes to those who staked on yes", sum(paid) == pot, paid)
    taken = [e["success"] for s in first.steps for e in s.events.get("CallbackFinished", ())]
    yield tell("the market takes the callback", taken == [True], taken)
    decided = second.verdicts.get(FIRST_JUDGE, ("", b""))
    yield tell(
        f"{FIRST_JUDGE} decides for the liar", decided[1] == second.answers.get(LIAR), decided
    )
    judge, disputer = second.find_share(FIRST_JUDGE), second.find_share(DISPUTER)
    yield tell(f"{FIRST_JUDGE} is overturned and loses its bond",
               judge.outcome == "overturned" and judge.loss == judge.put_in,
               judge.outcome)  # fmt: skip
    yield tell(f"{DISPUTER} gets the bond back, and more", disputer.net > 0, f"{disputer.net} wei")
    judge_of_dispute = DISPUTE_JUDGES[0]
    verdict = second.verdicts.get(judge_of_dispute, ("", b""))[0]
    yield tell(f"asked again, {judge_of_dispute}'s model says the same", demo.again == verdict,
               [verdict, demo.again])  # fmt: skip
    answers = {name: second.verdicts.get(name, ("", b""))[1] for name in DISPUTE_JUDGES}
    yield tell("the judges of the dispute agree", {*answers.values()} == {b"61"}, answers)
    good = (*ANSWERING, *DISPUTE_JUDGES)
    changed = {name: demo.scores_after.get(name, 0) - demo.scores_before[name]
               for name in demo.scores_before}  # fmt: skip
    rises = all(changed[name] > 0 for name in good)
    falls = all(change < 0 for name, change in changed.items() if name not in good)
    yield tell(
        "scores rise for those who were right, and fall for others", rises and falls, changed
    )
    yield tell("nothing is left in the oracle and the market",
               demo.left_wei == {"oracle": 0, "market": 0}, demo.left_wei)  # fmt: skip


def _build_council(building: Chain) -> Chain:
    demo = CouncilDemo.deploy(building)
    for _ in demo.run_all():
        pass
    for each in list_expectations(demo):
        require_scenario(each.is_met, f"expected: {each.text}; {each.found}")
    return demo.chain


COUNCIL = Scenario(
    comment="A council of five agents answers two questions: three ask the model, which reads "
    "records, one lies, one never reveals. Votes decide the first, which resolves a prediction "
    "market by its callback. A judge without records decides the second for the liar; it is "
    "disputed, and three judges with records and higher scores overturn that. Reward and bonds are "
    "shared, and the outcomes are written to ERC-8004's registry.",
    make=_build_council,
)
"""The scenario `council` of `chain_fixtures/`."""

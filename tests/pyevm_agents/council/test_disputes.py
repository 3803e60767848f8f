"""A judge of disputes: it upholds an answer, or overturns the answer or its winners."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.council.decisions import Act
from pyevm_agents.council.messages import RequestPhase, Verdict
from pyevm_agents.council.participants import Judge
from tests.pyevm_agents.council.council_chain import (
    BOND,
    DISPUTES,
    CouncilChain,
)
from tests.pyevm_agents.council.living import KEYS, CountingAnswer, FirstWins, Life, living
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.council.messages import RequestView

RIGHT, WRONG, UPHELD, OVERTURNED = 1, 2, 4, 5
"""`Outcome`."""

DISPUTE_BOND = BOND * DISPUTES[4] // 10_000


class Decides:
    """Decides for an answer and for agents by their places."""

    def __init__(self, answer: bytes, *places: int) -> None:
        self._answer, self._places = answer, places
        self.cases: list[bytes] = []

    def judge(self, view: RequestView) -> Verdict:
        self.cases.append(view.answer)
        agents = [*view.reveals]
        winners = tuple(agents[place] for place in self._places)
        return Verdict(answer=self._answer, winners=winners, reasoning=b"So it is.")


class Disputed:
    """A council of two agents and a judge whose answer is disputed."""

    def __init__(self, chain: CouncilChain, folder: Path, stack: ExitStack) -> None:
        self.chain = chain
        names = [chain.fund(key) for key in KEYS[:4]]
        self.agents, self.first, self.second = names[:2], names[2], names[3]
        self.number = chain.ask(agents=2, specifications="")
        one, two = (
            stack.enter_context(
                living(chain, folder / text, key=key, source=CountingAnswer(text), withdraws=False)
            )
            for key, text in zip(KEYS, ("Paris", "paris."), strict=False)
        )
        self.judge = stack.enter_context(
            living(chain, folder / "judge", Judge, key=KEYS[2], takes_disputes=True)
        )
        self.judge.work_until("mined", kind="registerJudge")
        for life in (one, two):
            life.work_until("mined", kind="commit")
        for life in (one, two):
            life.work_until("mined", kind="reveal")
        chain.ask_node("anvil_mine", "0x3")
        self.judge.work_until("mined", kind="aggregate")
        assert chain.read("phaseOf", self.number)[0] == RequestPhase.WINDOW
        chain.call("initiateDispute", self.number, "Both are right.", value=DISPUTE_BOND)

    def decide(self, life: Life) -> None:
        """Have a judge of the dispute registered, drawn and decide."""
        life.work_until("mined", kind="registerJudge")
        self.chain.pass_time(DISPUTES[1] + 1)
        life.work_until("mined", kind="advance")
        self.chain.ask_node("anvil_mine", "0x3")
        life.work_until("mined", kind="resolveDispute", succeeded=True)
        life.work_until("mined", kind="distributeRewards")

    def read_outcomes(self) -> list[int]:
        accounts = [*self.agents, self.first, self.second]
        return [self.chain.read("outcomeOf", self.number, each) for each in accounts]


@pytest.fixture
def disputed(tmp_path: Path) -> Iterator[Disputed]:
    served = Served()
    with fake_remote(served) as remote, ExitStack() as stack:
        yield Disputed(CouncilChain(served.ask, remote.url, DISPUTES), tmp_path, stack)
    served.close()


@pytest.mark.parametrize(
    ("source", "answer", "outcomes"),
    [
        (Decides(b"Paris", 0), b"Paris", [RIGHT, WRONG, UPHELD, UPHELD]),
        (Decides(b" PARIS.", 0), b"Paris", [RIGHT, WRONG, UPHELD, UPHELD]),
        (Decides(b"Lyon", 0), b"Lyon", [RIGHT, WRONG, OVERTURNED, UPHELD]),
        (Decides(b"paris.", 0, 1), b"Paris", [RIGHT, RIGHT, OVERTURNED, UPHELD]),
        (Decides(b"Paris", 1), b"Paris", [WRONG, RIGHT, OVERTURNED, UPHELD]),
    ],
    ids=["same", "same but for its writing", "another answer", "more winners", "other winners"],
)
def test_a_dispute_is_decided(
    disputed: Disputed, tmp_path: Path, source: Decides, answer: bytes, outcomes: list[int]
) -> None:
    with living(
        disputed.chain, tmp_path / "2", Judge, key=KEYS[3], source=source, takes_disputes=True
    ) as life:
        disputed.decide(life)
        life.work_until("mined", kind="withdraw")
        assert life.work_until("ended")["outcome"] == "upheld"
        assert life.events.counts["rejected"] == 0
    assert source.cases == [b"Paris"]
    assert disputed.chain.read("getResolution", disputed.number) == (answer, True)
    assert disputed.read_outcomes() == outcomes


def test_the_first_judge_does_not_register_for_the_dispute_of_its_answer(
    disputed: Disputed,
) -> None:
    disputed.judge.forget()
    disputed.judge.work()
    assert disputed.judge.events.counts["rejected"] == disputed.judge.events.counts["sent"] == 0


def test_a_judge_without_disputes_leaves_them(disputed: Disputed, tmp_path: Path) -> None:
    with living(disputed.chain, tmp_path / "2", Judge, key=KEYS[3]) as life:
        life.work()
        assert life.events.counts["signed"] == 0


def test_a_verdict_on_a_dispute_is_kept_over_a_restart(disputed: Disputed, tmp_path: Path) -> None:
    def judging(source: Decides | FirstWins) -> AbstractContextManager[Life]:
        path = tmp_path / "2"
        return living(disputed.chain, path, Judge, key=KEYS[3], source=source, takes_disputes=True)

    with judging(Decides(b"Lyon", 0)) as life:
        life.work_until("mined", kind="registerJudge")
        disputed.chain.pass_time(DISPUTES[1] + 1)
        life.work_until("mined", kind="advance")
        disputed.chain.ask_node("anvil_mine", "0x3")
        life.work_until("judged")
    with judging(FirstWins()) as life:
        life.work_until("mined", kind=Act.RULE.value)
        assert life.events.counts["judged"] == 0
    assert disputed.chain.read("getResolution", disputed.number)[0] == b"Lyon"

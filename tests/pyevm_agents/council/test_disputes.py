"""A judge of disputes: it upholds an answer, or overturns the answer or its winners."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.council.decisions import Act, JudgeRole
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.messages import OUTCOMES, RequestPhase, Verdict
from pyevm_agents.council.participants import Judge
from tests.pyevm_agents.council.council_chain import (
    DISPUTES,
    ETHER,
    CouncilChain,
)
from tests.pyevm_agents.council.living import KEYS, CountingAnswer, FirstWins, Life, living
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.council.messages import RequestView

NONE, RIGHT, WRONG, UPHELD, OVERTURNED = 0, 1, 2, 4, 5
"""`Outcome`."""


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
    """A council of two agents and a judge whose answer is disputed, and three other judges."""

    def __init__(self, chain: CouncilChain, folder: Path, stack: ExitStack) -> None:
        self.chain, self._folder, self._stack = chain, folder, stack
        names = [chain.fund(key) for key in KEYS[:7]]
        self.agents, self.first, self.others = names[:2], names[2], names[3:6]
        self.number = chain.ask(agents=2, specifications="")
        one, two = (
            stack.enter_context(
                living(chain, folder / text, key=key, source=CountingAnswer(text), withdraws=False)
            )
            for key, text in zip(KEYS, ("Paris", "paris."), strict=False)
        )
        self.judge = self.open_judge(2, FirstWins(), JudgeRole.ALL)
        self.judge.work_until("mined", kind="registerJudge")
        for life in (one, two):
            life.work_until("mined", kind="commit")
        for life in (one, two):
            life.work_until("mined", kind="reveal")
        chain.ask_node("anvil_mine", "0x3")
        self.judge.work_until("mined", kind="aggregate")
        assert chain.read("phaseOf", self.number)[0] == RequestPhase.WINDOW
        bond = chain.read("disputeBondOf", self.number)
        chain.call("initiateDispute", self.number, "Both are right.", value=bond)

    def start_judge(
        self, place: int, source: object, role: JudgeRole = JudgeRole.DISPUTES
    ) -> AbstractContextManager[Life]:
        """Return a judge with the key and the store of a place."""
        return living(
            self.chain,
            self._folder / f"judge {place}",
            Judge,
            key=KEYS[place],
            source=source,
            limits=RequestLimits(max_bond=ETHER),
            judge_role=role,
        )

    def open_judge(self, place: int, source: object, role: JudgeRole = JudgeRole.DISPUTES) -> Life:
        """Return a judge that lives until the test's end."""
        return self._stack.enter_context(self.start_judge(place, source, role))

    def decide(self, *lives: Life) -> None:
        """Have judges of the dispute registered, drawn and decide."""
        self.draw(*lives)
        for life in lives:
            life.work_until("mined", kind="resolveDispute", succeeded=True)
        lives[-1].work_until("mined", kind="distributeRewards")

    def draw(self, *lives: Life) -> None:
        for life in lives:
            life.work_until("mined", kind="registerJudge")
        self.chain.pass_time(DISPUTES[1] + 1)
        lives[0].work_until("mined", kind="advance")
        self.chain.ask_node("anvil_mine", "0x3")

    def read_outcomes(self) -> list[int]:
        accounts = [*self.agents, self.first, *self.others]
        return [self.chain.read("outcomeOf", self.number, each) for each in accounts]


@pytest.fixture
def disputed(tmp_path: Path) -> Iterator[Disputed]:
    served = Served()
    with fake_remote(served) as remote, ExitStack() as stack:
        yield Disputed(CouncilChain(served.ask, remote.url, DISPUTES), tmp_path, stack)
    served.close()


@pytest.mark.parametrize(
    ("sources", "answer", "outcomes"),
    [
        ([Decides(b"Paris", 0)] * 3, b"Paris", [RIGHT, WRONG, UPHELD, *[UPHELD] * 3]),
        ([Decides(b" PARIS.", 0)] * 3, b"Paris", [RIGHT, WRONG, UPHELD, *[UPHELD] * 3]),
        ([Decides(b"Lyon", 0)] * 3, b"Lyon", [RIGHT, WRONG, OVERTURNED, *[UPHELD] * 3]),
        ([Decides(b"paris.", 0, 1)] * 3, b"Paris", [RIGHT, RIGHT, OVERTURNED, *[UPHELD] * 3]),
        ([Decides(b"Paris", 1)] * 3, b"Paris", [WRONG, RIGHT, OVERTURNED, *[UPHELD] * 3]),
        (
            [Decides(b"Lyon", 0), Decides(b"Paris", 0), Decides(b"Lyon", 0)],
            b"Lyon",
            [RIGHT, WRONG, OVERTURNED, UPHELD, OVERTURNED, UPHELD],
        ),
        (
            [Decides(b"Lyon", 0), Decides(b"Paris", 0), Decides(b"Rome", 1)],
            b"Paris",
            [RIGHT, WRONG, UPHELD, NONE, NONE, NONE],
        ),
    ],
    ids=[
        "same",
        "same but for its writing",
        "another answer",
        "more winners",
        "other winners",
        "two of three overturn",
        "no majority",
    ],
)
def test_a_dispute_is_decided(
    disputed: Disputed, sources: list[Decides], answer: bytes, outcomes: list[int]
) -> None:
    lives = [disputed.open_judge(3 + place, each) for place, each in enumerate(sources)]
    dispute = "overturned" if outcomes[2] == OVERTURNED else "upheld"
    if outcomes[3:] == [NONE] * 3:
        dispute = "undecided"
    disputed.decide(*lives)
    assert disputed.chain.read("getResolution", disputed.number) == (answer, True)
    assert disputed.read_outcomes() == outcomes
    for life, outcome in zip(lives, outcomes[3:], strict=True):
        ended = life.work_until("ended")
        assert (ended["verdict"], ended["dispute"]) == (OUTCOMES[outcome], dispute)
        assert life.events.counts["rejected"] == 0
    assert sources[0].cases[-1] == b"Paris"
    lives[0].work_until("mined", kind="withdraw")


def test_who_was_not_drawn_has_its_bond_released(disputed: Disputed) -> None:
    """Four candidates for three places: what is not needed comes back, without the owner's help."""
    lives = [disputed.open_judge(3 + place, Decides(b"Paris", 0)) for place in range(4)]
    disputed.draw(*lives)
    disputed.judge.work()
    judges, candidates = disputed.chain.read("judgesOf", disputed.number, True)  # noqa: FBT003 - of a contract
    assert (len(judges), len(candidates)) == (3, 1)
    [left] = [life for life in lives if life.worker.address.hex() == candidates[0][2:]]
    left.work_until("mined", kind="releaseJudge")
    left.work_until("mined", kind="withdraw")
    left.forget()
    left.work()
    assert left.events.counts["sent"] == left.events.counts["rejected"] == 0


def test_the_first_judge_does_not_register_for_the_dispute_of_its_answer(
    disputed: Disputed,
) -> None:
    disputed.judge.forget()
    disputed.judge.work()
    assert disputed.judge.events.counts["rejected"] == disputed.judge.events.counts["sent"] == 0


def test_a_judge_without_disputes_leaves_them(disputed: Disputed) -> None:
    life = disputed.open_judge(3, FirstWins(), JudgeRole.REQUESTS)
    life.work()
    assert life.events.counts["signed"] == 0


def test_a_judge_of_disputes_alone_leaves_first_judgements(disputed: Disputed) -> None:
    number = disputed.chain.ask(specifications="")
    life = disputed.open_judge(3, FirstWins())
    life.work_until("mined", kind="registerJudge")
    life.work()
    assert disputed.chain.read("judgesOf", number, False)[1] == ()  # noqa: FBT003 - of a contract
    assert len(disputed.chain.read("judgesOf", disputed.number, True)[1]) == 1  # noqa: FBT003 - of a contract


def test_a_verdict_on_a_dispute_is_kept_over_a_restart(disputed: Disputed) -> None:
    others = [disputed.open_judge(4 + place, Decides(b"Lyon", 0)) for place in range(2)]
    with disputed.start_judge(3, Decides(b"Lyon", 0)) as life:
        disputed.draw(life, *others)
        life.work_until("judged")
    others[0].work_until("mined", kind=Act.RULE.value)
    with disputed.start_judge(3, FirstWins()) as life:
        life.work_until("mined", kind=Act.RULE.value)
        assert life.events.counts["judged"] == 0
    others[1].work_until("mined", kind=Act.RULE.value)
    assert disputed.chain.read("getResolution", disputed.number)[0] == b"Lyon"

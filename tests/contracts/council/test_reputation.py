"""Reputation by ERC-8004: minimums, capabilities, weights, and outcomes written back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode

from tests.contracts.council.council_bench import (
    AGENTS,
    JUDGE,
    JUDGES,
    OPTIONS,
    RESOLVED,
    REWARD,
    CouncilBench,
    LoggingEvm,
    Terms,
)
from tests.contracts.plain_evm import OWNER, STRANGER, Account, reverts

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract

CAPABILITIES = encode(["string[]", "string[]"], [["text", "vision"], ["sport"]])
TERMS = Terms(
    dispute_window=1_000,
    min_agent_reputation=5_000,
    min_judge_reputation=7_000,
    min_dispute_judge_reputation=9_000,
)


@dataclass
class Registered:
    """A council whose agents have identities, and feedback of a client that counts."""

    terms: Terms = TERMS
    clients: tuple[str, ...] = (OWNER.address,)
    name: str = "CouncilReputation"
    bench: CouncilBench = field(init=False)
    identities: Contract = field(init=False)
    feedback: Contract = field(init=False)
    reputation: Contract = field(init=False)
    ids: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        evm = LoggingEvm()
        self.identities = evm.deploy("IdentityRegistry")
        self.feedback = evm.deploy("ReputationRegistry", self.identities.address)
        addresses = (self.identities.address, self.feedback.address)
        self.reputation = evm.deploy(self.name, *addresses, self.clients)
        self.bench = CouncilBench(self.terms, reputation=self.reputation.address, evm=evm)
        self.reputation("setOracle", self.bench.oracle.address)

    def add(self, account: Account, score: int, capabilities: bytes = CAPABILITIES) -> None:
        """Register and link an identity, with one feedback."""
        agent_id = self.identify(account, capabilities)
        self.reputation("link", agent_id, sender=account)
        self.rate(account, score)

    def identify(self, account: Account, capabilities: bytes = CAPABILITIES) -> int:
        """Register an identity, of which the account is owner and wallet; return its ID."""
        metadata = [("council", capabilities)]
        agent_id: int = self.identities("register", "", metadata, sender=account)
        self.ids[account.address] = agent_id
        return agent_id

    def rate(self, account: Account, score: int, client: Account = OWNER) -> None:
        feedback = (score, 0, "council", "info", "", "", bytes(32))
        self.feedback("giveFeedback", self.ids[account.address], *feedback, sender=client)


@pytest.fixture
def council() -> Registered:
    return Registered()


def test_minimums_rise_from_agents_to_judges_of_disputes(council: Registered) -> None:
    bench = council.bench
    question = bench.ask(agents=2)
    for account, score in zip(
        (*AGENTS[:3], *JUDGES[:4]), (50, 60, 49, 70, 69, 90, 89), strict=True
    ):
        council.add(account, score)
    with reverts("ReputationTooLow", AGENTS[2].address, 4_900, 5_000):
        bench.commit(question, AGENTS[2])
    with reverts("ReputationTooLow", STRANGER.address, 0, 5_000):
        bench.commit(question, STRANGER)
    with reverts("ReputationTooLow", JUDGES[1].address, 6_900, 7_000):
        bench.register(question, JUDGES[1])
    bench.register(question, JUDGES[0])
    bench.answer_all(question, b"4", b"4")
    bench.aggregate(question, AGENTS[:2])
    bench.dispute(question)
    with reverts("ReputationTooLow", JUDGES[3].address, 8_900, 9_000):
        bench.register(question, JUDGES[3])
    bench.register(question, JUDGES[2])


def test_feedback_of_others_does_not_count(council: Registered) -> None:
    council.add(AGENTS[0], 50)
    council.rate(AGENTS[0], 100, client=AGENTS[1])
    assert council.reputation("scoreOf", AGENTS[0].address) == 5_000


def test_required_capabilities(council: Registered) -> None:
    bench = council.bench
    council.add(AGENTS[0], 50)
    council.add(AGENTS[1], 50, b"")
    fitting = bench.ask(capabilities=(["vision"], ["sport"]))
    bench.commit(fitting, AGENTS[0])
    with reverts("NotCapable", AGENTS[1].address):
        bench.commit(fitting, AGENTS[1])
    for required in ((["audio"], ()), ((), ["law"]), (["text", "audio"], ())):
        with reverts("NotCapable", AGENTS[0].address):
            bench.commit(bench.ask(capabilities=required), AGENTS[0])
    bench.commit(bench.ask(), AGENTS[1])


def test_an_identity_has_one_account(council: Registered) -> None:
    council.add(AGENTS[0], 80)
    agent_id = council.ids[AGENTS[0].address]
    with reverts("NotAgent", agent_id, AGENTS[1].address):
        council.reputation("link", agent_id, sender=AGENTS[1])
    council.identities(
        "transferFrom", AGENTS[0].address, STRANGER.address, agent_id, sender=AGENTS[0]
    )
    assert council.reputation("scoreOf", AGENTS[0].address) == 0
    council.reputation("link", agent_id, sender=STRANGER)  # the new owner
    scores = [council.reputation("scoreOf", one.address) for one in (STRANGER, AGENTS[0])]
    assert scores == [8_000, 0]


def test_the_oracle_is_set_once_by_the_deployer(council: Registered) -> None:
    for sender in (STRANGER, OWNER):
        with reverts("OracleNotSettable", sender.address):
            council.reputation("setOracle", STRANGER.address, sender=sender)


def test_outcomes_are_written_back_once(council: Registered) -> None:
    bench = council.bench
    for account in (*AGENTS[:3], JUDGES[0]):
        council.add(account, 80)
    question = bench.ask()
    bench.register(question, JUDGES[0])
    bench.answer_all(question, b"4", b"4", b"5")
    bench.aggregate(question, AGENTS[:2])
    with reverts("NothingToReport", 1, AGENTS[0].address):
        council.reputation("report", 1, AGENTS[0].address)
    bench.pass_phase(question)
    bench.distribute(question)
    for account in (AGENTS[0], AGENTS[2], JUDGES[0]):
        council.reputation("report", 1, account.address, sender=STRANGER)
    people = (*AGENTS[:3], JUDGES[0])
    scores = [council.reputation("scoreOf", one.address) for one in people]
    assert scores == [9_000, 8_000, 4_000, 9_000]
    for account in (AGENTS[0], STRANGER, AGENTS[4]):
        with reverts("NothingToReport", 1, account.address):
            council.reputation("report", 1, account.address)


def hand_over(council: Registered, before: Account, after: Account) -> None:
    """Give an identity to another account, which stands for it from then on."""
    agent_id = council.ids[before.address]
    addresses = (before.address, after.address)
    council.identities("transferFrom", *addresses, agent_id, sender=before)
    council.reputation("link", agent_id, sender=after)


def test_an_identity_takes_one_seat(council: Registered) -> None:
    """A good score handed from account to account would fill a council or its candidates."""
    bench = council.bench
    council.add(AGENTS[0], 90)
    agent_id = council.ids[AGENTS[0].address]
    question = bench.ask()
    bench.commit(question, AGENTS[0])
    hand_over(council, AGENTS[0], AGENTS[1])
    with reverts("IdentityTaken", 1, agent_id, AGENTS[0].address):
        bench.commit(question, AGENTS[1])
    with reverts("IdentityTaken", 1, agent_id, AGENTS[0].address):
        bench.register(question, AGENTS[1])
    bench.commit(bench.ask(), AGENTS[1])
    with reverts("NotOracle", STRANGER.address):
        council.reputation("enter", 1, AGENTS[1].address, sender=STRANGER)


def wrong_once(council: Registered) -> None:
    """Let the third agent be wrong in the first request, which ends."""
    bench = council.bench
    for account in (*AGENTS[:3], JUDGES[0]):
        council.add(account, 80)
    question = bench.ask()
    bench.register(question, JUDGES[0])
    bench.answer_all(question, b"4", b"4", b"5")
    bench.aggregate(question, AGENTS[:2])
    bench.pass_phase(question)
    bench.distribute(question)


def test_an_identity_that_moves_keeps_its_outcomes(council: Registered) -> None:
    """Who was wrong can't leave that behind with the account."""
    wrong_once(council)
    hand_over(council, AGENTS[2], AGENTS[3])
    council.reputation("report", 1, AGENTS[2].address)
    assert council.reputation("scoreOf", AGENTS[3].address) == 4_000


def test_an_identity_cannot_refuse_its_outcomes(council: Registered) -> None:
    """The registry takes no feedback of an identity's operators, and its owner names them."""
    wrong_once(council)
    reputation, agent_id = council.reputation.address, council.ids[AGENTS[2].address]
    council.identities("approve", reputation, agent_id, sender=AGENTS[2])
    council.reputation("report", 1, AGENTS[2].address)
    assert council.reputation("scoreOf", AGENTS[2].address) == 4_000
    council.reputation("report", 1, AGENTS[0].address)
    assert council.feedback("getLastIndex", council.ids[AGENTS[0].address], reputation) == 1
    assert council.feedback("getLastIndex", agent_id, reputation) == 0


def test_a_score_costs_the_same_after_many_requests() -> None:
    """Reading all outcomes would end in more gas than a transaction has."""
    council = Registered(Terms())
    bench, agent = council.bench, AGENTS[0]
    council.reputation("link", council.identify(agent), sender=agent)
    costs = []
    for _ in range(4):
        question = bench.ask(agents=1, specifications=OPTIONS)
        bench.commit(question, agent, b"yes")
        costs.append(bench.evm.last.get_gas_used())
        bench.reveal(question, agent, b"yes")
        bench.distribute(question)
        council.reputation("report", question.request_id, agent.address)
    assert council.reputation("scoreOf", agent.address) == 10_000
    assert max(costs[1:]) - min(costs[1:]) < 100


@pytest.mark.parametrize("flawed", [False, True])
def test_a_farmed_score_is_worth_nothing(*, flawed: bool) -> None:
    """Who asks itself and answers itself is right each time, for gas."""
    name = "FlawedReputation" if flawed else "CouncilReputation"
    council = Registered(Terms(dispute_window=1_000), name=name)
    bench, (asker, farmer) = council.bench, AGENTS[:2]
    council.reputation("link", council.identify(farmer), sender=farmer)
    own = bench.ask(agents=1, reward=1, specifications="OPTIONS: yes|no", requester=asker)
    bench.commit(own, farmer, b"yes")
    bench.reveal(own, farmer, b"yes")
    bench.pass_phase(own)
    bench.distribute(own)
    council.reputation("report", own.request_id, farmer.address)
    assert council.reputation("scoreOf", farmer.address) == (10_000 if flawed else 0)
    question = bench.ask(specifications="OPTIONS: yes|no")
    for agent in (asker, *AGENTS[2:4]):
        bench.commit(question, agent, b"yes")
    for agent in (asker, *AGENTS[2:4]):
        bench.reveal(question, agent, b"yes")
    bench.dispute(question)
    if flawed:
        bench.register(question, farmer)
    else:
        with reverts("ReputationTooLow", farmer.address, 0, 1):
            bench.register(question, farmer)


@pytest.mark.parametrize("weighted", [False, True])
def test_votes_can_be_weighted(*, weighted: bool) -> None:
    council = Registered(Terms(weighted_votes=weighted))
    for account, score in zip(AGENTS[:3], (100, 30, 10), strict=True):
        council.add(account, score)
    weights = [council.reputation("weightOf", one.address) for one in AGENTS[:3]]
    assert weights == [11, 4, 2]
    bench = council.bench
    question = bench.ask(specifications=OPTIONS)
    bench.register(question, JUDGES[0])
    bench.answer_all(question, b"yes", b"no", b"no")
    answer = (b"yes" if weighted else b"no", True)
    assert (bench.phase(question), bench.oracle("getResolution", 1)) == (RESOLVED, answer)


def test_a_weighted_tie_goes_to_the_judge() -> None:
    council = Registered(Terms(weighted_votes=True))
    for account, score in zip(AGENTS[:3], (50, 20, 20), strict=True):
        council.add(account, score)
    bench = council.bench
    question = bench.ask(specifications=OPTIONS)
    bench.register(question, JUDGES[0])
    bench.answer_all(question, b"yes", b"no", b"no")  # 6 against 3 and 3
    assert bench.phase(question) == JUDGE


def test_rewards_can_be_proportional() -> None:
    council = Registered(Terms(proportional_rewards=True))
    for account, score in zip(AGENTS[:3], (100, 30, 10), strict=True):
        council.add(account, score)
    bench = council.bench
    question = bench.ask(specifications=OPTIONS)
    bench.answer_all(question, b"yes", b"yes", b"no")
    bench.distribute(question)
    amounts = bench.event("RewardsDistributed")["amounts"]
    assert amounts == (REWARD * 11 // 15, REWARD - REWARD * 11 // 15)
    bench.withdraw_all()
    assert bench.held() == 0

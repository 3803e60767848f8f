"""A market that a council resolves: stakes, results, payments, and attacks on each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.contracts.council.council_bench import (
    AGENTS,
    BOND,
    COMMIT,
    COMMIT_TIME,
    DISPUTER,
    JUDGES,
    OPTIONS,
    REVEAL,
    REWARD,
    WINDOW,
    CouncilBench,
    Question,
    Terms,
)
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, RevertedError, reverts

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Account, Contract

OPEN, YES, NO, REFUND = range(4)
"""Members of `PredictionMarket.Result`."""

ANNA, BEN, CLEO = JUDGES[:3]


@dataclass
class MarketBench:
    """A market with its council of three agents."""

    name: str = "PredictionMarket"
    terms: Terms = field(default_factory=Terms)
    token_answer: int | None = None
    """`RewardToken.Answer` of the token that is staked; None for ether."""

    def __post_init__(self) -> None:
        self.bench = CouncilBench(self.terms)
        evm = self.bench.evm
        self.token: Contract | None = None
        if self.token_answer is not None:
            self.token = evm.deploy("RewardToken", self.token_answer, 10**6)
        market = evm.at(self.name, ZERO).artifact
        creation = market.encode_creation(
            self.bench.oracle.address,
            self.token.address if self.token else ZERO,
            "Is 7 a prime?",
            3,
            BOND,
            self.bench.now + COMMIT_TIME,
        )
        evm.send(None, creation, value_wei=REWARD)
        self.market = evm.at(self.name, "0x" + evm.last.msg.storage_address.hex())
        self.question = Question(self.market("requestId"))

    def stake(self, who: Account, amount: int, *, on_yes: bool) -> None:
        value = 0 if self.token else amount
        self.market("stake", on_yes, amount, sender=who, value_wei=value)

    def answer(self, *answers: bytes) -> None:
        self.bench.answer_all(self.question, *answers)

    def call_back(self) -> bool:
        called = self.bench.oracle("callback", self.market.address, self.question.request_id)
        return bool(called)

    def claim(self, who: Account) -> int:
        amount: int = self.market("claim", sender=who)
        return amount

    def held(self) -> int:
        return self.bench.balance(self.market.address)


def staked(name: str = "PredictionMarket") -> MarketBench:
    """Return a market with 7 and 4 wei on yes and 10 on no."""
    market = MarketBench(name)
    market.stake(ANNA, 7, on_yes=True)
    market.stake(BEN, 4, on_yes=True)
    market.stake(CLEO, 10, on_yes=False)
    return market


def test_the_callback_resolves_and_winners_share_all_stakes() -> None:
    market = staked()
    market.answer(b"yes", b"yes", b"no")
    assert market.call_back()
    assert market.market("result") == YES
    assert [market.claim(ANNA), market.claim(BEN)] == [13, 8]  # 21 * 7 / 11 is 13.4
    with reverts("NothingToClaim", CLEO.address):
        market.claim(CLEO)
    assert market.held() == 0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_rounding_leaves_nothing_in_any_order(order: tuple[int, int]) -> None:
    market = staked()
    market.answer(b"yes", b"yes", b"yes")
    market.call_back()
    paid = {place: market.claim((ANNA, BEN)[place]) for place in order}
    assert sum(paid.values()) == 21
    assert abs(paid[0] - 21 * 7 / 11) < 1
    assert market.held() == 0


def test_nobody_claims_twice() -> None:
    market = staked()
    market.answer(b"yes", b"yes", b"no")
    market.call_back()
    market.claim(ANNA)
    with reverts("NothingToClaim", ANNA.address):
        market.claim(ANNA)


def test_nobody_else_resolves() -> None:
    market = staked()
    for sender in (STRANGER, OWNER):
        with reverts("NotOracle", sender.address):
            market.market("handleResolution", 1, True, b"no", sender=sender)  # noqa: FBT003
    flawed = staked("TrustingMarket")
    flawed.market("handleResolution", 1, True, b"no", sender=CLEO)  # noqa: FBT003
    assert flawed.market("result") == NO


def test_another_request_of_the_oracle_does_not_resolve() -> None:
    market = staked("TrustingMarket")  # who gets past the sender
    with reverts("WrongRequest", 2, 1):
        market.market("handleResolution", 2, True, b"no")  # noqa: FBT003
    market.bench.answer_all(market.bench.ask(specifications=OPTIONS), b"no", b"no", b"no")
    with reverts("NothingToCall", 2, market.market.address):
        market.bench.oracle("callback", market.market.address, 2)
    assert market.market("result") == OPEN


@pytest.mark.parametrize("name", ["PredictionMarket", "TrustingMarket"])
def test_reentrant_claim(name: str) -> None:
    market = MarketBench(name)
    robber = market.bench.evm.deploy("MarketRobber")
    robber("stake", market.market.address, value_wei=5)
    market.stake(BEN, 10, on_yes=True)
    market.stake(CLEO, 10, on_yes=False)
    market.answer(b"yes", b"yes", b"yes")
    market.call_back()
    robber("claim")
    assert robber("secondClaim").hex() == "3ee5aeb5"  # ReentrancyGuardReentrantCall()
    if name == "TrustingMarket":  # clears nothing, so that the next transaction is paid again
        robber("claim")
        assert market.bench.balance(robber.address) == 10
        return
    with reverts("NothingToClaim", robber.address):
        robber("claim")
    assert market.bench.balance(robber.address) == 25 * 5 // 15


def test_nobody_on_the_winning_side() -> None:
    market = MarketBench()
    market.stake(ANNA, 7, on_yes=True)
    market.answer(b"no", b"no", b"no")
    market.call_back()
    assert market.market("result") == REFUND
    assert market.claim(ANNA) == 7
    assert market.held() == 0


def test_a_failed_council_refunds_both_sides() -> None:
    market = MarketBench()
    market.stake(ANNA, 7, on_yes=True)
    market.stake(ANNA, 5, on_yes=False)
    market.stake(CLEO, 10, on_yes=False)
    market.bench.advance(market.question)  # nobody committed
    assert market.call_back()
    assert market.market("result") == REFUND
    assert [market.claim(ANNA), market.claim(CLEO)] == [12, 10]
    before = market.bench.balance(OWNER.address)
    market.market("sweep", sender=STRANGER)
    assert market.bench.balance(OWNER.address) - before == REWARD


@pytest.mark.parametrize("name", ["PredictionMarket", "TrustingMarket"])
def test_a_callback_without_enough_gas_stops_nothing(name: str) -> None:
    market = MarketBench(name, Terms(callback_gas=5_000))
    market.stake(ANNA, 7, on_yes=True)
    market.answer(b"yes", b"yes", b"no")
    assert not market.call_back()
    market.market("settle", sender=STRANGER)
    assert market.market("result") == YES
    assert market.claim(ANNA) == 7


def test_a_callback_that_never_comes() -> None:
    market = staked()
    with reverts("NotFinal", 1, COMMIT):
        market.market("settle")
    market.answer(b"no", b"no", b"yes")
    market.market("settle", sender=STRANGER)
    assert market.market("result") == NO
    with reverts("AlreadySettled", NO):
        market.market("settle")
    assert not market.call_back()  # comes too late, and changes nothing
    assert market.claim(CLEO) == 21


def test_an_answer_that_can_be_disputed_pays_nobody() -> None:
    market = MarketBench(terms=Terms(dispute_window=1_000))
    market.stake(ANNA, 7, on_yes=True)
    market.answer(b"yes", b"yes", b"no")
    with reverts("NotFinal", 1, WINDOW):
        market.market("settle")
    with reverts("WrongPhase", 1, WINDOW):
        market.call_back()
    with reverts("NothingToClaim", ANNA.address):
        market.claim(ANNA)
    market.bench.pass_phase(market.question)
    assert market.call_back()
    assert market.claim(ANNA) == 7


@pytest.mark.parametrize("name", ["PredictionMarket", "TrustingMarket"])
def test_a_dispute_puts_up_the_stakes(name: str) -> None:
    """Else a dispute would move a hundred ether for the price of one."""
    market = MarketBench(name, Terms(dispute_window=1_000))
    market.stake(ANNA, 70 * REWARD, on_yes=True)
    market.stake(CLEO, 30 * REWARD, on_yes=False)
    market.answer(b"yes", b"yes", b"no")
    bond = market.bench.oracle("disputeBondOf", 1)
    covered = 0 if name == "TrustingMarket" else 100 * REWARD
    assert bond == REWARD + 3 * BOND + covered
    assert market.bench.oracle("judgeBondOf", 1, True) == -(-bond // 2)  # noqa: FBT003


@pytest.mark.parametrize("window", [0, 1_000])
def test_tokens_are_staked_where_answers_are_final(window: int) -> None:
    terms = Terms(dispute_window=window)
    if window == 0:
        MarketBench(terms=terms, token_answer=3)
        return
    with pytest.raises(RevertedError) as refused:
        MarketBench(terms=terms, token_answer=3)
    assert refused.value.error[0] == "StakesUncovered"


@pytest.mark.parametrize("name", ["PredictionMarket", "TrustingMarket"])
def test_one_judge_decides_no_market(name: str) -> None:
    """Votes are a tie, and the judge's bond is less than the stakes: everybody is paid back."""
    market = MarketBench(name)
    market.stake(ANNA, 70 * REWARD, on_yes=True)
    market.stake(CLEO, 30 * REWARD, on_yes=False)
    bench = market.bench
    bench.register(market.question, JUDGES[3])
    for agent, answer in zip(AGENTS[:3], (b"yes", b"no", b"no"), strict=True):
        bench.commit(market.question, agent, answer)
    for agent, answer in zip(AGENTS[:2], (b"yes", b"no"), strict=True):
        bench.reveal(market.question, agent, answer)
    bench.advance(market.question)
    bench.aggregate(market.question, AGENTS[1:2], b"no")
    market.call_back()
    robbed = name == "TrustingMarket"
    assert market.market("result") == (NO if robbed else REFUND)
    assert market.claim(CLEO) == 30 * REWARD
    if not robbed:
        assert market.claim(ANNA) == 70 * REWARD


def test_no_stakes_after_the_commitments() -> None:
    market = MarketBench()
    for agent in AGENTS[:3]:
        market.bench.commit(market.question, agent, b"yes")
    with reverts("StakesClosed", REVEAL):
        market.stake(DISPUTER, 1, on_yes=True)
    late = MarketBench()
    late.bench.pass_phase(late.question)
    with reverts("StakesClosed", COMMIT):  # nobody committed
        late.stake(DISPUTER, 1, on_yes=True)


@pytest.mark.parametrize(("amount", "value"), [(0, 0), (2, 1), (1, 2)])
def test_the_value_is_the_stake(amount: int, value: int) -> None:
    market = MarketBench()
    with reverts("WrongStake", amount, value):
        market.market("stake", True, amount, value_wei=value)  # noqa: FBT003


@pytest.mark.parametrize("answer", [0, 3], ids=["returns nothing", "returns true"])
def test_tokens_are_staked_and_paid(answer: int) -> None:
    market = MarketBench(token_answer=answer)
    token = market.token
    assert token is not None
    token("approve", market.market.address, 100)
    market.stake(OWNER, 30, on_yes=True)
    market.stake(OWNER, 70, on_yes=False)
    with reverts("WrongStake", 0, 1):
        market.market("stake", True, 1, value_wei=1)  # noqa: FBT003
    market.answer(b"yes", b"yes", b"no")
    market.call_back()
    assert market.claim(OWNER) == 100
    assert token("balanceOf", OWNER.address) == 10**6


def test_tokens_that_take_a_fee_are_refused() -> None:
    market = MarketBench(token_answer=2)
    token = market.token
    assert token is not None
    token("approve", market.market.address, 100)
    with reverts("WrongStake", 30, 27):
        market.stake(OWNER, 30, on_yes=True)

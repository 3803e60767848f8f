"""A token that calls the oracle from its functions: no function of the oracle can be entered again.

Each call would be accepted if the oracle were not at work: a copy without guards accepts it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import function_signature_to_4byte_selector, to_canonical_address

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.council.council_bench import (
    AGENTS,
    BOND,
    DRAW,
    JUDGE,
    JUDGES,
    OPTIONS,
    PEOPLE,
    REQUESTER,
    RESOLVED,
    REVEAL,
    REWARD,
    WINDOW,
    CouncilBench,
    Question,
    Terms,
    commitment_of,
    header_of,
)
from tests.contracts.plain_evm import STRANGER, ZERO, reverts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contracts.plain_evm import Contract

(NOWHERE, ALLOWANCE, BALANCE_OF, APPROVE, BEFORE_TRANSFER_FROM, AFTER_TRANSFER_FROM,
 BEFORE_TRANSFER, AFTER_TRANSFER) = range(8)  # fmt: skip
"""Members of `Place` of CallingToken.sol."""

OURS, UNGUARDED, LATE = range(3)
"""Our oracle, a copy without guards, and one that also sends before it updates."""

KEPT_OUT = function_signature_to_4byte_selector("ReentrancyGuardReentrantCall()")
TERMS = Terms(dispute_window=1_000, deterministic=False)
PLACES = (BEFORE_TRANSFER_FROM, AFTER_TRANSFER_FROM, BEFORE_TRANSFER, AFTER_TRANSFER)


@dataclass
class Stage:
    """A council with a token that takes part itself, and can withdraw some of its own."""

    oracle_kind: int
    bench: CouncilBench = field(init=False)
    token: Contract = field(init=False)
    snapshot: Any = field(init=False)
    time: int = field(init=False)
    block: int = field(init=False)

    def __post_init__(self) -> None:
        if self.oracle_kind == OURS:
            self.bench = CouncilBench(TERMS)
        else:
            late = self.oracle_kind == LATE
            self.bench = CouncilBench(TERMS, name="UnguardedCouncil", extra=(late,))
        self.token = self.bench.evm.deploy("CallingToken", 100 * REWARD)
        balance = 100 * REWARD
        self.bench.evm.vm.state.set_balance(to_canonical_address(self.token.address), balance)
        failed = self.ask_in_token()
        self.bench.advance(failed)  # without commitments: the reward is the requester's again
        assert self.bench.claimable(REQUESTER, self.token.address) == REWARD
        self.snapshot = self.bench.evm.vm.state.snapshot()
        self.time, self.block = self.bench.now, self.bench.block_number

    def reset(self) -> Stage:
        """Undo everything that happened since the deployments; return the stage."""
        state = self.bench.evm.vm.state
        state.revert(self.snapshot)
        self.snapshot = state.snapshot()
        bench = self.bench
        bench.pass_time(self.time - bench.now, blocks=self.block - bench.block_number)
        return self

    # ---- Calls

    def encode(self, function: str, *arguments: object) -> bytes:
        return self.bench.oracle.artifact.encode_call(function, *arguments)

    def as_token(self, function: str, *arguments: object, value_wei: int = 0) -> Any:  # noqa: ANN401
        """Call the oracle by the token."""
        call = self.encode(function, *arguments)
        return self.token("call", self.bench.oracle.address, call, value_wei=value_wei)

    def ask_in_token(self) -> Question:
        """Ask with a reward in the token: this makes the oracle call the token."""
        self.token("approve", self.bench.oracle.address, REWARD)
        return self.bench.ask(token=self.token, bond=BOND)

    def withdraw(self) -> None:
        """Take the requester's tokens out: this makes the oracle call the token."""
        self.bench.oracle("withdraw", self.token.address, STRANGER.address, sender=REQUESTER)

    def outer(self, place: int) -> None:
        """Make the oracle call the token's function of that place."""
        if place in {BEFORE_TRANSFER, AFTER_TRANSFER}:
            self.withdraw()
        else:
            self.ask_in_token()

    def call_from(
        self, place: int, call: bytes, value_wei: int = 0, *, replaces_move: bool = False
    ) -> None:
        oracle = self.bench.oracle.address
        self.token("callFrom", place, oracle, call, value_wei, replaces_move)

    # ---- What the token has prepared

    def commit_token(self, question: Question, answer: bytes = b"4") -> None:
        commitment = commitment_of(
            self.bench.oracle.address, question.request_id, self.token.address, answer, 7
        )
        self.as_token("commit", question.request_id, commitment, value_wei=BOND)

    def close(self, question: Question) -> None:
        """Let three agents answer."""
        self.bench.answer_all(question, b"4", b"4", b"4")

    def draw_token(self) -> Question:
        """Return a question of which the token is the judge."""
        question = self.bench.ask()
        self.as_token("registerJudge", question.request_id, value_wei=BOND)
        self.close(question)
        self.draw(question)
        assert self.bench.phase(question) == JUDGE
        return question

    def draw(self, question: Question) -> None:
        block = self.bench.oracle("seedBlockOf", question.request_id)
        self.bench.pass_time(12, blocks=max(0, block + 1 - self.bench.block_number))
        self.bench.oracle("selectJudge", question.request_id, header_of(block))

    def vote(self) -> Question:
        """Return a question that votes decided."""
        question = self.bench.ask(specifications=OPTIONS)
        self.bench.answer_all(question, b"yes", b"yes", b"no")
        return question

    # ---- Money

    def check_books(self) -> None:
        """Check that the oracle holds what it owes, in wei and in the token."""
        for token, held in (
            (ZERO, self.bench.held()),
            (self.token.address, self.token("balanceOf", self.bench.oracle.address)),
        ):
            assert held == self.owed(token)

    def owed(self, token: str) -> int:
        """Return what the oracle owes in wei or in the token: claimable and in escrow."""
        place = 0 if token == ZERO else 1
        count = self.bench.oracle("requestCount")
        escrow = sum(self.bench.oracle("escrowOf", n)[place] for n in range(1, count + 1))
        accounts = [*(one.address for one in PEOPLE), self.token.address]
        return int(escrow) + sum(self.bench.claimable(one, token) for one in accounts)


@cache
def build_stage(kind: int) -> Stage:
    return Stage(kind)


def stage_of(kind: int) -> Stage:
    """Return a stage as it was deployed, once for all tests."""
    return build_stage(kind).reset()


# ---- Every function, in a state in which the token may call it


def _create_request(stage: Stage) -> tuple[bytes, int]:
    arguments = ("?", 1, BOND, stage.bench.now + 9_000, ZERO, "", ((), ()))
    return stage.encode("createRequest", *arguments), REWARD


def _commit(stage: Stage) -> tuple[bytes, int]:
    question = stage.bench.ask(seconds=9_000)
    return stage.encode("commit", question.request_id, b"\x01" * 32), BOND


def _reveal(stage: Stage) -> tuple[bytes, int]:
    question = stage.bench.ask(agents=1)
    stage.commit_token(question)
    assert stage.bench.phase(question) == REVEAL
    return stage.encode("reveal", question.request_id, b"4", 7), 0


def _register_judge(stage: Stage) -> tuple[bytes, int]:
    question = stage.bench.ask(seconds=9_000)
    return stage.encode("registerJudge", question.request_id), BOND


def _select_judge(stage: Stage) -> tuple[bytes, int]:
    question = stage.bench.ask()
    stage.bench.register(question, JUDGES[0])
    stage.close(question)
    block = stage.bench.oracle("seedBlockOf", question.request_id)
    stage.bench.pass_time(12, blocks=max(0, block + 1 - stage.bench.block_number))
    assert stage.bench.phase(question) == DRAW
    return stage.encode("selectJudge", question.request_id, header_of(block)), 0


def _aggregate(stage: Stage) -> tuple[bytes, int]:
    question = stage.draw_token()
    winners = [AGENTS[0].address]
    return stage.encode("aggregate", question.request_id, b"4", winners, b"They agree."), 0


def _advance(stage: Stage) -> tuple[bytes, int]:
    question = stage.bench.ask()
    stage.bench.pass_phase(question)
    return stage.encode("advance", question.request_id), 0


def _distribute_rewards(stage: Stage) -> tuple[bytes, int]:
    question = stage.vote()
    stage.bench.pass_phase(question)
    assert stage.bench.phase(question) == RESOLVED
    return stage.encode("distributeRewards", question.request_id), 0


def _initiate_dispute(stage: Stage) -> tuple[bytes, int]:
    question = stage.vote()
    assert stage.bench.phase(question) == WINDOW
    bond = stage.bench.oracle("disputeBondOf", question.request_id)
    return stage.encode("initiateDispute", question.request_id, "It is wrong."), bond


def _resolve_dispute(stage: Stage) -> tuple[bytes, int]:
    question = stage.vote()
    stage.bench.dispute(question)
    bond = stage.bench.oracle("judgeBondOf", question.request_id, True)  # noqa: FBT003
    scores = stage.bench.evm.at("KnownScores", stage.bench.reputation)
    scores("setScores", [stage.token.address], 100)
    stage.as_token("registerJudge", question.request_id, value_wei=bond)
    stage.bench.register(question, *JUDGES[:2])
    stage.bench.advance(question)
    stage.draw(question)
    arguments = (question.request_id, True, b"no", [AGENTS[2].address])
    return stage.encode("resolveDispute", *arguments), 0


def _callback(stage: Stage) -> tuple[bytes, int]:
    arguments = ("?", 1, BOND, stage.bench.now + 1, ZERO, "", ((), ()))
    stage.as_token("createRequest", *arguments, value_wei=REWARD)
    number = stage.bench.oracle("requestCount")
    stage.bench.advance(Question(number))
    return stage.encode("callback", stage.token.address, number), 0


def _withdraw(stage: Stage) -> tuple[bytes, int]:
    arguments = ("?", 1, BOND, stage.bench.now + 1, ZERO, "", ((), ()))
    stage.as_token("createRequest", *arguments, value_wei=REWARD)
    stage.bench.advance(Question(stage.bench.oracle("requestCount")))
    assert stage.bench.claimable(stage.token.address) == REWARD
    return stage.encode("withdraw", ZERO, stage.token.address), 0


def _withdraw_for(stage: Stage) -> tuple[bytes, int]:
    _withdraw(stage)
    return stage.encode("withdrawFor", ZERO, stage.token.address), 0


def _release_judge(stage: Stage) -> tuple[bytes, int]:
    question = stage.bench.ask(specifications=OPTIONS)
    stage.as_token("registerJudge", question.request_id, value_wei=BOND)
    stage.bench.answer_all(question, b"yes", b"yes", b"no")
    return stage.encode("releaseJudge", question.request_id, stage.token.address), 0


def _ask_by_token(stage: Stage) -> int:
    arguments = ("?", 1, BOND, stage.bench.now + 9_000, ZERO, "", ((), ()))
    stage.as_token("createRequest", *arguments, value_wei=REWARD)
    number: int = stage.bench.oracle("requestCount")
    return number


def _pay_directly(stage: Stage) -> tuple[bytes, int]:
    return stage.encode("payDirectly", _ask_by_token(stage)), 0


def _declare_value(stage: Stage) -> tuple[bytes, int]:
    return stage.encode("declareValue", _ask_by_token(stage), 1), 0


FUNCTIONS: dict[str, Callable[[Stage], tuple[bytes, int]]] = {
    "createRequest": _create_request,
    "commit": _commit,
    "reveal": _reveal,
    "registerJudge": _register_judge,
    "selectJudge": _select_judge,
    "aggregate": _aggregate,
    "advance": _advance,
    "distributeRewards": _distribute_rewards,
    "initiateDispute": _initiate_dispute,
    "resolveDispute": _resolve_dispute,
    "callback": _callback,
    "withdraw": _withdraw,
    "withdrawFor": _withdraw_for,
    "releaseJudge": _release_judge,
    "payDirectly": _pay_directly,
    "declareValue": _declare_value,
}
"""Functions to what prepares a call: its data and value."""


def test_every_function_that_changes_state_is_tried() -> None:
    abi = load_artifact("AgentCouncilOracle").abi
    changing = {
        one["name"]
        for one in abi
        if one["type"] == "function" and one["stateMutability"] not in {"view", "pure"}
    }
    assert changing == FUNCTIONS.keys()


@pytest.mark.parametrize("kind", [OURS, UNGUARDED], ids=["ours", "unguarded"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_reentrancy_by_a_token(function: str, kind: int) -> None:
    """From `transferFrom` and `transfer` each function is closed; without guards it is open."""
    stage = stage_of(kind)
    call, value_wei = FUNCTIONS[function](stage)
    state = stage.bench.evm.vm.state
    for place in PLACES:
        snapshot = state.snapshot()
        stage.call_from(place, call, value_wei)
        stage.outer(place)
        assert stage.token("calls") == 1
        assert stage.token("succeeded") == (kind == UNGUARDED)
        if kind == OURS:
            assert stage.token("returned") == KEPT_OUT
            stage.check_books()
        state.revert(snapshot)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_static_calls_and_approvals_enter_nothing(function: str) -> None:
    """The oracle calls views statically, and approves nothing."""
    stage = stage_of(UNGUARDED)
    call, value_wei = FUNCTIONS[function](stage)
    state = stage.bench.evm.vm.state
    for place in (ALLOWANCE, BALANCE_OF):
        snapshot = state.snapshot()
        stage.call_from(place, call)
        stage.outer(place)
        with reverts("StaticCallSucceeded"):  # it is called there: a view goes through
            stage.call_from(place, stage.encode("requestCount"))
            stage.outer(place)
        state.revert(snapshot)
    stage.token("approve", stage.bench.oracle.address, REWARD)
    stage.call_from(APPROVE, call, value_wei)
    stage.bench.ask(token=stage.token)
    stage.withdraw()
    assert stage.token("calls") == 0


# ---- Robbery


@pytest.mark.parametrize("kind", [OURS, LATE], ids=["ours", "late"])
def test_a_token_withdraws_twice(kind: int) -> None:
    """A recipient that is called while it is paid takes the tokens of another request."""
    stage = stage_of(kind)
    stage.token("approve", stage.bench.oracle.address, REWARD)
    others = stage.ask_in_token()
    thief = stage.token.address
    arguments = ("?", 1, BOND, stage.bench.now + 1, thief, "", ((), ()))
    approve = stage.token.artifact.encode_call("approve", stage.bench.oracle.address, REWARD)
    stage.token("call", thief, approve)
    stage.as_token("createRequest", *arguments)
    stage.bench.advance(Question(stage.bench.oracle("requestCount"), thief))
    before = stage.token("balanceOf", STRANGER.address)
    again = stage.encode("withdraw", thief, STRANGER.address)
    stage.call_from(BEFORE_TRANSFER, again)
    stage.token("call", stage.bench.oracle.address, again)
    taken = stage.token("balanceOf", STRANGER.address) - before
    assert taken == (2 * REWARD if kind == LATE else REWARD)
    held = stage.token("balanceOf", stage.bench.oracle.address)
    assert (held < stage.owed(thief)) == (kind == LATE)
    _, escrow = stage.bench.oracle("escrowOf", others.request_id)
    assert escrow == REWARD


@pytest.mark.parametrize("kind", [OURS, UNGUARDED], ids=["ours", "unguarded"])
def test_one_deposit_counts_for_two_requests(kind: int) -> None:
    """A token moves a reward in a request that it makes while it is asked to move another."""
    stage = stage_of(kind)
    thief, oracle = stage.token.address, stage.bench.oracle.address
    stage.token("call", thief, stage.token.artifact.encode_call("approve", oracle, REWARD))
    arguments = ("?", 1, BOND, stage.bench.now + 900, thief, "", ((), ()))
    call = stage.encode("createRequest", *arguments)
    stage.call_from(BEFORE_TRANSFER_FROM, call, replaces_move=True)
    if kind == OURS:
        with reverts("TokenTakesFee", thief, REWARD, 0):
            stage.ask_in_token()
        stage.check_books()
        return
    count = stage.bench.oracle("requestCount")
    stage.ask_in_token()
    assert stage.bench.oracle("requestCount") == count + 2
    assert stage.token("balanceOf", oracle) < stage.owed(thief)


def test_what_a_token_reads_while_it_is_called_is_paid_for() -> None:
    """What is being paid out is not claimable, what is being taken in is not yet in escrow."""
    stage = stage_of(OURS)
    token = stage.token.address
    for place in (BEFORE_TRANSFER, AFTER_TRANSFER):
        snapshot = stage.bench.evm.vm.state.snapshot()
        stage.call_from(place, stage.encode("claimable", token, REQUESTER.address))
        stage.withdraw()
        assert stage.token("succeeded")
        assert int.from_bytes(stage.token("returned")) == 0
        stage.bench.evm.vm.state.revert(snapshot)
    number = stage.bench.oracle("requestCount") + 1
    for place in (BEFORE_TRANSFER_FROM, AFTER_TRANSFER_FROM):
        snapshot = stage.bench.evm.vm.state.snapshot()
        stage.call_from(place, stage.encode("escrowOf", number))
        stage.ask_in_token()
        assert stage.token("returned") == bytes(64)
        stage.bench.evm.vm.state.revert(snapshot)
    stage.check_books()

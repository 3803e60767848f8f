"""A council's oracle on the plain EVM: questions, answers, judges, and blocks with headers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import rlp
from eth_abi import encode
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak, to_canonical_address

from tests.contracts.plain_evm import (
    GAS,
    OWNER,
    STRANGER,
    ZERO,
    Account,
    Evm,
    RevertedError,
    plain_evm,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ComputationAPI

    from tests.contracts.plain_evm import Contract

AGENTS = [Account(PrivateKey(bytes([0x30 + n]) * 32)) for n in range(8)]
JUDGES = [Account(PrivateKey(bytes([0x50 + n]) * 32)) for n in range(5)]
PANEL = 3
"""Judges of a dispute."""

DISPUTER = Account(PrivateKey(b"\x61" * 32))
REQUESTER = OWNER
PEOPLE = [REQUESTER, STRANGER, DISPUTER, *AGENTS, *JUDGES]
ETHER = 10**18
REWARD = ETHER
BOND = ETHER // 10
OPTIONS = "OPTIONS: yes|no|unknown\nCount votes until midnight."
(NONE, COMMIT, REVEAL, DRAW, JUDGE, WINDOW, DISPUTE_REGISTRATION, DISPUTE_DRAW, DISPUTE_JUDGE,
 RESOLVED, DISTRIBUTED, FAILED) = range(12)  # fmt: skip
"""Members of `Phase`."""

(NO_OUTCOME, RIGHT, WRONG, WITHHELD, JUDGE_UPHELD, JUDGE_OVERTURNED, JUDGE_ABSENT) = range(7)
"""Members of `Outcome`."""

COMMIT_TIME = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """`Terms` of ICouncil.sol."""

    reveal_time: int = 600
    draw_time: int = 3_000
    judge_time: int = 900
    dispute_window: int = 0
    dispute_registration_time: int = 300
    callback_gas: int = 200_000
    judge_fee: int = 1_000
    dispute_bond: int = 15_000
    disputer_reimbursement: int = 5_000
    judge_reimbursement: int = 4_000
    seed_delay: int = 2
    deterministic: bool = True
    weighted_votes: bool = False
    proportional_rewards: bool = False
    min_bond: int = 1
    min_agent_reputation: int = -(2**31)
    min_judge_reputation: int = -(2**31)
    min_dispute_judge_reputation: int = 1
    dispute_judges: int = PANEL
    plain_commitments: bool = False

    def encoded(self) -> tuple[object, ...]:
        return tuple(getattr(self, one.name) for one in fields(self))


@dataclass(frozen=True, slots=True)
class Question:
    """A request, and the nonces of its agents."""

    request_id: int
    token: str = ZERO
    bond: int = BOND
    nonces: dict[str, int] = field(default_factory=dict)


class LoggingEvm(Evm):
    """Keeps the last transaction that logged, so that views can be asked before its events."""

    logged: ComputationAPI

    def __init__(self) -> None:
        super().__init__(plain_evm().vm)

    def send(
        self,
        to: str | None,
        data: bytes,
        *,
        sender: Account = OWNER,
        value_wei: int = 0,
        gas: int = GAS,
    ) -> bytes:
        output = super().send(to, data, sender=sender, value_wei=value_wei, gas=gas)
        if self.last.get_log_entries():
            self.logged = self.last
        return output


@dataclass
class CouncilBench:
    """An oracle and the people around it."""

    terms: Terms = field(default_factory=Terms)
    name: str = "AgentCouncilOracle"
    extra: tuple[object, ...] = ()
    """Constructor arguments after the terms and the source of reputation."""

    reputation: str = ""
    """The source of reputation. Where disputes need one, the judges are known to be good."""

    evm: LoggingEvm = field(default_factory=LoggingEvm)

    def __post_init__(self) -> None:
        for one in PEOPLE:
            self.evm.vm.state.set_balance(to_canonical_address(one.address), 10**24)
        self.pass_time(1_000, blocks=1_000)
        self.reputation = self.reputation or self._scores()
        self.oracle = self.evm.deploy(self.name, self.terms.encoded(), self.reputation, *self.extra)

    def _scores(self) -> str:
        if not self.terms.dispute_window:
            return ZERO
        scores = self.evm.deploy("KnownScores")
        scores("setScores", [one.address for one in JUDGES], 100)
        return scores.address

    # ---- Blocks

    @property
    def now(self) -> int:
        return self.evm.now

    @property
    def block_number(self) -> int:
        return self.evm.block_number

    def pass_time(self, seconds: int = 0, *, blocks: int = 1) -> None:
        """Go on to a later time and block."""
        self.evm.pass_time(seconds, blocks=blocks, hash_of=lambda n: keccak(header_of(n)))

    def pass_phase(self, question: Question) -> None:
        """Go to the first second after the phase's end."""
        _, ends_at = self.oracle("phaseOf", question.request_id)
        self.pass_time(max(0, ends_at + 1 - self.now))

    def balance(self, address: str) -> int:
        return self.evm.vm.state.get_balance(to_canonical_address(address))

    # ---- Calls

    def ask(
        self,
        *,
        agents: int = 3,
        reward: int = REWARD,
        bond: int = BOND,
        specifications: str = "",
        token: Contract | None = None,
        query: str = "What is 2 + 2?",
        capabilities: tuple[Sequence[str], Sequence[str]] = ((), ()),
        seconds: int = COMMIT_TIME,
        requester: Account = REQUESTER,
    ) -> Question:
        address = token.address if token else ZERO
        deadline = self.now + seconds
        request_id = self.oracle(
            "createRequest",
            *(query, agents, bond, deadline, address, specifications, capabilities),
            sender=requester,
            value_wei=0 if token else reward,
        )
        return Question(request_id, address, bond)

    def commit(
        self, question: Question, agent: Account, answer: bytes = b"4", nonce: int = 7
    ) -> None:
        question.nonces[agent.address] = nonce
        self.oracle(
            "commit",
            question.request_id,
            self.commitment(question, agent.address, answer, nonce),
            sender=agent,
            value_wei=question.bond,
        )

    def commitment(self, question: Question, agent: str, answer: bytes, nonce: int) -> bytes:
        return commitment_of(self.oracle.address, question.request_id, agent, answer, nonce)

    def reveal(self, question: Question, agent: Account, answer: bytes = b"4") -> None:
        nonce = question.nonces[agent.address]
        self.oracle("reveal", question.request_id, answer, nonce, sender=agent)

    def register(self, question: Question, *judges: Account) -> None:
        of_dispute = self.phase(question) == DISPUTE_REGISTRATION
        value = self.oracle("judgeBondOf", question.request_id, of_dispute)
        for judge in judges:
            self.oracle("registerJudge", question.request_id, sender=judge, value_wei=value)

    def answer_all(self, question: Question, *answers: bytes) -> None:
        """Commit and reveal one answer by each of the first agents."""
        pairs = list(zip(AGENTS, answers, strict=False))
        for agent, answer in pairs:
            self.commit(question, agent, answer)
        for agent, answer in pairs:
            self.reveal(question, agent, answer)

    def draw(self, question: Question, *, of_dispute: bool = False) -> list[Account]:
        """Draw where the oracle waits for its block; return who was drawn."""
        block = self.oracle("seedBlockOf", question.request_id)
        if block:
            self.pass_time(12, blocks=max(0, block + 1 - self.block_number))
            self.oracle("selectJudge", question.request_id, header_of(block), sender=STRANGER)
        return self.drawn(question, of_dispute=of_dispute)

    def drawn(self, question: Question, *, of_dispute: bool = False) -> list[Account]:
        judges, _ = self.oracle("judgesOf", question.request_id, of_dispute)
        return [next(one for one in PEOPLE if one.address == judge) for judge in judges]

    def judge(self, question: Question) -> Account:
        (judge,) = self.drawn(question)
        return judge

    def panel(self, question: Question) -> list[Account]:
        return self.drawn(question, of_dispute=True)

    def aggregate(
        self,
        question: Question,
        winners: Sequence[Account],
        answer: bytes = b"4",
        *,
        judge: Account | None = None,
        reasoning: bytes = b"They agree.",
    ) -> None:
        self.oracle(
            "aggregate",
            *(question.request_id, answer, [one.address for one in winners], reasoning),
            sender=judge or self.judge(question),
        )

    def advance(self, question: Question) -> None:
        """End a phase after its time."""
        self.pass_phase(question)
        self.oracle("advance", question.request_id, sender=STRANGER)

    def distribute(self, question: Question) -> None:
        self.oracle("distributeRewards", question.request_id, sender=STRANGER)

    def dispute(self, question: Question, reason: str = "It is wrong.") -> None:
        value = self.oracle("disputeBondOf", question.request_id)
        self.oracle(
            "initiateDispute", question.request_id, reason, sender=DISPUTER, value_wei=value
        )

    def rule(
        self,
        question: Question,
        winners: Sequence[Account] = (),
        answer: bytes = b"",
        *,
        judges: Sequence[Account] | None = None,
    ) -> None:
        """Decide a dispute by these judges, or all of its panel: overturn if there are winners."""
        names = [one.address for one in winners]
        for judge in self.panel(question) if judges is None else judges:
            arguments = (question.request_id, bool(winners), answer, names)
            self.oracle("resolveDispute", *arguments, sender=judge)

    # ---- What came of it

    def event(self, name: str) -> dict[str, Any]:
        """Return the one event of that name in the last transaction that logged, without the ID."""
        self.evm.last = self.evm.logged
        (only,) = self.oracle.events(name)
        return {key: value for key, value in only.items() if key != "requestId"}

    def phase(self, question: Question) -> int:
        phase: int
        phase, _ = self.oracle("phaseOf", question.request_id)
        return phase

    def claimable(self, account: Account | str, token: str = ZERO) -> int:
        address = account if isinstance(account, str) else account.address
        amount: int = self.oracle("claimable", token, address)
        return amount

    def outcome(self, question: Question, account: Account) -> int:
        outcome: int = self.oracle("outcomeOf", question.request_id, account.address)
        return outcome

    def release_all(self, question: Question) -> None:
        """Give all bonds back that no draw can take any more."""
        for of_dispute in (False, True):
            _, candidates = self.oracle("judgesOf", question.request_id, of_dispute)
            for one in candidates:
                with suppress(RevertedError):
                    self.oracle("releaseJudge", question.request_id, one, sender=STRANGER)

    def withdraw_all(self, token: str = ZERO) -> None:
        for number in range(self.oracle("requestCount")):
            self.release_all(Question(number + 1))
        for one in PEOPLE:
            if self.claimable(one, token):
                self.oracle("withdraw", token, one.address, sender=one)

    def held(self) -> int:
        """Return the oracle's wei."""
        return self.balance(self.oracle.address)


def commitment_of(oracle: str, request_id: int, agent: str, answer: bytes, nonce: int) -> bytes:
    """Return a commitment, computed without the oracle. The chain's ID is 1."""
    types = ["uint256", "address", "uint256", "address", "bytes", "uint256"]
    return keccak(encode(types, [1, oracle, request_id, agent, answer, nonce]))


@cache
def header_of(number: int) -> bytes:
    """Return the RLP of a header of Prague; its PREVRANDAO is the hash of the number."""
    hashes = [bytes(32)] * 6
    parent, ommers, state, transactions, receipts, beacon = hashes
    randao = keccak(b"randao" + number.to_bytes(8, "big"))
    items = [parent, ommers, bytes(20), state, transactions, receipts, bytes(256), b""]
    items += [int_bytes(number), int_bytes(30_000_000), b"", int_bytes(12 * number), b"extra"]
    items += [randao, bytes(8), int_bytes(7), bytes(32), b"", b"", beacon, bytes(32)]
    encoded: bytes = rlp.encode(items)
    return encoded


def int_bytes(number: int) -> bytes:
    """Return an integer as RLP has it: big-endian without leading zeros."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")

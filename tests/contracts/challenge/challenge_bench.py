"""A challengeable oracle on the plain EVM: stakes, proposals, challenges and rulings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak, to_canonical_address

from tests.contracts.callback.oracle_bench import OTHER_WORKER, WORKER, OracleBench
from tests.contracts.plain_evm import Account

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import Request

ARBITER = Account(PrivateKey(b"\x21" * 32))
CHALLENGER = Account(PrivateKey(b"\x22" * 32))
LATE_CHALLENGER = Account(PrivateKey(b"\x23" * 32))
BOND = 10**17 + 1
"""In wei; odd, so that one wei can't be shared."""

HALF = BOND // 2
WINDOW = 100
ARBITRATION = 1_000
OPEN, CHALLENGED, UPHELD = 1, 2, 3
"""Members of `ProposalStatus`."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """`Proposal` of IChallengeableOracle.sol, and its output."""

    proposal_id: bytes
    commitment_hash: bytes
    answer_hash: bytes
    worker: str
    challengeable_until: int
    status: int
    refused: bool
    challenger: str
    ruleable_until: int
    output_at: str
    output: bytes


@dataclass
class ChallengeBench(OracleBench):
    """An oracle with two workers that have stakes of two bonds, and an arbiter."""

    arbiter: str = ARBITER.address
    bond: int = BOND

    def __post_init__(self) -> None:
        for one in (ARBITER, CHALLENGER, LATE_CHALLENGER):
            self.evm.vm.state.set_balance(to_canonical_address(one.address), 10**24)
        self.oracle_name = "ChallengeableOracle"
        self.oracle_arguments = ((self.arbiter, self.bond, WINDOW, ARBITRATION),)
        super().__post_init__()
        for worker in (WORKER, OTHER_WORKER):
            self.oracle("stake", sender=worker, value_wei=2 * self.bond)

    def proposal(self, request: Request) -> Proposal:
        proposal, output = self.oracle("proposalOf", request.request_id)
        members: tuple[Any, ...] = (*proposal, output)
        return Proposal(*members)

    def propose(
        self,
        request: Request,
        output: bytes = b"the output",
        *,
        refused: bool = False,
        worker: Account = WORKER,
    ) -> Proposal:
        """Sign an answer and hand it in; return the proposal."""
        assert not self.answer(request, output, refused=refused, worker=worker)
        return self.proposal(request)

    def challenge(
        self, request: Request, proposal: Proposal, challenger: Account = CHALLENGER
    ) -> None:
        self.oracle(
            "challenge",
            request.request_id,
            proposal.proposal_id,
            sender=challenger,
            value_wei=self.bond,
        )

    def rule(
        self, request: Request, proposal: Proposal, answer_hash: bytes, sender: Account = ARBITER
    ) -> None:
        self.oracle("rule", request.request_id, proposal.proposal_id, answer_hash, sender=sender)

    def finalize(self, request: Request) -> bool:
        delivered: bool = self.oracle("finalize", request.encoded(), sender=CHALLENGER)
        return delivered

    def claimable(self, account: Account) -> int:
        amount: int = self.oracle("claimable", account.address)
        return amount

    def free_stake(self, account: Account) -> int:
        amount: int = self.oracle("freeStakeOf", account.address)
        return amount

    def is_waiting(self, request: Request) -> bool:
        commitment: bytes = self.oracle("commitmentOf", request.request_id)
        return any(commitment)


def hash_answer(output: bytes, *, refused: bool = False) -> bytes:
    """Return what proposals and rulings are compared by."""
    return keccak(encode(["bool", "bytes"], [refused, output]))

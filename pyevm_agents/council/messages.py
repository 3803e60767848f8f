"""Messages between a council's oracle and its participants, as Python values.

The names and meanings are those of contracts/council/ICouncil.sol and IAgentCouncilOracle.sol.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_utils import keccak, to_canonical_address, to_checksum_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

NOBODY = bytes(20)
"""The zero address: no judge, no disputer; as a token, the native asset."""

MAX_ANSWER_BYTES, MAX_REASON_BYTES = 2_048, 4_096
"""Source: contracts/council/CouncilStore.sol."""

NO_END = 2**64 - 1
"""A last second, or a block, that the oracle does not state."""

OPTIONS_PREFIX = "OPTIONS: "
"""Source: contracts/council/CouncilOptions.sol."""


class RequestPhase(IntEnum):
    """Where a request is."""

    NONE = 0
    COMMIT = 1
    REVEAL = 2
    DRAW = 3
    JUDGE = 4
    WINDOW = 5
    DISPUTE_REGISTRATION = 6
    DISPUTE_DRAW = 7
    DISPUTE_JUDGE = 8
    RESOLVED = 9
    DISTRIBUTED = 10
    FAILED = 11

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to do but to withdraw."""
        return self >= RequestPhase.DISTRIBUTED

    @property
    def is_of_dispute(self) -> bool:
        """Whether a dispute is going on."""
        return RequestPhase.DISPUTE_REGISTRATION <= self <= RequestPhase.DISPUTE_JUDGE


class CallbackState(Enum):
    """Whether a requester that is a contract was told the end of its request."""

    NONE = None
    """The request has not ended, the requester is no contract, or the oracle calls nobody."""

    PENDING = "pending"
    """The requester would take the call now."""

    CALLED = "called"
    FAILED = "failed"
    """The call would fail now. An oracle of the ERC alone does not say if it was made before."""


OUTCOMES = ("none", "right", "wrong", "withheld", "upheld", "overturned", "absent")
"""`Outcome`, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilTerms:
    """The members of the oracle's `Terms` for participants, in seconds."""

    reveal_time: int
    draw_time: int
    judge_time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeTerms:
    """The members of the oracle's `Terms` for a disputer. Parts are in hundredths of a percent."""

    window: int
    """Seconds in which an answer can be disputed; zero: never."""

    registration_time: int
    """Seconds in which judges of a dispute register."""

    judge_fee: int
    """The judge's part of the reward."""

    disputer_part: int
    """The part of the judge's fee for the disputer of an overturned answer."""

    judge_part: int
    """The part of the losing bond for the dispute's judges."""

    judge_count: int
    """How many judges decide a dispute; more than half of them overturn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilRequest:
    """A question with the terms."""

    request_id: int
    requester: bytes
    reward: int
    """Base units of `reward_token`."""

    reward_token: bytes
    """20 bytes; zeros for the native asset."""

    bond: int
    """In wei."""

    agent_count: int
    """How many info agents can commit."""

    deadline: int
    """The commit phase's last second, since 1970."""

    query: str
    specifications: str
    capabilities: tuple[str, ...]
    domains: tuple[str, ...]
    bond_token: bytes = NOBODY
    """What bonds are in: zeros for the native asset, as with all oracles of the ERC's form."""

    @property
    def options(self) -> tuple[str, ...]:
        """The options of a discrete query; none of an open one."""
        if not self.specifications.startswith(OPTIONS_PREFIX):
            return ()
        line = self.specifications.removeprefix(OPTIONS_PREFIX).partition("\n")[0]
        return tuple(line.split("|"))

    @property
    def is_native(self) -> bool:
        """Whether the reward is in wei."""
        return self.reward_token == NOBODY

    @property
    def full_question(self) -> str:
        """The question with the specifications."""
        return f"{self.query} ({self.specifications})" if self.specifications else self.query

    def compute_hash(self) -> bytes:
        """Return a hash that tells a request from one of the same number after a reorganisation."""
        types = ["address", "uint256", "address", "uint256", "uint256", "uint256"]
        types += ["string", "string", "string[]", "string[]"]
        values = (self.requester, self.reward, self.reward_token, self.bond, self.agent_count)
        texts = (self.query, self.specifications, list(self.capabilities), list(self.domains))
        return bytes(keccak(encode(types, [*values, self.deadline, *texts])))


def build_request(
    request_id: int, values: Sequence[Any], *, bond_token: bytes = NOBODY
) -> CouncilRequest:
    """Return a request of the members of the ERC's `Request`, in their order."""
    requester, reward, token, bond, count, deadline, query, specifications, required = values
    return CouncilRequest(
        request_id=request_id,
        requester=to_canonical_address(requester),
        reward=reward,
        reward_token=to_canonical_address(token),
        bond=bond,
        agent_count=count,
        deadline=deadline,
        query=query,
        specifications=specifications,
        capabilities=tuple(required[0]),
        domains=tuple(required[1]),
        bond_token=bond_token,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The judges of a request, or of its dispute."""

    judges: tuple[bytes, ...] = ()
    """Who was drawn, and is not absent."""

    candidates: tuple[bytes, ...] = ()
    """Who was not drawn, and has not been given its bond back."""

    bond: int = 0
    """What a candidate puts up, in wei."""

    judged: frozenset[bytes] = frozenset()
    """Judges of a dispute that have decided."""

    @property
    def members(self) -> tuple[bytes, ...]:
        """Judges, then candidates."""
        return (*self.judges, *self.candidates)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    """A request as on the chain after a block."""

    request: CouncilRequest
    phase: RequestPhase
    ends_at: int
    """The phase's last second, since 1970."""

    commits: Mapping[bytes, bytes]
    """Commitments by the agents' addresses, in order."""

    reveals: Mapping[bytes, bytes]
    """Answers by the agents' addresses, in the order of their commitments."""

    panel: Panel
    dispute_panel: Panel
    seed_block: int
    answer: bytes
    """Of the council; empty without one."""

    entered_at: int | None = None
    """When the phase began, in seconds since 1970; None: the terms' time before its end."""

    reveal_ends_at: int | None = None
    """The last second of the reveals; None: the terms' time after the commitments."""

    callback: CallbackState = CallbackState.NONE

    @property
    def key(self) -> tuple[bytes, bytes]:
        """The request's number in 32 bytes, and the hash of its contents."""
        return self.request.request_id.to_bytes(32), self.request.compute_hash()

    @property
    def current_panel(self) -> Panel:
        """The panel of the request, or of the dispute that is going on."""
        return self.dispute_panel if self.phase.is_of_dispute else self.panel

    @property
    def judge(self) -> bytes:
        """The judge of the request; `NOBODY` without one."""
        return self.panel.judges[0] if self.panel.judges else NOBODY

    @property
    def judges(self) -> frozenset[bytes]:
        """Judges and candidates of the request and of the dispute."""
        return frozenset({*self.panel.members, *self.dispute_panel.members})


@dataclass(frozen=True, slots=True, kw_only=True)
class SaltedAnswer:
    """An answer with the hiding nonce, as kept until the reveal."""

    answer: bytes
    nonce: int
    """Below 2**256."""

    commitment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judge's decision."""

    answer: bytes
    winners: tuple[bytes, ...]
    """Addresses of info agents that were right."""

    reasoning: bytes


def describe_request(request: CouncilRequest) -> dict[str, object]:
    """Return a request in JSON, the input of commands that answer. Amounts are decimal strings."""
    return {
        "requestId": request.request_id,
        "requester": to_checksum_address(request.requester),
        "query": request.query,
        "specifications": request.specifications,
        "options": list(request.options),
        "reward": str(request.reward),
        "rewardToken": to_checksum_address(request.reward_token),
        "bondWei": str(request.bond),
        "numInfoAgents": request.agent_count,
        "deadline": request.deadline,
        "capabilities": list(request.capabilities),
        "domains": list(request.domains),
    }

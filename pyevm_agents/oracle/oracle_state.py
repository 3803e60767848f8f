"""The state of an oracle: requests that are not settled, workers, subscriptions, stakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eth_utils import to_canonical_address

from pyevm_agents.oracle.codec import build_commitment, hash_commitment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.client.contract import RemoteContract
    from pyevm_agents.oracle.messages import Commitment

OUTCOMES = ("none", "answered", "refused", "expired")
"""`Outcome` of contracts/callback/IAgentOracleClient.sol."""

PROPOSAL_STATUSES = ("none", "open", "challenged", "upheld")
"""`ProposalStatus` of contracts/callback/IChallengeableOracle.sol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalState:
    """An answer that is not final yet."""

    worker: bytes
    status: str
    """One of `PROPOSAL_STATUSES`."""

    challengeable_until: int
    challenger: bytes | None
    ruleable_until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsettledRequest:
    """A request that waits for an answer, or whose client has not taken the answer."""

    commitment: Commitment
    is_waiting: bool
    outcome: str
    """One of `OUTCOMES`."""

    worker: bytes | None
    """Who answered."""

    proposal: ProposalState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountState:
    """An account and its wei."""

    address: bytes
    balance: int
    claimable: int
    free_stake: int | None
    """None for oracles whose answers are final at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionState:
    """A subscription that is not cancelled."""

    subscription_id: int
    owner: bytes
    balance: int
    consumers: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbitrationTerms:
    """How answers are challenged."""

    arbiter: bytes
    bond: int
    challenge_window: int
    arbitration_time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleState:
    """An oracle at the last block."""

    kind: str
    address: bytes
    owner: bytes
    balance: int
    timestamp: int
    """Of the last block."""

    prices: tuple[int, int, int]
    """Wei of an inference, wei of a gas, gas of an answer."""

    request_count: int
    terms: ArbitrationTerms | None
    workers: tuple[AccountState, ...]
    accounts: tuple[AccountState, ...]
    """Those that were asked for."""

    requests: tuple[UnsettledRequest, ...]
    subscriptions: tuple[SubscriptionState, ...] = field(default=())


def read_oracle_state(
    oracle: RemoteContract, *, first_block: int = 0, accounts: Sequence[bytes] = ()
) -> OracleState:
    """Return the state of an oracle.

    Input:  the oracle; from which block on to search for requests; further accounts.
    Raises: AgentsError: the node fails, or does not search so many blocks.
    """
    block: Any = oracle.client.request("eth_getBlockByNumber", ["latest", False])
    owner, prices, count, workers = oracle.read_all(
        [("owner", ()), ("prices", ()), ("requestCount", ()), ("workers", ())]
    )
    return OracleState(
        kind=oracle.name,
        address=oracle.address,
        owner=to_canonical_address(owner),
        balance=read_balances(oracle, [oracle.address])[0],
        timestamp=int(block["timestamp"], 16),
        prices=tuple(prices),
        request_count=count,
        terms=_read_terms(oracle) if has_challenges(oracle) else None,
        workers=_read_accounts(oracle, [to_canonical_address(each) for each in workers]),
        accounts=_read_accounts(oracle, accounts),
        requests=tuple(_iter_requests(oracle, first_block)),
        subscriptions=_read_subscriptions(oracle, first_block),
    )


def has_challenges(oracle: RemoteContract) -> bool:
    """Return whether an oracle's answers can be challenged."""
    return oracle.name == "ChallengeableOracle"


def read_balances(oracle: RemoteContract, addresses: Sequence[bytes]) -> list[int]:
    """Return the wei of some addresses."""
    return [
        oracle.client.request_quantity("eth_getBalance", "0x" + each.hex(), "latest")
        for each in addresses
    ]


def _read_terms(oracle: RemoteContract) -> ArbitrationTerms:
    names = ("arbiter", "bond", "challengeWindow", "arbitrationTime")
    arbiter, bond, window, time = oracle.read_all([(name, ()) for name in names])
    return ArbitrationTerms(
        arbiter=to_canonical_address(arbiter),
        bond=bond,
        challenge_window=window,
        arbitration_time=time,
    )


def _read_accounts(oracle: RemoteContract, addresses: Sequence[bytes]) -> tuple[AccountState, ...]:
    claimable = oracle.read_all([("claimable", (each,)) for each in addresses])
    stakes: Sequence[int | None] = [None] * len(addresses)
    if has_challenges(oracle):
        stakes = oracle.read_all([("freeStakeOf", (each,)) for each in addresses])
    return tuple(
        AccountState(address=address, balance=balance, claimable=claims, free_stake=stake)
        for address, balance, claims, stake in zip(
            addresses, read_balances(oracle, addresses), claimable, stakes, strict=True
        )
    )


def _read_subscriptions(oracle: RemoteContract, first_block: int) -> tuple[SubscriptionState, ...]:
    numbers = range(1, oracle.read("subscriptionCount") + 1)
    consumers: dict[int, dict[bytes, bool]] = {number: {} for number in numbers}
    if numbers:
        for log in oracle.find_logs("ConsumerSet", first=first_block):
            number, client, is_allowed = log.values
            consumers.setdefault(number, {})[to_canonical_address(client)] = is_allowed
    states = oracle.read_all([("subscriptions", (number,)) for number in numbers])
    return tuple(
        SubscriptionState(
            subscription_id=number,
            owner=to_canonical_address(owner),
            balance=balance,
            consumers=tuple(each for each, is_allowed in consumers[number].items() if is_allowed),
        )
        for number, (owner, balance) in zip(numbers, states, strict=True)
        if int(owner, 16)
    )


def _iter_requests(oracle: RemoteContract, first_block: int) -> list[UnsettledRequest]:
    """Return the requests that wait, have a proposal, or whose client failed, in order."""
    delivered = {
        log.values[0]
        for log in oracle.find_logs("CallbackFinished", first=first_block)
        if log.values[1]
    }
    commitments = [
        build_commitment(log.values[2])
        for log in oracle.find_logs("AgentRequested", first=first_block)
        if log.values[0] not in delivered
    ]
    states = read_requests(oracle, commitments)
    return [
        each
        for each in states
        if each.is_waiting or each.outcome != OUTCOMES[0] or each.proposal is not None
    ]


def find_commitment(
    oracle: RemoteContract, request_id: int, *, first_block: int = 0
) -> Commitment | None:
    """Return a request's commitment; None if the oracle logged none."""
    logs = oracle.find_logs("AgentRequested", request_id, first=first_block)
    return build_commitment(logs[-1].values[2]) if logs else None


def read_requests(
    oracle: RemoteContract, commitments: Sequence[Commitment]
) -> list[UnsettledRequest]:
    """Return the states of requests at the last block."""
    ids = [each.request_id for each in commitments]
    hashes = oracle.read_all([("commitmentOf", (each,)) for each in ids])
    answers = oracle.read_all([("answerOf", (each,)) for each in ids])
    proposals: Sequence[Any] = [None] * len(ids)
    if has_challenges(oracle):
        proposals = oracle.read_all([("proposalOf", (each,)) for each in ids])
    return [
        UnsettledRequest(
            commitment=commitment,
            is_waiting=stored == hash_commitment(commitment),
            outcome=OUTCOMES[answer[0]],
            worker=_read_optional(answer[2]),
            proposal=_build_proposal(proposal),
        )
        for commitment, stored, answer, proposal in zip(
            commitments, hashes, answers, proposals, strict=True
        )
    ]


def _build_proposal(returned: Any) -> ProposalState | None:  # noqa: ANN401 - what Solidity returns
    if returned is None:
        return None
    (_, _, _, worker, until, status, _, challenger, ruleable, _), _output = returned
    if not status:
        return None
    return ProposalState(
        worker=to_canonical_address(worker),
        status=PROPOSAL_STATUSES[status],
        challengeable_until=until,
        challenger=_read_optional(challenger),
        ruleable_until=ruleable,
    )


def _read_optional(address: str) -> bytes | None:
    return to_canonical_address(address) if int(address, 16) else None

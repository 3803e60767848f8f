"""Trust in an agent: the rejecting checks, and the score that a threshold is for.

A failed check of identity, registration or validation rejects at any score. The score is made of
evidence that the operator names: responses of validators that re-execute runs, and feedback of
clients. The registries' own average counts for nothing, since every account can add to that
average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.lifecycle.manifest import AgentManifest

REEXECUTION_TAG = "reexecution"
"""The tag of responses that come from executing a run again."""

MAX_RESPONSE = 100
"""The best response of a validator. Source: ERC-8004."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustThreshold:
    """Requirements for running an agent."""

    min_score: float = 0.0
    """From 0 to 1."""

    requires_identity: bool = True
    requires_registration: bool = True
    requires_validation: bool = False
    """Whether a trusted validator must have answered, and none of them with less than 100."""

    def restrict(self, other: TrustThreshold | None) -> TrustThreshold:
        """Return the requirements of both thresholds; this one's for None."""
        if other is None:
            return self
        return TrustThreshold(
            min_score=max(self.min_score, other.min_score),
            requires_identity=self.requires_identity or other.requires_identity,
            requires_registration=self.requires_registration or other.requires_registration,
            requires_validation=self.requires_validation or other.requires_validation,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRecord:
    """A validator's response about a run of the agent."""

    validator: bytes
    response: int
    """From 0 to 100."""

    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRecord:
    """A client's feedback about the agent."""

    client: bytes
    score: float
    """From 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustSnapshot:
    """Statements of the registries on an agent at one block."""

    agent_slug: str
    has_identity: bool
    """Whether the identity registry has the manifest's agent ID."""

    is_registered: bool
    """Whether the identity's owner or wallet is the one that the manifest names."""

    validations: tuple[ValidationRecord, ...] = ()
    feedback: tuple[FeedbackRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedSources:
    """Sources that count: the operator names these."""

    validators: frozenset[bytes] = frozenset()
    clients: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustResult:
    """The outcome of the trust check of one agent."""

    agent_slug: str
    score: float
    failures: tuple[str, ...]
    """Why the agent is rejected; empty if it is not."""


class TrustSource(Protocol):
    """Where snapshots come from: registries on a chain, or a table."""

    @property
    def contracts(self) -> frozenset[bytes]:
        """The contracts that are read: no run may change these."""
        ...

    def take_snapshot(self, manifest: AgentManifest) -> TrustSnapshot:
        """Return the known facts of an agent now."""
        ...


class TrustTable:
    """A source of snapshots that are given: for chains without registries."""

    def __init__(self, snapshots: Mapping[str, TrustSnapshot] | None = None) -> None:
        """Input: snapshots by slug; an agent without one has no identity."""
        self._snapshots = dict(snapshots or {})

    @property
    def contracts(self) -> frozenset[bytes]:
        """None."""
        return frozenset()

    def take_snapshot(self, manifest: AgentManifest) -> TrustSnapshot:
        """Return the given snapshot of an agent."""
        slug = manifest.slug
        unknown = TrustSnapshot(agent_slug=slug, has_identity=False, is_registered=False)
        return self._snapshots.get(slug, unknown)


def evaluate_trust(
    snapshot: TrustSnapshot, threshold: TrustThreshold, sources: TrustedSources
) -> TrustResult:
    """Check an agent against a threshold."""
    validations = _select_validations(snapshot, sources)
    score = compute_score(snapshot, sources)
    failures = []
    if threshold.requires_identity and not snapshot.has_identity:
        failures.append("identity: the agent has no entry in the identity registry; register it")
    if threshold.requires_registration and not snapshot.is_registered:
        failures.append(
            "registration: the identity's owner is not the manifest's ownerWallet; register it"
        )
    if threshold.requires_validation:
        if not validations:
            failures.append("validation: no trusted validator has re-executed a run of the agent")
        elif min(each.response for each in validations) < MAX_RESPONSE:
            failures.append("validation: a trusted validator's re-execution gave another result")
    if score < threshold.min_score:
        failures.append(f"trust score {score:.2f}: must be at least {threshold.min_score:.2f}")
    return TrustResult(agent_slug=snapshot.agent_slug, score=score, failures=tuple(failures))


def compute_score(snapshot: TrustSnapshot, sources: TrustedSources) -> float:
    """Return the mean of all trusted evidence, from 0 to 1; 0 without any.

    Each response of a trusted validator counts once, and each trusted client counts once, with the
    mean of the client's feedback: a client that writes often has no more weight.
    """
    shares = [each.response / MAX_RESPONSE for each in _select_validations(snapshot, sources)]
    by_client: dict[bytes, list[float]] = {}
    for each in snapshot.feedback:
        if each.client in sources.clients:
            by_client.setdefault(each.client, []).append(each.score)
    shares += [_mean(scores) for scores in by_client.values()]
    return min(1.0, max(0.0, _mean(shares)))


def _select_validations(
    snapshot: TrustSnapshot, sources: TrustedSources
) -> tuple[ValidationRecord, ...]:
    return tuple(
        each
        for each in snapshot.validations
        if each.validator in sources.validators and each.tag == REEXECUTION_TAG
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0

"""Trust from ERC-8004's registries: snapshots of an agent, and responses of a validator.

A snapshot has the agent's identity, the validations of the agent, and the feedback of the clients
that the operator names. `getSummary` of the reputation registry is not used: the average there is
open to all accounts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_utils import keccak, to_canonical_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.run_block import (
    CallFailedError,
    EnvelopeCall,
    RefusedCallError,
)
from pyevm_agents.lifecycle.run_trace import hash_id
from pyevm_agents.lifecycle.trust import (
    REEXECUTION_TAG,
    FeedbackRecord,
    TrustSnapshot,
    ValidationRecord,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.abi.registries import RegistryAddresses
    from pyevm_agents.lifecycle.local_chain import LocalChainPort
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.trust import TrustedSources

PERCENT = 100
"""Feedback's value that is a score of 1."""

MAX_SALTS = 100
"""How many request hashes are tried. Each one that somebody takes costs them a transaction."""


class RegistryTrust:
    """A source of trust snapshots: three registries on a chain."""

    def __init__(
        self, port: LocalChainPort, registries: RegistryAddresses, sources: TrustedSources
    ) -> None:
        """Input: the chain; the registries' addresses; whose word counts."""
        self._port = port
        self._registries = registries
        self._sources = sources

    @property
    def contracts(self) -> frozenset[bytes]:
        """The three registries."""
        found = self._registries
        return frozenset({found.identity, found.reputation, found.validation})

    def take_snapshot(self, manifest: AgentManifest) -> TrustSnapshot:
        """Return the registries' statements on an agent at the head."""
        identity = manifest.erc8004
        unknown = TrustSnapshot(agent_slug=manifest.slug, has_identity=False, is_registered=False)
        if identity is None or identity.agent_registry != self._registries.identity:
            return unknown
        agent_id = identity.agent_id
        try:
            owner = self._read_identity("ownerOf", agent_id)
        except CallFailedError:
            return unknown
        return TrustSnapshot(
            agent_slug=manifest.slug,
            has_identity=True,
            is_registered=to_canonical_address(owner) == manifest.owner_wallet,
            validations=tuple(self._iter_validations(agent_id)),
            feedback=tuple(self._iter_feedback(agent_id)),
        )

    def _iter_validations(self, agent_id: int) -> Iterator[ValidationRecord]:
        address = self._registries.validation
        for request in read(
            self._port, "ValidationRegistry", address, "getAgentValidations", agent_id
        ):
            status = read_status(self._port, address, request)
            if status is not None and status.is_answered:
                yield ValidationRecord(
                    validator=status.validator, response=status.response, tag=status.tag
                )

    def _iter_feedback(self, agent_id: int) -> Iterator[FeedbackRecord]:
        clients = sorted(self._sources.clients)
        if not clients:  # An empty list would mean all clients.
            return
        given = (agent_id, clients, "", "", False)
        address = self._registries.reputation
        found = read(self._port, "ReputationRegistry", address, "readAllFeedback", *given)
        for client, _, value, decimals, *_ in zip(*found, strict=True):
            score = value / 10**decimals / PERCENT
            yield FeedbackRecord(
                client=to_canonical_address(client), score=min(1.0, max(0.0, score))
            )

    def _read_identity(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        address = self._registries.identity
        return read(self._port, "IdentityRegistry", address, function, *arguments)


class RegistryValidator:
    """Posts whether a run could be executed again: 100 or 0, with the tag `reexecution`."""

    def __init__(self, owner: LocalChainPort, validator: LocalChainPort, registry: bytes) -> None:
        """Post to a registry.

        Input:
            owner: signs requests: the agent's owner or operator in the identity registry.
            validator: signs responses.
            registry: the validation registry's address.
        """
        self._owner = owner
        self._validator = validator
        self._registry = registry

    def respond(self, agent_id: int, run_id: str, response: int, evidence: bytes) -> str:
        """Post a response about an agent's run; return the request's hash.

        Posting the same response again does nothing.
        """
        request = self._ask(agent_id, run_id, evidence)
        status = read_status(self._validator, self._registry, request)
        if status is None or (status.response, status.evidence) != (response, evidence):
            given = (request, response, "", evidence, REEXECUTION_TAG)
            self._send(self._validator, "validationResponse", *given)
        return "0x" + request.hex()

    def _ask(self, agent_id: int, run_id: str, evidence: bytes) -> bytes:
        """Return the hash of the run's request; one that another account took is skipped.

        Raises: ConfigError: all are taken.
        """
        for salt in range(MAX_SALTS):
            request = compute_request_hash(agent_id, f"{run_id}/{salt}", evidence)
            status = read_status(self._owner, self._registry, request)
            if status is None:
                given = (self._validator.address, agent_id, "", request)
                self._send(self._owner, "validationRequest", *given)
                return request
            if (status.agent_id, status.validator) == (agent_id, self._validator.address):
                return request
        raise ConfigError(f"validation of run {run_id}: {MAX_SALTS} request hashes are taken")

    def _send(self, port: LocalChainPort, function: str, *arguments: object) -> None:
        data = load_artifact("ValidationRegistry").encode_call(function, *arguments)
        try:
            port.mine_call(EnvelopeCall(target=self._registry, data=data))
        except RefusedCallError as error:
            raise ConfigError(f"{function}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStatus:
    """A validation request, with the last answer."""

    validator: bytes
    agent_id: int
    response: int
    evidence: bytes
    tag: str

    @property
    def is_answered(self) -> bool:
        """Whether the validator has answered with a tag."""
        return bool(self.tag)


def compute_request_hash(agent_id: int, salt: str, digest: bytes) -> bytes:
    """Return the hash of a validation request of a run.

    The hash binds the agent and a salt. The registry has one agent for each hash, and any account
    that sees a hash can take that hash first for another agent; the next salt gives another hash.
    """
    words = (agent_id, hash_id(salt), digest)
    return keccak(encode(["uint256", "bytes32", "bytes32"], words))


def read_status(port: LocalChainPort, registry: bytes, request: bytes) -> RequestStatus | None:
    """Return a validation request; None if never made."""
    try:
        found = read(port, "ValidationRegistry", registry, "getValidationStatus", request)
    except CallFailedError:
        return None
    validator, agent_id, response, evidence, tag, _ = found
    return RequestStatus(
        validator=to_canonical_address(validator),
        agent_id=agent_id,
        response=response,
        evidence=evidence,
        tag=tag,
    )


def read(
    port: LocalChainPort, contract: str, address: bytes, function: str, *arguments: object
) -> Any:  # noqa: ANN401 - what Solidity returns
    """Call a function of a contract at the head.

    Raises: CallFailedError: the call failed.
    """
    artifact = load_artifact(contract)
    output = port.call(address, artifact.encode_call(function, *arguments))
    return artifact.decode_result(function, output)

"""Trust in agents from ERC-8004's registries on a chain.

The registries' own averages are not read: anybody can add to them. Of feedback, only that of the
clients counts whom the operator names; of validations, those of named validators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_abi.exceptions import DecodingError
from eth_utils import to_canonical_address

from pyevm_agents.contracts import load_artifact
from pyevm_agents.lifecycle.chain_port import CallFailedError
from pyevm_agents.lifecycle.trust import FeedbackRecord, TrustSnapshot, ValidationRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyevm_agents.devnet.registries import RegistryAddresses
    from pyevm_agents.lifecycle.chain_port import ChainPort
    from pyevm_agents.lifecycle.manifest import AgentManifest, ManifestIdentity

MAX_VALIDATIONS = 256
"""The newest validations of an agent that are read: its owner can request any number."""

FEEDBACK_SCALE = 100
"""Value of the best feedback. Source: ERC-8004's examples, where 0 to 100 is usual."""

ALL_TAGS = ("", "")
INCLUDES_REVOKED = False


class RegistryTrust:
    """Snapshots of agents from registries."""

    def __init__(
        self, port: ChainPort, registries: RegistryAddresses, clients: Iterable[bytes] = ()
    ) -> None:
        """Input: the chain; the registries; the clients whose feedback is read."""
        self._port = port
        self._registries = registries
        self._clients = sorted(clients)

    def take_snapshot(self, manifest: AgentManifest) -> TrustSnapshot:
        """Return what the registries say of an agent now."""
        identity = manifest.erc8004
        owner = None if identity is None else self._find_owner(identity)
        if identity is None or owner is None:
            return TrustSnapshot(agent_slug=manifest.slug, has_identity=False, is_registered=False)
        return TrustSnapshot(
            agent_slug=manifest.slug,
            has_identity=True,
            is_registered=owner == manifest.owner_wallet,
            validations=tuple(self._read_validations(identity.agent_id)),
            feedback=tuple(self._read_feedback(identity.agent_id)),
        )

    def _find_owner(self, identity: ManifestIdentity) -> bytes | None:
        """Return the owner of an entry; None if this chain's registry does not have it."""
        if identity.agent_registry != self._registries.identity:
            return None
        registry = self._registries.identity
        owner = self._read("IdentityRegistry", registry, "ownerOf", identity.agent_id)
        return None if owner is None else to_canonical_address(owner)

    def _read_validations(self, agent_id: int) -> Iterable[ValidationRecord]:
        name, address = "ValidationRegistry", self._registries.validation
        hashes = self._read(name, address, "getAgentValidations", agent_id) or ()
        for request_hash in hashes[-MAX_VALIDATIONS:]:
            status = self._read(name, address, "getValidationStatus", request_hash)
            if status is None:
                continue
            validator, _, response, _, tag, _ = status
            yield ValidationRecord(
                validator=to_canonical_address(validator), response=response, tag=tag
            )

    def _read_feedback(self, agent_id: int) -> Iterable[FeedbackRecord]:
        if not self._clients:
            return
        given = self._read(
            "ReputationRegistry", self._registries.reputation, "readAllFeedback",
            agent_id, self._clients, *ALL_TAGS, INCLUDES_REVOKED,
        )  # fmt: skip
        if given is None:
            return
        clients, _, values, decimals, *_ = given
        for client, value, places in zip(clients, values, decimals, strict=True):
            score = value / 10**places / FEEDBACK_SCALE
            yield FeedbackRecord(
                client=to_canonical_address(client), score=min(1.0, max(0.0, score))
            )

    def _read(self, name: str, address: bytes, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Return what a view function returns; None if it reverts."""
        artifact = load_artifact(name)
        try:
            output = self._port.call(address, artifact.encode_call(function, *arguments))
            return artifact.decode_result(function, output)
        except (CallFailedError, DecodingError):
            return None

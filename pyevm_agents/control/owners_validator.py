"""The validator of a control plane, which answers for agents of several owners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.registry_trust import RegistryValidator, read, read_status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.abi.registries import RegistryAddresses
    from pyevm_agents.lifecycle.local_chain import LocalChainPort
    from pyevm_agents.lifecycle.registry_trust import RequestStatus


class OwnersValidator:
    """Posts responses about runs of agents; the owner of each signs the request."""

    def __init__(
        self,
        owners: Mapping[bytes, LocalChainPort],
        validator: LocalChainPort,
        registries: RegistryAddresses,
    ) -> None:
        """Post to the validation registry of a chain.

        Input:
            owners: ports that sign requests, by the owners' addresses.
            validator: signs responses.
            registries: the registries' addresses.
        """
        self._owners = owners
        self._validator = validator
        self._registries = registries

    def require_owner(self, slug: str, owner: bytes) -> None:
        """Reject an agent whose requests no key here can sign.

        Raises: ConfigError.
        """
        if owner not in self._owners:
            raise ConfigError(
                f"agent {slug}: its owner {to_checksum_address(owner)} must sign validation "
                "requests, and its key is not one of this chain's; omit --validator, or name one "
                "of the chain's accounts as ownerWallet"
            )

    def respond(self, agent_id: int, run_id: str, response: int, evidence: bytes) -> str:
        """Post a response about an agent's run; return the request's hash.

        Raises: ConfigError: the owner's key is missing, or the registry refuses.
        """
        contract = self._registries.identity
        found = read(self._validator, "IdentityRegistry", contract, "ownerOf", agent_id)
        owner = to_canonical_address(found)
        self.require_owner(str(agent_id), owner)
        registry = self._registries.validation
        poster = RegistryValidator(self._owners[owner], self._validator, registry)
        return poster.respond(agent_id, run_id, response, evidence)

    def read_response(self, request: str) -> RequestStatus | None:
        """Return the response to a request on the chain, or None.

        Input: the request's hash, in hexadecimal.
        """
        wanted = bytes.fromhex(request.removeprefix("0x"))
        status = read_status(self._validator, self._registries.validation, wanted)
        return status if status is not None and status.is_answered else None

"""Entries of agents in ERC-8004's identity registry: register one, or change its URI."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils import function_signature_to_4byte_selector, keccak, to_checksum_address

from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.chain_port import CallFailedError
from pyevm_agents.manifests.agent_manifest import PackageIdentity
from pyevm_agents.manifests.registration import build_data_uri
from pyevm_agents.oracle.accounts import RevertedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.manifests.agent_folder import AgentFolder
    from pyevm_agents.manifests.agent_manifest import PackageManifest

REGISTER = function_signature_to_4byte_selector("register(string)")
SET_URI = function_signature_to_4byte_selector("setAgentURI(uint256,string)")
TOKEN_URI = function_signature_to_4byte_selector("tokenURI(uint256)")
OWNER_OF = function_signature_to_4byte_selector("ownerOf(uint256)")
REGISTERED = keccak(b"Registered(uint256,string,address)")
"""Topic of the event. Source: ERC-8004, section "Registration"."""

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
"""A scheme and the rest. Source: RFC 3986, section 3."""


class ContractLog(NamedTuple):
    """A log of a transaction."""

    address: bytes
    topics: tuple[bytes, ...]
    data: bytes


class MinedCall(NamedTuple):
    """A transaction that succeeded."""

    hash: bytes
    logs: Sequence[ContractLog]


class IdentityAccount(Protocol):
    """An account that registers agents on its chain."""

    @property
    def address(self) -> bytes:
        """The account's address, which owns the entries that it makes."""
        ...

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        ...

    def call(self, to: bytes, data: bytes) -> bytes:
        """Call a contract; return its output. A failure is an AgentsError."""
        ...

    def transact(self, purpose: str, to: bytes, data: bytes) -> MinedCall:
        """Mine a transaction; return its logs. A failure is an AgentsError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationResult:
    """An agent's entry in the registry."""

    manifest: PackageManifest
    """The manifest with the entry, as it is written."""

    is_new: bool
    uri: str
    transaction_hashes: tuple[bytes, ...]
    """Empty if the entry was there with the same URI."""


def register_agent(
    folder: AgentFolder, account: IdentityAccount, registry: bytes, *, uri: str | None = None
) -> RegistrationResult:
    """Register an agent, and write its ID into its manifest and registration documents.

    An agent whose manifest has an entry of this registry and chain keeps it; its URI is changed if
    it differs. So another try completes what stopped after the manifest was written.

    Input:
        folder: the agent's.
        account: signs, and owns the entry.
        registry: the address of the identity registry.
        uri: where the registration document is; None to store the document itself on the chain.

    Raises: ConfigError: the URI or the manifest is invalid, the manifest names another owner, or
            the entry is another's. AgentsError: a transaction failed.
    """
    if uri is not None and not URI.fullmatch(uri):
        raise ConfigError(
            f"URI {uri!r:.80}: must begin with a scheme, such as https:// or ipfs://, and have no "
            "blanks; correct it"
        )
    manifest = folder.read_manifest()
    _require_owner(manifest, account)
    hashes: list[bytes] = []
    identity = _find_identity(manifest, account, registry)
    is_new = identity is None
    if identity is None:
        text = uri or ""
        mined = account.transact(
            f"Register {manifest.slug}", registry, REGISTER + encode(["string"], [text])
        )
        hashes.append(mined.hash)
        identity = PackageIdentity(
            registry=to_checksum_address(registry),
            agent_id=_read_agent_id(mined, registry),
            registration_hash="0x" + mined.hash.hex(),
            chain_id=account.chain_id,
        )
    else:
        _require_own_entry(identity, account, registry)
    manifest = _add_identity(manifest, identity, account)
    folder.write_manifest(manifest)
    wanted = build_data_uri(manifest) if uri is None else uri
    hashes += _set_uri(account, registry, identity, wanted)
    return RegistrationResult(
        manifest=manifest, is_new=is_new, uri=wanted, transaction_hashes=tuple(hashes)
    )


def _set_uri(
    account: IdentityAccount, registry: bytes, identity: PackageIdentity, wanted: str
) -> list[bytes]:
    """Change the URI of an entry if it differs; return the transactions' hashes."""
    output = account.call(registry, TOKEN_URI + encode(["uint256"], [identity.agent_id]))
    [present] = decode(["string"], output)
    if present == wanted:
        return []
    data = SET_URI + encode(["uint256", "string"], [identity.agent_id, wanted])
    return [account.transact(f"Set the URI of agent {identity.agent_id}", registry, data).hash]


def _find_identity(
    manifest: PackageManifest, account: IdentityAccount, registry: bytes
) -> PackageIdentity | None:
    """Return the manifest's entry, if it is of this chain and registry."""
    identity = manifest.identity
    if identity is None:
        return None
    place = (identity.chain_id, identity.registry.lower())
    if place != (account.chain_id, to_checksum_address(registry).lower()):
        return None
    return identity


def _require_owner(manifest: PackageManifest, account: IdentityAccount) -> None:
    """Check that the manifest names no other owner than the account."""
    owner, sender = manifest.owner_wallet, to_checksum_address(account.address)
    if owner is not None and owner.lower() != sender.lower():
        raise ConfigError(
            f"ownerWallet {owner} of {manifest.slug}: must be the account that registers, "
            f"{sender}; sign with the owner's key, or change agent.json"
        )


def _require_own_entry(
    identity: PackageIdentity, account: IdentityAccount, registry: bytes
) -> None:
    """Check that the account owns an entry."""
    place = f"agent {identity.agent_id} of {to_checksum_address(registry)}"
    try:
        output = account.call(registry, OWNER_OF + encode(["uint256"], [identity.agent_id]))
        [owner] = decode(["address"], output)
    except (CallFailedError, DecodingError, RevertedError) as error:
        raise ConfigError(
            f"{place}: not in the registry; remove erc8004 from agent.json to register it anew"
        ) from error
    if owner.lower() != to_checksum_address(account.address).lower():
        raise ConfigError(
            f"{place}: its owner is {to_checksum_address(owner)}; sign with the owner's key"
        )


def _read_agent_id(mined: MinedCall, registry: bytes) -> int:
    for log in mined.logs:
        if log.address == registry and log.topics[:1] == (REGISTERED,):
            return int.from_bytes(log.topics[1], "big")
    raise AgentsError(
        f"{to_checksum_address(registry)}: emitted no Registered event; pass the address of an "
        "ERC-8004 identity registry"
    )


def _add_identity(
    manifest: PackageManifest, identity: PackageIdentity, account: IdentityAccount
) -> PackageManifest:
    sender = to_checksum_address(account.address)
    return replace(
        manifest,
        identity=identity,
        owner_wallet=manifest.owner_wallet or sender,
        operator_wallet=manifest.operator_wallet or sender,
    )

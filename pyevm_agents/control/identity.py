"""Entries of agents in ERC-8004's identity registry: register one, or change the URI."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils import function_signature_to_4byte_selector, to_checksum_address

from pyevm_agents.client.accounts import RevertedError
from pyevm_agents.control.pending_registration import (
    PENDING_FILE,
    REGISTERED,
    PendingRegistration,
    find_registration,
    is_settled,
    read_pending,
    remove_pending,
    require_same_place,
    write_pending,
)
from pyevm_agents.errors import AgentsError, ConfigError, EngineFault
from pyevm_agents.manifests.agent_manifest import PackageIdentity
from pyevm_agents.manifests.registration import build_data_uri

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyevm_agents.client.accounts import SendingAccount, SentTransaction
    from pyevm_agents.manifests.agent_folder import AgentFolder
    from pyevm_agents.manifests.agent_manifest import PackageManifest

REGISTER = function_signature_to_4byte_selector("register(string)")
SET_URI = function_signature_to_4byte_selector("setAgentURI(uint256,string)")
TOKEN_URI = function_signature_to_4byte_selector("tokenURI(uint256)")
OWNER_OF = function_signature_to_4byte_selector("ownerOf(uint256)")
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
"""A scheme and the rest. Source: RFC 3986, section 3."""


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationResult:
    """An agent's entry in the registry."""

    manifest: PackageManifest
    """The manifest with the entry, as it is written."""

    is_new: bool
    """Whether the manifest had no entry before."""

    uri: str
    transaction_hashes: tuple[bytes, ...]
    """Those that were sent now; empty if the entry was there with the same URI."""


def register_agent(
    folder: AgentFolder,
    account: SendingAccount,
    registry: bytes,
    *,
    uri: str | None = None,
    tell: Callable[[str], None] = log.info,
) -> RegistrationResult:
    """Register an agent, and write the ID into the manifest and registration documents.

    An agent whose manifest has an entry of this registry and chain keeps the entry; a different URI
    is changed. Another try completes an interrupted registration, and makes no second entry: until
    the manifest has the entry, a file in the folder names the transaction.

    Input:
        folder: the agent's.
        account: signs, and owns the entry.
        registry: the address of the identity registry.
        uri: of the registration document; None to store the document itself on the chain.
        tell: is called with the outcome of an interrupted registration.

    Raises: ConfigError: the URI, the manifest or the file of an interrupted registration is
            invalid or names another account or registry, or the entry is another's.
            AgentsError: a transaction failed, or must be waited for.
    """
    if uri is not None and not URI.fullmatch(uri):
        raise ConfigError(
            f"URI {uri!r:.80}: must begin with a scheme, such as https:// or ipfs://, and have no "
            "blanks; correct it"
        )
    manifest = folder.read_manifest()
    _require_owner(manifest, account)
    path = folder.path / PENDING_FILE
    pending = read_pending(path)
    if pending is not None:
        require_same_place(path, pending, account, registry)
    hashes: list[bytes] = []
    identity = _find_identity(manifest, account, registry)
    is_new = identity is None
    if identity is None and pending is not None:
        identity, pending = _resume(path, pending, account, tell)
    if identity is None:
        if pending is None:
            pending = _begin(path, account, registry, uri or "")
        identity = _send(path, pending, account, manifest.slug)
        hashes.append(bytes.fromhex(identity.registration_hash[2:]))
    else:
        _require_own_entry(identity, account, registry)
    manifest = _add_identity(manifest, identity, account)
    folder.write_manifest(manifest)
    remove_pending(path)
    wanted = build_data_uri(manifest) if uri is None else uri
    hashes += _set_uri(account, registry, identity, wanted)
    return RegistrationResult(
        manifest=manifest, is_new=is_new, uri=wanted, transaction_hashes=tuple(hashes)
    )


def _resume(
    path: Path,
    pending: PendingRegistration,
    account: SendingAccount,
    tell: Callable[[str], None],
) -> tuple[PackageIdentity | None, PendingRegistration | None]:
    """Return the entry of an interrupted registration, or the transaction to send again.

    Neither if the transaction can't be mined any more.
    """
    text = f"The interrupted registration with nonce {pending.nonce}"
    if not is_settled(path, pending, account):
        tell(f"{text} is not on the chain and is sent again.")
        return None, pending
    found = find_registration(pending, account)
    if found is None:
        tell(f"{text} is not on the chain: another transaction has the nonce. It begins anew.")
        return None, None
    agent_id = int.from_bytes(found.topics[1], "big")
    present = _read_uri(account, pending.registry, agent_id)
    if present != pending.uri:
        raise ConfigError(
            f"{path}: the interrupted registration made agent {agent_id} of "
            f"{to_checksum_address(pending.registry)}, whose URI was changed since, to "
            f"{present!r:.80}; if that is this agent's entry, add it to agent.json as erc8004; "
            "otherwise remove the file to register the agent anew"
        )
    transaction_hash = found.transaction_hash
    tell(f"{text} made agent {agent_id}, in transaction 0x{transaction_hash.hex()}.")
    return _build_identity(pending, agent_id, transaction_hash), pending


def _begin(path: Path, account: SendingAccount, registry: bytes, uri: str) -> PendingRegistration:
    """Write the planned transaction into the file, in place of a registration that is given up."""
    pending = PendingRegistration(
        chain_id=account.chain_id,
        genesis_hash=account.genesis_hash,
        registry=registry,
        sender=account.address,
        nonce=account.read_nonces().pending,
        block_number=account.read_block_number(),
        uri=uri,
    )
    write_pending(path, pending)
    return pending


def _send(
    path: Path, pending: PendingRegistration, account: SendingAccount, slug: str
) -> PackageIdentity:
    """Mine a pending registration; return the entry. A failure for good removes the file."""
    data = REGISTER + encode(["string"], [pending.uri])
    try:
        mined = account.transact(
            pending.registry, data, nonce=pending.nonce, purpose=f"Register {slug}"
        )
        return _build_identity(pending, _read_agent_id(mined, pending.registry), mined.hash)
    except EngineFault:  # Whether it was sent, or will be mined, is not known.
        raise
    except AgentsError:
        with suppress(AgentsError):
            if _is_lost(pending, account):
                remove_pending(path)
        raise


def _is_lost(pending: PendingRegistration, account: SendingAccount) -> bool:
    """Return whether a registration that failed was not sent, or was mined and made no entry."""
    nonces = account.read_nonces()
    if nonces.mined > pending.nonce:
        return find_registration(pending, account) is None
    return nonces.pending <= pending.nonce


def _build_identity(
    pending: PendingRegistration, agent_id: int, transaction_hash: bytes
) -> PackageIdentity:
    return PackageIdentity(
        registry=to_checksum_address(pending.registry),
        agent_id=agent_id,
        registration_hash="0x" + transaction_hash.hex(),
        chain_id=pending.chain_id,
    )


def _set_uri(
    account: SendingAccount, registry: bytes, identity: PackageIdentity, wanted: str
) -> list[bytes]:
    """Change a different URI of an entry; return the transactions' hashes."""
    if _read_uri(account, registry, identity.agent_id) == wanted:
        return []
    data = SET_URI + encode(["uint256", "string"], [identity.agent_id, wanted])
    purpose = f"Set the URI of agent {identity.agent_id}"
    return [account.transact(registry, data, purpose=purpose).hash]


def _read_uri(account: SendingAccount, registry: bytes, agent_id: int) -> str:
    output = account.read(registry, TOKEN_URI + encode(["uint256"], [agent_id]))
    return str(decode(["string"], output)[0])


def _find_identity(
    manifest: PackageManifest, account: SendingAccount, registry: bytes
) -> PackageIdentity | None:
    """Return the manifest's entry, if of this chain and registry."""
    identity = manifest.identity
    if identity is None:
        return None
    place = (identity.chain_id, identity.registry.lower())
    if place != (account.chain_id, to_checksum_address(registry).lower()):
        return None
    return identity


def _require_owner(manifest: PackageManifest, account: SendingAccount) -> None:
    """Check that the manifest names no other owner than the account."""
    owner, sender = manifest.owner_wallet, to_checksum_address(account.address)
    if owner is not None and owner.lower() != sender.lower():
        raise ConfigError(
            f"ownerWallet {owner} of {manifest.slug}: must be the account that registers, "
            f"{sender}; sign with the owner's key, or change agent.json"
        )


def _require_own_entry(identity: PackageIdentity, account: SendingAccount, registry: bytes) -> None:
    """Check that the account owns an entry."""
    place = f"agent {identity.agent_id} of {to_checksum_address(registry)}"
    try:
        output = account.read(registry, OWNER_OF + encode(["uint256"], [identity.agent_id]))
        [owner] = decode(["address"], output)
    except (DecodingError, RevertedError) as error:
        raise ConfigError(
            f"{place}: not in the registry; remove erc8004 from agent.json to register it anew"
        ) from error
    if owner.lower() != to_checksum_address(account.address).lower():
        raise ConfigError(
            f"{place}: its owner is {to_checksum_address(owner)}; sign with the owner's key"
        )


def _read_agent_id(mined: SentTransaction, registry: bytes) -> int:
    for log in mined.logs:
        if log.address == registry and log.topics[:1] == (REGISTERED,):
            return int.from_bytes(log.topics[1], "big")
    raise AgentsError(
        f"{to_checksum_address(registry)}: emitted no Registered event; pass the address of an "
        "ERC-8004 identity registry"
    )


def _add_identity(
    manifest: PackageManifest, identity: PackageIdentity, account: SendingAccount
) -> PackageManifest:
    sender = to_checksum_address(account.address)
    return replace(
        manifest,
        identity=identity,
        owner_wallet=manifest.owner_wallet or sender,
        operator_wallet=manifest.operator_wallet or sender,
    )

"""The file of a registration that has begun: another try finds the first one's transaction there.

The file stands in the agent's folder from before the first transaction until agent.json has the
entry. A transaction is known by sender and nonce: no two of one sender and nonce are mined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils import keccak, to_canonical_address, to_checksum_address

from pyevm_agents.atomic_files import sync_folder, write_atomically
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.manifests.documents import read_document, serialize_document

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.client.accounts import SendingAccount
    from pyevm_agents.client.logs import MinedLog
    from pyevm_agents.manifests.documents import Document

PENDING_FILE = "pending-registration.json"

REGISTERED = keccak(b"Registered(uint256,string,address)")
"""Topic of the event. Source: ERC-8004, section "Registration"."""

REORGANIZATION_BLOCKS = 64
"""How far below its first block a registration is searched: a reorganisation may have moved it.
Two epochs; a deeper block is final. Source: Ethereum's consensus specification."""

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
HASH = re.compile(r"0x[0-9a-f]{64}")
ANY_TEXT = re.compile(r"(?s:.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRegistration:
    """A call of `register(string)` that may have been sent."""

    chain_id: int
    genesis_hash: bytes
    registry: bytes
    sender: bytes
    nonce: int
    """Of the transaction."""

    block_number: int
    """The latest block before it was sent."""

    uri: str
    """The argument of `register`."""


def read_pending(path: Path) -> PendingRegistration | None:
    """Read a pending file; return None if there is none.

    Raises: ConfigError: no such file, or not readable.
    """
    if not path.exists():
        return None
    advice = "look whether the registry has the agent; then remove the file to register it anew"
    try:
        return _parse(read_document(path))
    except ConfigError as error:
        text = str(error).removeprefix(f"{path}: ")
        raise ConfigError(f"{path}: not a pending registration: {text}; {advice}") from error


def write_pending(path: Path, pending: PendingRegistration) -> None:
    """Write a pending file atomically, and wait until the file is on the disk.

    Raises: ConfigError: not writable.
    """
    form = {
        "chainId": pending.chain_id,
        "genesisHash": "0x" + pending.genesis_hash.hex(),
        "registry": to_checksum_address(pending.registry),
        "sender": to_checksum_address(pending.sender),
        "nonce": pending.nonce,
        "blockNumber": pending.block_number,
        "uri": pending.uri,
    }
    write_atomically(path, serialize_document(form).encode(), is_private=True)
    sync_folder(path.parent)


def remove_pending(path: Path) -> None:
    """Remove a pending file, if there is one; files written beside are on the disk before.

    Raises: ConfigError: not removable.
    """
    sync_folder(path.parent)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: can't be removed: {error.strerror}") from error


def require_same_place(
    path: Path, pending: PendingRegistration, account: SendingAccount, registry: bytes
) -> None:
    """Check that a pending registration is of an account, on the account's chain, in a registry.

    Raises: ConfigError: another account, chain, genesis block or registry.
    """
    members = {
        "chain ID": (pending.chain_id, account.chain_id),
        "genesis block": ("0x" + pending.genesis_hash.hex(), "0x" + account.genesis_hash.hex()),
        "registry": (to_checksum_address(pending.registry), to_checksum_address(registry)),
        "sender": (to_checksum_address(pending.sender), to_checksum_address(account.address)),
    }
    for name, (present, given) in members.items():
        if present != given:
            raise ConfigError(
                f"{path}: a registration with {name} {present} was interrupted, and this one has "
                f"{name} {given}; complete the first one with its own options, or remove the file "
                "to give it up"
            )


def is_settled(path: Path, pending: PendingRegistration, account: SendingAccount) -> bool:
    """Return whether a transaction with the nonce of a pending registration is mined.

    If not, the account has none, so that the registration can be sent again with the same nonce.

    Raises: AgentsError: transactions of the account are not mined yet, or the node failed.
    """
    nonces = account.read_nonces()
    if nonces.mined > pending.nonce:
        return True
    sender = to_checksum_address(pending.sender)
    begin = f"{path}: the registration with nonce {pending.nonce} of {sender} was interrupted"
    if nonces.pending > nonces.mined:
        raise AgentsError(
            f"{begin}, and the account has transactions that are not mined: its next nonce is "
            f"{nonces.mined} now and {nonces.pending} after them; try again when they are mined"
        )
    if nonces.mined < pending.nonce:
        raise AgentsError(
            f"{begin}, but the account's next nonce is {nonces.mined}, and the node has no "
            "transactions in between; try again when they are mined, or remove the file if they "
            "never will be, such as on a chain that was started anew"
        )
    return False


def find_registration(pending: PendingRegistration, account: SendingAccount) -> MinedLog | None:
    """Return the event of a pending registration; None if the nonce was used for something else."""
    topics = (REGISTERED, None, pending.sender.rjust(32, b"\0"))
    first = max(0, pending.block_number - REORGANIZATION_BLOCKS)
    for found in account.find_logs(pending.registry, topics, first):
        if account.read_origin(found.transaction_hash) == (pending.sender, pending.nonce):
            return found if _read_uri(found.data) == pending.uri else None
    return None


def _read_uri(data: bytes) -> str | None:
    try:
        [uri] = decode(["string"], data)
    except DecodingError:
        return None
    return str(uri)


def _parse(form: Document) -> PendingRegistration:
    return PendingRegistration(
        chain_id=_parse_number(form, "chainId"),
        genesis_hash=bytes.fromhex(_parse_text(form, "genesisHash", HASH)[2:]),
        registry=to_canonical_address(_parse_text(form, "registry", ADDRESS)),
        sender=to_canonical_address(_parse_text(form, "sender", ADDRESS)),
        nonce=_parse_number(form, "nonce"),
        block_number=_parse_number(form, "blockNumber"),
        uri=_parse_text(form, "uri", ANY_TEXT),
    )


def _parse_number(form: Document, name: str) -> int:
    value = form.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigError(f"{name} {value!r:.80}: must be a whole number from 0 on")
    return value


def _parse_text(form: Document, name: str, pattern: re.Pattern[str]) -> str:
    value = form.get(name)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ConfigError(f"{name} {value!r:.80}: must match {pattern.pattern}")
    return value

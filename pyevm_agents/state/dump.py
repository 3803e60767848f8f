"""Dumps of the accounts of a state trie, keyed by address, like anvil's.

    {"0x<address>": {"nonce": 1, "balance": "0x0", "code": "0x60…",
                     "storage": {"0x<slot>": "0x<value>"}}}

A trie has the hashes of addresses and slots. The database has the addresses and slots by hash.
Blocks that another client executed come without these: an account is then keyed by hash.

    {"0x<keccak of the address>": {"nonce": "0x1", "balance": "0x0", "code": "0x60…",
                                   "storage": {"0x<keccak of the slot>": "0x2a"}}}

A dump of a fork has the accounts that differ from the remote state, and the differing slots, all by
hash. An account that was deleted is null; one that hides the remote slots has `"hidesRemote":
true`. A fork also loads accounts that are keyed by address: their other slots stay the remote ones.

Numbers are in hexadecimal, or JSON numbers. Slots may be short: anvil before 1.0 writes `"0x0"`.

Source: yellow paper, 4.1, for the two tries; anvil 1.7.1, `--dump-state`; foundry,
crates/anvil/test-data, for earlier versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import rlp
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth_utils import keccak
from rlp.sedes import big_endian_int
from trie.hexary import HexaryTrie
from trie.iter import NodeIterator

from precompiles.spec import ADDRESS_BYTES, HASH_BYTES
from pyevm_agents.errors import ConfigError
from pyevm_agents.state.account import Account
from pyevm_agents.state.overlay_account_db import DELETED, ORIGIN_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth.abc import DatabaseAPI


def dump_accounts(db: DatabaseAPI, root: bytes) -> dict[str, dict[str, object] | None]:
    """Return all accounts of a state, or of a fork's overlay, as JSON values."""
    entries = list(NodeIterator(HexaryTrie(db, root)).items())
    is_overlay = any(key == ORIGIN_KEY for key, _ in entries)
    dump_entry = _dump_entry_by_hash if is_overlay else _dump_entry
    return dict(dump_entry(db, key, encoded) for key, encoded in entries if key != ORIGIN_KEY)


def _dump_entry(
    db: DatabaseAPI, key: bytes, encoded: bytes
) -> tuple[str, dict[str, object] | None]:
    """Dump an account by address, or by hash where the address or a slot is unknown."""
    account = Account.decode(encoded)
    address = _find_preimage(db, key)
    slots = {_find_preimage(db, name): value for name, value in _list_slots(db, account)}
    if address is None or None in slots:
        return _dump_entry_by_hash(db, key, encoded)
    storage = {_encode(slot): f"0x{value:064x}" for slot, value in slots.items()}
    return _encode(address), {"nonce": account.nonce, **_dump_rest(db, account, storage)}


def _dump_entry_by_hash(
    db: DatabaseAPI, key: bytes, encoded: bytes
) -> tuple[str, dict[str, object] | None]:
    if encoded == DELETED:
        return _encode(key), None
    account = Account.decode(encoded)
    storage = {_encode(name): hex(value) for name, value in _list_slots(db, account)}
    form = {"nonce": hex(account.nonce), **_dump_rest(db, account, storage)}
    return _encode(key), {**form, "hidesRemote": True} if account.hides_remote else form


def _dump_rest(db: DatabaseAPI, account: Account, storage: dict[str, str]) -> dict[str, object]:
    """Dump the common part of both formats."""
    code = b"" if account.code_hash == EMPTY_SHA3 else db[account.code_hash]
    return {"balance": hex(account.balance), "code": _encode(code), "storage": storage}


def _list_slots(db: DatabaseAPI, account: Account) -> Iterator[tuple[bytes, int]]:
    """Yield the hashes of an account's slots, and their values."""
    for name, value in NodeIterator(HexaryTrie(db, account.storage_root)).items():
        yield name, rlp.decode(value, sedes=big_endian_int)


def _find_preimage(db: DatabaseAPI, key: bytes) -> bytes | None:
    """Return the address or slot of a hash; None if not in the database."""
    return db.get(key)


def _encode(data: bytes | None) -> str:
    return "0x" + (data or b"").hex()


def load_accounts(
    db: DatabaseAPI, root: bytes, accounts: object, *, is_overlay: bool = False
) -> bytes:
    """Replace accounts of a state by those of a dump; return the new state root.

    Input: is_overlay: whether the state is a fork's overlay, with a dump of the same fork.

    Raises: ConfigError: `accounts` is in neither the format of `dump_accounts` nor anvil's.
    """
    try:
        assert isinstance(accounts, dict)  # noqa: S101 - becomes a ConfigError below
        parse = _parse_overlay_entry if is_overlay else _parse_entry
        read = dict(parse(db, key, form) for key, form in accounts.items())
    except (
        AssertionError,
        AttributeError,
        KeyError,
        OverflowError,
        TypeError,
        ValueError,
    ) as error:
        raise ConfigError(
            f"accounts of a state dump: not in the format of anvil_dumpState ({error}); load a "
            "dump of this node or anvil"
        ) from error
    state = HexaryTrie(db, root)
    for key, account in read.items():
        state[key] = DELETED if account is None else account.encode()
    return bytes(state.root_hash)


def _parse_overlay_entry(
    db: DatabaseAPI, key: object, form: Mapping[str, object] | None
) -> tuple[bytes, Account | None]:
    """Parse an entry of a fork's dump; an account that was deleted is None."""
    if form is None:
        return _parse_hash(key), None
    if len(_parse_bytes(key)) == ADDRESS_BYTES:
        return _parse_entry(db, key, form, has_zeros=True)
    hides_remote = form.get("hidesRemote", False)
    if not isinstance(hides_remote, bool):
        raise TypeError(f"hidesRemote {hides_remote!r}: not true or false")
    account = _parse_account(db, form, has_hashes=True, has_zeros=not hides_remote)
    return _parse_hash(key), account._replace(hides_remote=hides_remote)


def _parse_entry(
    db: DatabaseAPI, key: object, form: Mapping[str, object], *, has_zeros: bool = False
) -> tuple[bytes, Account | None]:
    """Parse an entry of a dump; return the hash of the address, and the account."""
    name = _parse_bytes(key)
    if len(name) == ADDRESS_BYTES:
        key = keccak(name)
        db[key] = name
        return key, _parse_account(db, form, has_hashes=False, has_zeros=has_zeros)
    return _parse_hash(key), _parse_account(db, form, has_hashes=True)


def _parse_account(
    db: DatabaseAPI, form: Mapping[str, object], *, has_hashes: bool, has_zeros: bool = False
) -> Account:
    """Parse an account.

    Input:
        has_hashes: whether slots are keyed by hash.
        has_zeros: whether a slot of 0 differs from no slot.
    """
    code = _parse_bytes(form["code"])
    code_hash = keccak(code)
    if code:
        db[code_hash] = code
    storage = HexaryTrie(db, BLANK_ROOT_HASH)
    slots = form["storage"]
    assert isinstance(slots, dict)  # noqa: S101 - becomes a ConfigError in `load_accounts`
    for slot, value in slots.items():
        name = _parse_hash(slot) if has_hashes else _parse_slot(slot)
        number = _parse_quantity(value, 256)
        if not number and not has_zeros:
            continue
        key = name if has_hashes else keccak(name)
        if not has_hashes:
            db[key] = name
        storage[key] = rlp.encode(number, sedes=big_endian_int)
    return Account(
        nonce=_parse_quantity(form["nonce"], 64),
        balance=_parse_quantity(form["balance"], 256),
        storage_root=storage.root_hash,
        code_hash=code_hash,
    )


def _parse_bytes(text: object) -> bytes:
    if not isinstance(text, str) or not text.startswith("0x"):
        raise ValueError(f"{text!r}: not hexadecimal")
    return bytes.fromhex(text[2:])


def _parse_hash(text: object) -> bytes:
    value = _parse_bytes(text)
    if len(value) != HASH_BYTES:
        raise ValueError(f"{text!r}: not a hash")
    return value


def _parse_slot(text: object) -> bytes:
    return _parse_quantity(text, 8 * HASH_BYTES).to_bytes(HASH_BYTES, "big")


def _parse_quantity(value: object, bits: int) -> int:
    if type(value) is int:
        number = value
    elif isinstance(value, str) and value.startswith("0x"):
        number = int(value, 16)
    else:
        raise ValueError(f"{value!r}: not a quantity")
    if not 0 <= number < 2**bits:
        raise ValueError(f"{value!r} has more than {bits} bits")
    return number

"""Encrypted keystore files (Web3 Secret Storage), as geth, cast and eth_account write them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from eth_keys.datatypes import PrivateKey
from eth_utils import is_hex_address, to_checksum_address

from pyevm_agents.errors import ConfigError
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_KEYSTORE_BYTES = 1 << 16
"""A keystore has some 600 bytes."""

OWNER_ONLY = 0o600


def open_keystore(path: Path, password: str) -> PrivateKey:
    """Decrypt the key in a keystore file. Takes about a second, on purpose of the format.

    Raises: ConfigError: no such file, not a keystore, or another password.
    """
    from eth_account import Account  # noqa: PLC0415 - slow to import

    form = read_keystore(path)
    try:
        return PrivateKey(bytes(Account.decrypt(dict(form), password)))
    except ValueError as error:
        if "MAC" in str(error):
            raise ConfigError(f"{path}: wrong password") from error
        raise _build_error(path, error) from error
    except (AttributeError, KeyError, NotImplementedError, TypeError) as error:
        raise _build_error(path, error) from error


def read_keystore(path: Path) -> Mapping[str, Any]:
    """Return the JSON of a keystore file, still encrypted.

    Raises: ConfigError: no such file, or not a keystore.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_KEYSTORE_BYTES)
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such file; make a keystore with `pyevm-agents oracle key new {path}`"
        ) from error
    except IsADirectoryError as error:
        raise ConfigError(f"{path}: is a folder; pass a keystore file in it") from error
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror}") from error
    try:
        form = parse_json(content)
    except ConfigError as error:
        raise ConfigError(
            f"{path}: not a keystore: not JSON; make one with `pyevm-agents oracle key new`"
        ) from error
    if not isinstance(form, dict) or not isinstance(form.get("crypto", form.get("Crypto")), dict):
        raise _build_error(path, KeyError("crypto"))
    return form


def read_keystore_address(path: Path) -> str | None:
    """Return the address that a keystore file states, checksummed; None without one.

    Raises: ConfigError: no such file, or not a keystore.
    """
    address = read_keystore(path).get("address")
    if not isinstance(address, str) or not is_hex_address(address):
        return None
    return to_checksum_address("0x" + address.removeprefix("0x"))


def create_keystore(path: Path, password: str, key: PrivateKey | None = None) -> str:
    """Write a key, or a new random one, to a new keystore file, readable by the owner alone.

    Output: the key's address, checksummed.
    Raises: ConfigError: the file exists, or can't be written.
    """
    from eth_account import Account  # noqa: PLC0415 - slow to import

    refuse_existing(path)
    account = Account.create() if key is None else Account.from_key(key.to_bytes())
    data = json.dumps(account.encrypt(password), indent=2).encode() + b"\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        refuse_existing(path)
        raise
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {error.strerror}") from error
    return str(account.address)


def refuse_existing(path: Path) -> None:
    """Refuse a path at which something is.

    Raises: ConfigError: there is.
    """
    if path.exists() or path.is_symlink():
        raise ConfigError(
            f"{path}: exists already, and a lost key can't be replaced; name another file"
        )


def _build_error(path: Path, error: Exception) -> ConfigError:
    reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
    return ConfigError(
        f"{path}: not a keystore of version 3: {reason}; `pyevm-agents oracle key new` makes one"
    )

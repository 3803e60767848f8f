"""Genesis files in the format of geth and anvil: `--init`.

    {"config": {"chainId": 5}, "timestamp": "0x0", "gasLimit": "0x1c9c380", "baseFeePerGas": "0x7",
     "alloc": {"0x5fbd…": {"balance": "0x5", "nonce": "0x1", "code": "0x01",
                           "storage": {"0x0": "0x2a"}}}}

Numbers are hexadecimal or decimal. Fields without a meaning here (difficulty, coinbase, block
numbers of forks) are ignored.

Source: geth, `core.Genesis`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson
from eth_typing import Address

from precompiles.spec import ADDRESS_BYTES
from pyevm_agents.chain import GenesisAccount
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_BYTES = 2**28
WORD_BITS, NONCE_BITS, RULE_BITS = 256, 64, 62

RULES = {
    "timestamp": "timestamp_seconds",
    "gasLimit": "gas_limit",
    "baseFeePerGas": "base_fee_wei",
}
"""Fields of `NodeConfig` by the fields that set them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenesisFile:
    """The content of a genesis file."""

    rules: Mapping[str, int] = field(default_factory=dict)
    """Values by fields of `NodeConfig`."""

    accounts: Mapping[Address, GenesisAccount] = field(default_factory=dict)


def read_genesis(path: Path) -> GenesisFile:
    """Read a genesis file.

    Raises: ConfigError: the file is unreadable or invalid; the message names the field.
    """
    try:
        with path.open("rb") as file:
            form = orjson.loads(file.read(MAX_BYTES))
    except OSError as error:
        raise ConfigError(f"genesis file {path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"genesis file {path}: not JSON: {error}") from error
    try:
        return _parse_genesis(_require_object(form, "content"))
    except ConfigError as error:
        raise ConfigError(f"genesis file {path}: {error}") from error


def _parse_genesis(form: Mapping[str, object]) -> GenesisFile:
    config = _require_object(_get_field(form, "config", {}), "config")
    rules = {
        option: _parse_number(form[name], name, RULE_BITS)
        for name, option in RULES.items()
        if form.get(name) is not None
    }
    if "chainId" in config:
        rules["chain_id"] = _parse_number(config["chainId"], "config.chainId", RULE_BITS)
    accounts = {
        Address(_parse_bytes(key, f"alloc.{key}", ADDRESS_BYTES)): _parse_account(
            entry, f"alloc.{key}"
        )
        for key, entry in _require_object(_get_field(form, "alloc", {}), "alloc").items()
    }
    return GenesisFile(rules=rules, accounts=accounts)


def _parse_account(entry: object, at: str) -> GenesisAccount:
    form = _require_object(entry, at)
    storage = _require_object(_get_field(form, "storage", {}), f"{at}.storage")
    slots = {
        _parse_number(slot, f"{at}.storage"): _parse_number(value, f"{at}.storage.{slot}")
        for slot, value in storage.items()
    }
    return GenesisAccount(
        balance_wei=_parse_number(_get_field(form, "balance", 0), f"{at}.balance"),
        nonce=_parse_number(_get_field(form, "nonce", 0), f"{at}.nonce", NONCE_BITS),
        code=_parse_bytes(_get_field(form, "code", "0x"), f"{at}.code"),
        storage={slot: value for slot, value in slots.items() if value},
    )


def _get_field(form: Mapping[str, object], name: str, otherwise: object) -> object:
    """Return a field; `otherwise` if missing or null."""
    value = form.get(name)
    return otherwise if value is None else value


def _require_object(value: object, at: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ConfigError(f"{at} {_abbreviate(value)}: must be an object")
    return value


def _parse_number(value: object, at: str, bits: int = WORD_BITS) -> int:
    try:
        if isinstance(value, str):
            number = int(value, 16 if value[:2] in {"0x", "0X"} else 10)
        else:
            number = value if type(value) is int else -1
    except ValueError:
        number = -1
    if not 0 <= number < 2**bits:
        raise ConfigError(f"{at} {_abbreviate(value)}: must be a number of at most {bits} bits")
    return number


def _parse_bytes(value: object, at: str, size: int | None = None) -> bytes:
    try:
        data = bytes.fromhex(value.removeprefix("0x")) if isinstance(value, str) else None
    except ValueError:
        data = None
    if data is None or (size is not None and len(data) != size):
        wanted = "hexadecimal digits" if size is None else f"{size} bytes in hexadecimal"
        raise ConfigError(f"{at} {_abbreviate(value)}: must be {wanted}")
    return data


def _abbreviate(value: object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004 - of a message

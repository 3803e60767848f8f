"""A node's accounts: private keys by address, and impersonated accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.errors import ConfigError
from pyevm_agents.node.errors import SignerError

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_MNEMONIC = "test test test test test test test test test test test junk"
"""The mnemonic of anvil and Hardhat."""

DEFAULT_PATH = "m/44'/60'/0'/0"
MNEMONIC_LENGTHS = ("12", "15", "18", "21", "24")
"""Numbers of words of a mnemonic. Source: BIP-39."""

MAX_ACCOUNTS = 1_000
"""Upper bound of derived accounts; deriving one takes some 0.2 ms."""

DEFAULT_KEYS = (
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    "7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
    "47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
    "8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
    "92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
    "4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
    "dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
    "2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
)
"""The first ten keys of the default mnemonic, so that a start derives none."""


def generate_mnemonic(words: int) -> str:
    """Return a random BIP-39 mnemonic. Input: words: one of `MNEMONIC_LENGTHS`."""
    from eth_account.hdaccount import generate_mnemonic as generate  # noqa: PLC0415 - slow to import
    from eth_account.types import Language  # noqa: PLC0415 - belongs to the above

    return str(generate(words, Language.ENGLISH))


def derive_keys(mnemonic: str, count: int, path: str = DEFAULT_PATH) -> list[PrivateKey]:
    """Return the keys of a mnemonic (BIP-39, BIP-32), from index 0 on.

    Raises: ConfigError: the mnemonic or the count is invalid.
    """
    if not 1 <= count <= MAX_ACCOUNTS:
        raise ConfigError(f"{count} accounts: must be 1 to {MAX_ACCOUNTS}")
    if mnemonic == DEFAULT_MNEMONIC and path == DEFAULT_PATH and count <= len(DEFAULT_KEYS):
        return [PrivateKey(bytes.fromhex(key)) for key in DEFAULT_KEYS[:count]]
    from eth_account.hdaccount import (  # noqa: PLC0415 - slow to import, and seldom needed
        key_from_seed,
        seed_from_mnemonic,
    )
    from eth_utils import ValidationError  # noqa: PLC0415 - belongs to the above

    try:
        seed = seed_from_mnemonic(mnemonic, "")
    except ValidationError as error:
        raise ConfigError(
            f"{mnemonic!r} is not a mnemonic: {error}; give 12 to 24 words of BIP-39's list"
        ) from error
    return [PrivateKey(key_from_seed(seed, f"{path}/{index}")) for index in range(count)]


class Keys:
    """Private keys by address, and the impersonated accounts."""

    def __init__(self, keys: Iterable[PrivateKey] = ()) -> None:
        self._keys: dict[Address, PrivateKey] = {}
        self.impersonated: frozenset[Address] = frozenset()
        self.impersonates_all = False
        for key in keys:
            self.add(key)

    def add(self, key: PrivateKey) -> Address:
        """Add a key; return the address."""
        address = Address(key.public_key.to_canonical_address())
        self._keys[address] = key
        return address

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The accounts with a key, in the order of addition."""
        return tuple(self._keys)

    def get_key(self, address: Address) -> PrivateKey | None:
        """Return an account's key, or None."""
        return self._keys.get(address)

    def require_key(self, address: Address) -> PrivateKey:
        """Return an account's key.

        Raises: SignerError: the node lacks the key.
        """
        key = self.get_key(address)
        if key is None:
            raise SignerError(
                f"No Signer available: the node has no key of 0x{address.hex()}; "
                "eth_accounts lists its accounts"
            )
        return key

    def can_send(self, address: Address) -> bool:
        """Whether the node sends for this account, with a key or by impersonation."""
        return address in self._keys or self.is_impersonated(address)

    def is_impersonated(self, address: Address) -> bool:
        """Whether the account is impersonated: the node sends for it without a key."""
        return self.impersonates_all or address in self.impersonated

    def impersonate(self, address: Address) -> None:
        """Start to send for an account without the account's key."""
        if address not in self._keys:
            self.impersonated |= {address}

    def stop_impersonating(self, address: Address) -> None:
        """Stop impersonating an account."""
        self.impersonated -= {address}

"""Names of chains, their native tokens and their explorers, by chain ID.

The data are those of github.com/ethereum-lists/chains, in the package evmchains. A chain without an
entry, such as a devnet, has a number for a name. The wrapped native token is not in the data: a
router returns its address.

The token of a testnet often has the mainnet's symbol after a letter, as tBNB. The mainnet's symbol,
which people and models know, is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from evmchains.chains import PUBLIC_CHAIN_META

from pyevm_agents.contract_intelligence.untrusted_text import clean_label

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_SYMBOL, DEFAULT_DECIMALS = "ETH", 18
DEFAULT_NAME = "ether"
"""What users call ETH."""

SMALL_UNITS = ("wei", "gwei")
"""Parts of the native token, on every chain."""

MAINNET = "mainnet"
"""The key of a network's main chain in the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainMetadata:
    """Names of a chain and of the chain's native token, as users know both."""

    chain_id: int
    name: str
    native_symbol: str = DEFAULT_SYMBOL
    """On a testnet the mainnet's, where its own is that with a letter before it."""

    native_decimals: int = DEFAULT_DECIMALS
    native_names: tuple[str, ...] = (DEFAULT_SYMBOL, DEFAULT_NAME, *SMALL_UNITS)
    """Words for the native token and its small units. No other token may have such a name."""

    explorer_url: str = ""
    """Page of the first explorer; empty if there is none."""

    is_known: bool = True


def get_chain_metadata(chain_id: int) -> ChainMetadata:
    """Return the names of a chain."""
    form = _index_chains().get(chain_id)
    if form is None:
        return ChainMetadata(chain_id=chain_id, name=f"chain {chain_id}", is_known=False)
    native = form["nativeCurrency"]
    symbol = clean_label(_choose_symbol(form), DEFAULT_SYMBOL)
    words = [symbol, clean_label(native["symbol"], symbol), clean_label(native["name"], symbol)]
    words += [DEFAULT_NAME] if DEFAULT_SYMBOL in words else []
    explorers = form.get("explorers") or [{}]
    return ChainMetadata(
        chain_id=chain_id,
        name=clean_label(form["name"], f"chain {chain_id}"),
        native_symbol=symbol,
        native_decimals=int(native["decimals"]),
        native_names=tuple(dict.fromkeys((*words, *SMALL_UNITS))),
        explorer_url=str(explorers[0].get("url", "")),
    )


def _choose_symbol(form: Mapping[str, Any]) -> str:
    """Return the symbol by which users know the native token of a chain."""
    own = str(form["nativeCurrency"]["symbol"])
    mainnet = _index_mainnets().get(int(form["chainId"]))
    known = own if mainnet is None else str(mainnet["nativeCurrency"]["symbol"])
    return known if own[1:] == known else own


@cache
def _index_mainnets() -> Mapping[int, Mapping[str, Any]]:
    """Return the mainnet of each chain's network, by chain ID, where the network has one."""
    return {
        int(form["chainId"]): networks[MAINNET]
        for networks in PUBLIC_CHAIN_META.values()
        if MAINNET in networks
        for form in networks.values()
    }


@cache
def _index_chains() -> Mapping[int, Mapping[str, Any]]:
    return {
        int(form["chainId"]): form
        for networks in PUBLIC_CHAIN_META.values()
        for form in networks.values()
    }

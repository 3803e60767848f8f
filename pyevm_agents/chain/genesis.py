"""Genesis: the header and accounts of block 0, with the precompiles' accounts.

Source: docs/architecture.md#executor-address, #model-is-an-argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth.constants import ZERO_ADDRESS, ZERO_HASH32
from eth.typing import AccountDetails
from eth.vm.forks.london.constants import BASE_FEE_MAX_CHANGE_DENOMINATOR, ELASTICITY_MULTIPLIER

from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS, NUMERIC_MODELS_CODE
from precompiles.spec import EXECUTOR_ADDRESS, EXECUTOR_CODE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.typing import AccountState, HeaderParams
    from eth.vm.forks.frontier import FrontierVM
    from eth_typing import Address

    from pyevm_agents.config import ChainConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class GenesisAccount:
    """An account in genesis."""

    balance_wei: int = 0
    nonce: int = 0
    code: bytes = b""
    storage: Mapping[int, int] = field(default_factory=dict)
    """Slot to value; a value of 0 is the same as no entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRules:
    """The rules of a chain made elsewhere, for importing blocks."""

    forks: tuple[tuple[int, type[FrontierVM]], ...]
    """(first block number, py-evm's VM class); the first entry is at 0."""

    genesis_header: Mapping[str, HeaderParams]
    """The fields of block 0's header."""


def list_precompile_codes(config: ChainConfig) -> dict[Address, bytes]:
    """Return the codes of the accounts of a chain's precompiles: those with models."""
    codes = {}
    if config.models:
        codes[EXECUTOR_ADDRESS] = EXECUTOR_CODE
    if config.numeric_models:
        codes[NUMERIC_MODELS_ADDRESS] = NUMERIC_MODELS_CODE
    return codes


def add_precompiles(
    config: ChainConfig, accounts: Mapping[Address, GenesisAccount]
) -> Mapping[Address, GenesisAccount]:
    """Return the accounts with the code of each precompile that the chain has models for."""
    added = {
        address: replace(accounts.get(address, GenesisAccount()), nonce=1, code=code)
        for address, code in list_precompile_codes(config).items()  # They may have a balance.
    }
    return {**accounts, **added}


def compute_genesis_base_fee(wei: int) -> int:
    """Return the least base fee of genesis for which block 1 has a base fee of `wei`.

    Genesis is empty, so EIP-1559 lowers the base fee by an eighth, rounded down.
    """
    return wei + max(0, wei - 1) // (BASE_FEE_MAX_CHANGE_DENOMINATOR - 1)


def build_genesis_header(config: ChainConfig) -> dict[str, HeaderParams]:
    """Return the fields of block 0's header; `extraData` is the config's digest."""
    fees: dict[str, HeaderParams] = {
        "base_fee_per_gas": compute_genesis_base_fee(config.base_fee_wei)
    }
    if config.genesis_has_base_fee:  # EIP-1559 keeps the base fee after a block at its target.
        fees = {
            "base_fee_per_gas": config.base_fee_wei,
            "gas_used": config.block_gas_limit // ELASTICITY_MULTIPLIER,
        }
    return {
        "difficulty": 0,
        "extra_data": config.digest if config.has_models else b"",
        "gas_limit": config.block_gas_limit,
        "timestamp": config.genesis_timestamp_seconds,
        "coinbase": ZERO_ADDRESS,
        "mix_hash": ZERO_HASH32,
        "nonce": bytes(8),
        **fees,
    }


def build_genesis_state(accounts: Mapping[Address, GenesisAccount]) -> AccountState:
    """Return accounts in py-evm's form."""
    return {
        address: AccountDetails(
            balance=account.balance_wei,
            nonce=account.nonce,
            code=account.code,
            storage=dict(account.storage),
        )
        for address, account in accounts.items()
    }

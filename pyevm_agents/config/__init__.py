"""Chain configuration: `ChainConfig`, its canonical JSON, and gas schedule files."""

from pyevm_agents.config.chain_config import (
    DEFAULT_BASE_FEE_WEI,
    DEFAULT_BLOCK_GAS_LIMIT,
    DEFAULT_CHAIN_ID,
    DEFAULT_FORK,
    DEFAULT_GENESIS_TIMESTAMP_SECONDS,
    DIGEST_BYTES,
    FORKS,
    MAX_PRICE_GAS,
    MIN_BLOCK_GAS_LIMIT,
    ChainConfig,
    check_fits,
)

__all__ = [
    "DEFAULT_BASE_FEE_WEI",
    "DEFAULT_BLOCK_GAS_LIMIT",
    "DEFAULT_CHAIN_ID",
    "DEFAULT_FORK",
    "DEFAULT_GENESIS_TIMESTAMP_SECONDS",
    "DIGEST_BYTES",
    "FORKS",
    "MAX_PRICE_GAS",
    "MIN_BLOCK_GAS_LIMIT",
    "ChainConfig",
    "check_fits",
]

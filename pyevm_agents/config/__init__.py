"""Chain configuration: `ChainConfig`, canonical JSON, and gas schedule files."""

from precompiles.numeric_model import NumericModelProfile
from pyevm_agents.config.chain_config import (
    DEFAULT_BASE_FEE_WEI,
    DEFAULT_BLOCK_GAS_LIMIT,
    DEFAULT_CHAIN_ID,
    DEFAULT_CODE_SIZE_BYTES,
    DEFAULT_FORK,
    DEFAULT_GENESIS_TIMESTAMP_SECONDS,
    FORKS,
    MAX_CODE_SIZE_BYTES,
    MAX_PRICE_GAS,
    MAX_TIMESTAMP_SECONDS,
    MIN_BLOCK_GAS_LIMIT,
    VERSION,
    ChainConfig,
    check_fits,
)
from pyevm_agents.config.optional_sections import DIGEST_BYTES, ForkOrigin, check_numeric_fits

__all__ = [
    "DEFAULT_BASE_FEE_WEI",
    "DEFAULT_BLOCK_GAS_LIMIT",
    "DEFAULT_CHAIN_ID",
    "DEFAULT_CODE_SIZE_BYTES",
    "DEFAULT_FORK",
    "DEFAULT_GENESIS_TIMESTAMP_SECONDS",
    "DIGEST_BYTES",
    "FORKS",
    "MAX_CODE_SIZE_BYTES",
    "MAX_PRICE_GAS",
    "MAX_TIMESTAMP_SECONDS",
    "MIN_BLOCK_GAS_LIMIT",
    "VERSION",
    "ChainConfig",
    "ForkOrigin",
    "NumericModelProfile",
    "check_fits",
    "check_numeric_fits",
]

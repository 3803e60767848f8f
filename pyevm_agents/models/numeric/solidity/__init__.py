"""Numeric models as Solidity libraries, for chains without the precompile."""

from pyevm_agents.models.numeric.solidity.generator import (
    MAX_CONTRACT_BYTES,
    SolidityModel,
    generate_library,
)

__all__ = ["MAX_CONTRACT_BYTES", "SolidityModel", "generate_library"]

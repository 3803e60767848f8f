"""Numeric models as Solidity libraries, for chains without the precompile."""

from pyevm_agents.models.numeric.solidity.generator import (
    SolidityModel,
    generate_library,
)

__all__ = ["SolidityModel", "generate_library"]

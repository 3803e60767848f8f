"""AI agents on a local EVM: everything around the consensus rules in `precompiles`."""

from pyevm_agents.foreign_imports import prepare_imports

__version__ = "0.1.0"

prepare_imports()

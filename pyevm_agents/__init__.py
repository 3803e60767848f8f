"""AI agents on a local EVM: everything around the consensus rules in `precompiles`."""

__version__ = "0.1.0"

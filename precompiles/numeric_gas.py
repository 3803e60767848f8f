"""The gas schedule of the numeric models' precompile.

The schedule is part of the chain config, hence of genesis, if the chain has numeric models. These
are the defaults, with reasons.

Source: docs/architecture.md#model-is-an-argument, #gas-before-work.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericGasSchedule:
    """The prices of the numeric models' precompile: gas, but for `operations_per_gas`."""

    base_gas: int = 3_000
    """Gas of any call of the right kind and size: the executor's, and the price of `ecrecover`."""

    input_byte_gas: int = 16
    """Gas per byte of calldata, for decoding and checking it: the price of a non-zero calldata
    byte, and the executor's."""

    output_byte_gas: int = 16
    """Gas per byte of return data, for encoding it: as much as decoding it costs."""

    operations_per_gas: int = 16
    """Operations of an evaluation that one gas pays for.

    The cases of `pyevm-agents bench --only evm --only numeric`, in CPU time of busy cores: an
    operation takes 0.4 ns in usual models and 0.9 ns in the slowest, so that a gas of it takes at
    most 14 ns, a third of one of an ERC-20 transfer in the same rounds. Thirty million gas of the
    slowest model take half a second, and of the EVM's own worst case two minutes. The most
    operations that a model may have, 2^28, cost 17 million gas: less than a block."""

    def calldata_gas(self, size_bytes: int) -> int:
        """Return the gas of decoding `size_bytes` bytes of calldata, with the base price."""
        return self.base_gas + self.input_byte_gas * size_bytes

    def operation_gas(self, operations: int) -> int:
        """Return the gas of an evaluation of `operations` operations, rounded up."""
        return -(-operations // self.operations_per_gas)

    def output_gas(self, size_bytes: int) -> int:
        """Return the gas of encoding `size_bytes` bytes of return data."""
        return self.output_byte_gas * size_bytes


DEFAULT_NUMERIC_SCHEDULE = NumericGasSchedule()
"""The schedule of a chain config without one."""

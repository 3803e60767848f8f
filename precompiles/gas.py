"""What the executor charges beside a model's tokens: a value of the chain, not of this program.

The numbers here are the default ones, each with its reason. A chain says its own in genesis; token
prices are per model (`language_model.ModelProfile`).

Source: architecture, decisions 3 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GasSchedule:
    """The prices of the executor's own work, in gas."""

    executor_base_gas: int = 3_000
    """Gas of any call that is not refused for its kind or size: that of `ecrecover`."""

    input_byte_gas: int = 16
    """Gas a byte of calldata or of metadata: decoding, escaping, tokenising. Calldata's own
    price."""

    metadata_read_gas: int = 2_000_000
    """Gas that one metadata read may burn. 16 KiB read from cold storage cost 1.1 million."""

    tool_gas: int = 5_000
    """Gas a tool: its lines in the prompt and its alternative in the grammar, compiled."""

    parameter_gas: int = 2_000
    """Gas a parameter: the same for its line and its rule."""

    def calldata_gas(self, size_bytes: int) -> int:
        """Return the gas of taking in a call of `size_bytes` bytes of calldata."""
        return self.executor_base_gas + self.input_byte_gas * size_bytes

    def metadata_gas(self, size_bytes: int) -> int:
        """Return the gas of taking in what a metadata read returned."""
        return self.input_byte_gas * size_bytes

    def grammar_gas(self, tool_count: int, parameter_count: int) -> int:
        """Return the gas of tools with so many parameters in all, in prompt and grammar."""
        return self.tool_gas * tool_count + self.parameter_gas * parameter_count


DEFAULT_SCHEDULE = GasSchedule()
"""What a chain charges that says nothing else."""

"""The gas schedule of the executor's own work. Token prices are per model (`ModelProfile`).

The schedule is part of the chain config, hence of genesis. These are the defaults, with reasons.

Source: docs/architecture.md#model-is-an-argument, #gas-before-work.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GasSchedule:
    """The prices of the executor's own work, in gas."""

    executor_base_gas: int = 3_000
    """Gas of any call of the right kind and size: the price of `ecrecover`."""

    input_byte_gas: int = 16
    """Gas per byte of calldata or metadata, for decoding, escaping and tokenizing: the price of a
    non-zero calldata byte."""

    metadata_read_gas: int = 2_000_000
    """Upper bound of the gas of one metadata read. 16 KiB from cold storage cost 1.1 million."""

    tool_gas: int = 5_000
    """Gas per tool, for its lines in the prompt and its compiled alternative in the grammar."""

    parameter_gas: int = 2_000
    """Gas per parameter, for its line in the prompt and its rule in the grammar. Each leaf of a
    typed text (`typed_texts.py`) is a rule, and costs as much as a parameter."""

    scan_gas: int = 250
    """Gas per character of the request and of the results that the short format reads: at most 11
    µs for the words that are slowest to read, where a gas of an ERC-20 transfer takes 43 ns."""

    def calldata_gas(self, size_bytes: int) -> int:
        """Return the gas of decoding `size_bytes` bytes of calldata, with the base price."""
        return self.executor_base_gas + self.input_byte_gas * size_bytes

    def metadata_gas(self, size_bytes: int) -> int:
        """Return the gas of decoding `size_bytes` bytes of return data of a metadata read."""
        return self.input_byte_gas * size_bytes

    def grammar_gas(self, tool_count: int, parameter_count: int) -> int:
        """Return the gas of prompt lines and grammar rules for all tools and their parameters.

        Input: the tools, and their parameters, where each leaf of a typed text counts as one.
        """
        return self.tool_gas * tool_count + self.parameter_gas * parameter_count

    def reading_gas(self, characters: int) -> int:
        """Return the gas of reading characters of a request and of results in the short format."""
        return self.scan_gas * characters

    def branch_gas(self, count: int) -> int:
        """Return the gas of comparing `count` pairs of an order and a tool in the short format.

        Each costs as much as a parameter.
        """
        return self.parameter_gas * count


DEFAULT_SCHEDULE = GasSchedule()
"""The schedule of a chain config without one."""

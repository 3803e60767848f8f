"""The interface between the numeric models' precompile and the host: `NumericModel`.

A numeric model maps integers to integers, and computes in integers alone: the output is the same on
every machine. The precompile does not know how. A fault of the host is an exception other than
`eth.exceptions.VMError`: py-evm does not catch the exception, and the transaction enters no
block.

Source: docs/architecture.md#numeric-models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericModelProfile:
    """A numeric model as the rules know it, in the chain config."""

    name: str
    """The model ID that contracts use. The digest, as `0x` and 64 digits, is another one."""

    digest: bytes
    """SHA-256 of its file, 32 bytes."""

    input_decimals: tuple[int, ...]
    """Decimals of each input number: an input of 1.5 with 2 decimals is 150."""

    output_decimals: tuple[int, ...]
    """Decimals of each output number."""

    operations: int
    """Number of arithmetic operations of one evaluation."""


class NumericModel(Protocol):
    """A numeric model on the host."""

    @property
    def digest(self) -> bytes:
        """SHA-256 of the model file, 32 bytes."""
        ...

    @property
    def input_decimals(self) -> tuple[int, ...]:
        """Decimals of each input number."""
        ...

    @property
    def output_decimals(self) -> tuple[int, ...]:
        """Decimals of each output number."""
        ...

    @property
    def input_ranges(self) -> tuple[tuple[int, int], ...]:
        """The least and the most value of each input, both admitted and within 64 bits."""
        ...

    @property
    def operations(self) -> int:
        """Number of arithmetic operations of one evaluation."""
        ...

    def run(self, values: Sequence[int]) -> tuple[int, ...]:
        """Return the output of one evaluation: a pure function.

        Input:  a number for each input, within `input_ranges`.
        Output: a number for each of `output_decimals`, each an `int` within 256 bits.
        """
        ...


class NumericFaultError(Exception):
    """A numeric model failed, or returned an impossible output. A fault of the host."""

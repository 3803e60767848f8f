"""Options of a conversion, and the error."""

from __future__ import annotations

from dataclasses import dataclass

from pyevm_agents.errors import ConfigError

MIN_BITS, MAX_BITS = 4, 32
"""Bits of a quantised weight: fewer lose the model, more do not fit an int32 of the file."""

MAX_DECIMALS = 18
"""Decimals of inputs and outputs: 10^18 units are a third of what an int64 holds, as in ether."""


class ConversionError(ConfigError):
    """A float model, data or an option that can't be converted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputColumns:
    """Consecutive inputs that share a name, decimals and a range."""

    name: str
    count: int = 1
    decimals: int = 0
    least: int | None = None
    """Least admitted integer; None: the least of the calibration data, widened by the margin."""

    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionOptions:
    """Options of `convert`."""

    input_decimals: int | tuple[int, ...] = 4
    """Decimals of all inputs, or of each: the integer 12345 with 4 decimals is 1.2345."""

    output_decimals: int = 4
    input_names: tuple[str, ...] = ()
    """A name for each input; by default `x0`, `x1`, …"""

    columns: tuple[InputColumns, ...] = ()
    """Names, decimals and ranges of all inputs, in place of `input_decimals` and `input_names`."""

    output_names: tuple[str, ...] = ()
    """A name for each output; by default `y0`, `y1`, …"""

    output: str = ""
    """Float output to convert; by default the last one, so a classifier's scores."""

    bits: int = 16
    """Bits of a weight. A first layer takes more where its inputs' ranges differ."""

    margin: float = 0.5
    """Share of the calibrated range that inputs may exceed at each side."""

    raw_scores: bool = False
    """Leave out a Softmax or logistic function at the end, so that outputs are scores."""

    license: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Check the options.

        Raises: ConversionError.
        """
        if not MIN_BITS <= self.bits <= MAX_BITS:
            raise ConversionError(f"bits {self.bits}: must be {MIN_BITS} to {MAX_BITS}")
        if not 0 <= self.margin <= 1:
            raise ConversionError(f"margin {self.margin}: must be 0 to 1")
        given = self.input_decimals
        decimals = (given,) if isinstance(given, int) else given
        for each in (*decimals, *(c.decimals for c in self.columns), self.output_decimals):
            if not 0 <= each <= MAX_DECIMALS:
                raise ConversionError(f"decimals {each}: must be 0 to {MAX_DECIMALS}")
        for column in self.columns:
            if column.count < 1:
                raise ConversionError(f"count {column.count} of {column.name}: must be 1 or more")

    def list_columns(self, count: int) -> tuple[InputColumns, ...]:
        """Return the columns of a model with a number of inputs.

        Raises: ConversionError: their number differs.
        """
        if self.columns:
            total = sum(column.count for column in self.columns)
            if total != count:
                raise ConversionError(f"inputs {total}: must be {count}, as the model has")
            return self.columns
        names = self.input_names or tuple(f"x{index}" for index in range(count))
        given = self.input_decimals
        decimals = (given,) * count if isinstance(given, int) else given
        for label, values in (("input names", names), ("input decimals", decimals)):
            if len(values) != count:
                raise ConversionError(f"{len(values)} {label}: must be {count}, one for each input")
        pairs = zip(names, decimals, strict=True)
        return tuple(InputColumns(name=name, decimals=each) for name, each in pairs)

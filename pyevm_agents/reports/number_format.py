"""Format numbers for people: three digits, a unit that fits, an interval."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


DIGITS = 3
"""Significant digits: no measurement here is better than a thousandth."""

NOTHING = "\N{EN DASH}"
INFINITE = "∞"
MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
"""Typographic signs, at which no line breaks."""

TIME_UNITS = ((1e-15, "fs"), (1e-12, "ps"), (1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
SIZE_UNITS = ((1, "bytes"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"))
COUNT_UNITS = ((1, ""), (1e3, " thousand"), (1e6, " million"), (1e9, " billion"))
LONG_UNITS = ((60, "min"), (3_600, "h"), (86_400, "days"))
LONG_COUNT = 10
"""A time is shown in a longer unit from ten of it: 90 s, 12 min, 25 h, 14 days."""

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::[\d.]+)?(?:Z|\+00:00)")

SMALL, LARGE = 1e-4, 1e12
"""Beyond these a number is written with a power of ten."""


def format_number(value: float, *, digits: int = DIGITS) -> str:
    """Return a number to `digits` significant digits, with commas: 61,200 or 0.0456."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return INFINITE if value > 0 else MINUS + INFINITE
    if value == 0:
        return "0"
    if not SMALL <= abs(value) < LARGE:
        return f"{value:.{digits - 1}e}".replace("-", MINUS)
    return _format_fixed(value, _count_decimals(value, digits))


def format_estimate(value: Interval, form: Callable[[float], str] = format_number) -> str:
    """Return a value, or "< 1,750", the upper bound, if not distinguishable from zero."""
    return f"< {form(value.high)}" if value.is_upper_bound else form(value.middle)


def format_span(interval: Interval, *, factor: float = 1.0) -> str:
    """Return an interval, "5.1 to 5.4"; an empty text if both ends are equal, or one is zero."""
    low, high = interval.low * factor, interval.high * factor
    if interval.is_upper_bound or low == high or math.isnan(low) or math.isnan(high):
        return ""
    return f"{format_number(low)} to {format_number(high)}"


def format_seconds(value: float) -> str:
    """Return a time in the unit that fits: 6.21 ms."""
    factor, unit = _choose_time_unit(value)
    return f"{format_number(value / factor)} {unit}"


def format_seconds_span(interval: Interval) -> str:
    """Return an interval of a time, in the unit of the middle."""
    factor, _ = _choose_time_unit(interval.middle or interval.high)
    return format_span(interval, factor=1 / factor)


def format_bytes(value: float) -> str:
    """Return a number of bytes: 145 MB."""
    factor, unit = _choose_unit(value, SIZE_UNITS)
    return f"{format_number(value / factor)} {unit}"


def format_count(value: float) -> str:
    """Return a large number in words: 135 million."""
    factor, unit = _choose_unit(value, COUNT_UNITS)
    return f"{format_number(value / factor)}{unit}"


def format_factor(value: float) -> str:
    """Return a factor with a multiplication sign."""
    return NOTHING if math.isnan(value) else f"{TIMES} {format_number(value)}"


def format_percent(share: float) -> str:
    """Return a share of one: 4.2 %."""
    return f"{format_number(100 * share, digits=2)} %"


def format_timestamp(text: str) -> str:
    """Return an ISO 8601 time to the minute: 2026-11-21 23:40 UTC."""
    match = _MOMENT.fullmatch(text)
    return text if match is None else f"{match[1]} {match[2]} UTC"


def lower_first_letter(title: str) -> str:
    """Return a title for the middle of a sentence."""
    return title[:1].lower() + title[1:]


def join_names(names: list[str]) -> str:
    """Return a list of names in words: a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _choose_time_unit(value: float) -> tuple[float, str]:
    """Return the unit of a time, in seconds, with the name."""
    if math.isfinite(value):
        long = [unit for unit in LONG_UNITS if abs(value) >= LONG_COUNT * unit[0]]
        if long:
            return long[-1]
    return _choose_unit(value, TIME_UNITS)


def _choose_unit(value: float, units: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    """Return the largest unit that is at most the value."""
    fitting = [unit for unit in units if unit[0] <= abs(value)]
    if not math.isfinite(value) or value == 0:
        return units[-1]
    return fitting[-1] if fitting else units[0]


def _count_decimals(value: float, digits: int) -> int:
    return digits - 1 - math.floor(math.log10(abs(value)))


def _format_fixed(value: float, decimals: int) -> str:
    rounded = round(value, decimals)
    return f"{rounded:,.{max(0, decimals)}f}".replace("-", MINUS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A median or an estimate, with the 95 % confidence interval."""

    middle: float
    low: float
    high: float

    @property
    def is_upper_bound(self) -> bool:
        """Whether the figure is not distinguishable from zero: only `high` is known.

        Text, HTML and Markdown then show "< high". The JSON form has the interval with a low of 0.
        """
        return self.low <= 0 < self.high

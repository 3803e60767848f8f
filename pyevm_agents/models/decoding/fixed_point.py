"""Log-probabilities of tokens in integers, from float32 logits.

The same logits give the same integers on every machine: exp and log come from tables of integers,
rounded correctly from integers of 192 fractional bits, and sums are of integers. No function of
libm or NumPy with a result that differs between processors is involved.

1. A logit becomes an integer in units of 2^-16 (`SCALE`): times 65,536, exact in float64, rounded
   half to even.
2. The distance `d` of each logit to the highest becomes a weight of 40 fractional bits: the product
   of two entries of the table of exp(-x), one for `d >> 8`, one for `d & 255`. Weights of a
   distance of 32 nats or more are 0.
3. The weights are summed. The logarithm of the sum is that of the leading 13 bits, from a table,
   plus the shift times log 2.

The result differs from the exact one by less than 0.001 nats.

Source: docs/architecture.md#scores-are-integers.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from precompiles.language_model import NAT
from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SCALE = NAT
SCALE_BITS = SCALE.bit_length() - 1

FINE_BITS = 8
WEIGHT_BITS = 40
"""Fractional bits of a weight. The sum of 2^22 weights fits 64 bits."""

HALF_BITS = 30
"""Fractional bits of a table's entry: the product of two fits 64 bits."""

MAX_NATS = 32
"""Distance from which a weight is 0."""

LOG_BITS = 12
"""Fractional bits of the number whose logarithm is looked up."""

MAX_LOGIT = 1 << 31
"""Bound of a logit's size: distances then fit 64 bits."""

EXACT_BITS = 192
"""Fractional bits of the numbers that tables are rounded from."""

_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN)


def compute_surprisal(logits: NDArray[np.float32], token: int) -> int:
    """Return -log p of a token over the whole vocabulary, in units of 2^-16 nats: at least 0.

    Input:
        logits: one for each token, at most 2^22 of them.

    Raises:
        EngineFault: a logit is not finite, or the size is not below 2^31.
    """
    fixed = to_fixed_point(logits)
    highest = int(fixed.max())
    distances = highest - fixed
    coarse, fine = build_exponentials()
    rows = np.minimum(distances >> FINE_BITS, len(coarse) - 1)
    weights = (coarse[rows] * fine[distances & (len(fine) - 1)]) >> (2 * HALF_BITS - WEIGHT_BITS)
    return highest - int(fixed[token]) + _log(int(weights.sum()))


def to_fixed_point(logits: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return logits in units of 2^-16, rounded half to even.

    Raises:
        EngineFault: a logit is not finite, or the size is not below 2^31. The conversion to an
            integer would give other results on other processors.
    """
    if not (np.abs(logits) < MAX_LOGIT).all():
        raise EngineFault("The model computed a logit that is not finite, or of 2^31 or more")
    exact = logits.astype(np.float64) * SCALE
    fixed: NDArray[np.int64] = np.rint(exact).astype(np.int64)
    return fixed


def _log(total: int) -> int:
    """Return the logarithm of a sum of weights, at least 1, in units of 2^-16 nats."""
    doublings = total.bit_length() - 1 - WEIGHT_BITS
    leading = total >> (doublings + WEIGHT_BITS - LOG_BITS)
    logs, log_two = build_logarithms()
    return logs[leading - (1 << LOG_BITS)] + (doublings * log_two >> SCALE_BITS)


@cache
def build_exponentials() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tables of exp(-x) for coarse and fine steps; the last coarse entry is 0."""
    step = Decimal(1) / SCALE
    coarse, fine = (
        [round_exact(one, HALF_BITS) for one in islice(compute_powers(by), count)]
        for by, count in (
            (step * (1 << FINE_BITS), MAX_NATS << (SCALE_BITS - FINE_BITS)),
            (step, 1 << FINE_BITS),
        )
    )
    return np.array([*coarse, 0], np.int64), np.array(fine, np.int64)


def compute_powers(step: Decimal) -> Iterator[int]:
    """Yield exp(-k * step) for k = 0, 1, 2, … in units of 2^-192, rounded down at each.

    An error of 1 unit a step stays far below what a table rounds to, and one product of integers
    costs a hundredth of `decimal`'s exponential.
    """
    factor = int(_CONTEXT.multiply(_CONTEXT.exp(-step), Decimal(1 << EXACT_BITS)))
    power = 1 << EXACT_BITS
    while True:
        yield power
        power = power * factor >> EXACT_BITS


def round_exact(number: int, bits: int) -> int:
    """Round a number in units of 2^-192 to one in units of 2^-bits, halves up."""
    drop = EXACT_BITS - bits
    return (number + (1 << drop - 1)) >> drop


@cache
def build_logarithms() -> tuple[tuple[int, ...], int]:
    """Return log(1 + i / 2^LOG_BITS) in units of 2^-16, and log 2 in units of 2^-32."""
    one = 1 << LOG_BITS
    logs = tuple(_round(SCALE * _CONTEXT.ln(Decimal(one + i) / one)) for i in range(one))
    return logs, _round(SCALE * SCALE * _CONTEXT.ln(Decimal(2)))


def _round(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_HALF_EVEN))

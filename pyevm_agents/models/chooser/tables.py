"""Tables of exp, GELU and tanh in integers, rounded correctly from integers of 192 fractional bits.

No function of libm or NumPy is involved whose last bit differs between processors.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyevm_agents.models.decoding.fixed_point import (
    EXACT_BITS,
    FINE_BITS,
    HALF_BITS,
    MAX_NATS,
    build_exponentials,
    compute_powers,
    round_exact,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

UNIT_BITS = 16
"""Activations are integers in units of 2^-16."""

STEP_BITS = 10
"""Arguments of exp and GELU are integers in units of 2^-10."""

WEIGHT_BITS = 20
"""Weights of attention are integers in units of 2^-20: the largest of a row is 1."""

ATTENDED_NATS = 16
"""Distance from which a weight is 0: 2^-20 is e^-13.9."""

GELU_LIMIT = 1 << (STEP_BITS + 6)
"""GELU saturates at 64: MiniLM's own arguments reach 25."""

TAIL_END = 5 << STEP_BITS
"""Argument from which GELU is the identity to 2^-16, and 0 on the other side."""

_LEAST_BITS = EXACT_BITS - 96
"""A series ends with the first term below 2^-96."""

_CONTEXT = Context(prec=60)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


@cache
def build_weights() -> Floats:
    """Return exp(-x) in units of 2^-20 for x in steps of 2^-10; the last is 0.

    A weight is the product of two entries of `fixed_point.build_exponentials`, rounded down.

    Output: 16,385 whole numbers.
    """
    coarse, fine = build_exponentials()
    units = np.arange(ATTENDED_NATS << STEP_BITS) << (UNIT_BITS - STEP_BITS)
    exact = coarse[units >> FINE_BITS] * fine[units & (len(fine) - 1)]
    return np.append(exact >> (2 * HALF_BITS - WEIGHT_BITS), 0).astype(np.float64)


@cache
def build_gelu() -> Floats:
    """Return GELU in units of 2^-16 for arguments in steps of 2^-10, from -64 to 64.

    Output:
        131,072 whole numbers: those of the arguments 0, 1, …, then of …, -2, -1, so that an
        argument is an index of Python and NumPy.
    """
    tail = np.zeros(GELU_LIMIT + 1, np.int64)
    tail[:TAIL_END] = _compute_tails()
    upper = np.arange(GELU_LIMIT) << (UNIT_BITS - STEP_BITS)
    return np.concatenate([upper - tail[:-1], -tail[:0:-1]]).astype(np.float64)


def _compute_tails() -> list[int]:
    """Return x times the normal distribution's tail beyond x, in units of 2^-16.

    x is each multiple of 2^-10 below `TAIL_END`. The integral from 0 to x is the density times
    x + x^3/3 + x^5/15 + … Source: Abramowitz and Stegun, 26.2.11. The density at (k + 1) h is that
    at k h times exp(-h^2/2) exp(-k h^2).
    """
    one, half = 1 << EXACT_BITS, 1 << (EXACT_BITS - 1)
    square_step = Decimal(1) / (1 << (2 * STEP_BITS))
    powers = compute_powers(square_step)
    halves = compute_powers(square_step / 2)
    next(halves)
    first = next(halves)
    density = int(_CONTEXT.divide(Decimal(one), _CONTEXT.sqrt(2 * _PI)))
    found = []
    for step, power in zip(range(TAIL_END), powers, strict=False):
        square = step * step
        term = total = step << (EXACT_BITS - STEP_BITS)
        odd = 1
        while term >> _LEAST_BITS:
            odd += 2
            term = (term * square >> (2 * STEP_BITS)) // odd
            total += term
        beyond = half - (density * total >> EXACT_BITS)
        found.append(round_exact(step * beyond >> STEP_BITS, UNIT_BITS))
        density = (density * first >> EXACT_BITS) * power >> EXACT_BITS
    return found


def compute_tanh(arguments: Floats) -> Floats:
    """Return tanh in units of 2^-16, rounded towards 0, of arguments in units of 2^-16.

    tanh is odd, and (1 - e) / (1 + e) with e = exp(-2x).
    """
    coarse, fine = build_exponentials()
    doubled = np.minimum(2 * np.abs(arguments), MAX_NATS << UNIT_BITS).astype(np.int64)
    smaller = coarse[doubled >> FINE_BITS] * fine[doubled & (len(fine) - 1)]
    smaller >>= 2 * HALF_BITS - 2 * WEIGHT_BITS
    one = 1 << (2 * WEIGHT_BITS)
    quotient = ((one - smaller) << UNIT_BITS) // (one + smaller)
    signed: Floats = np.copysign(quotient.astype(np.float64), arguments)
    return signed

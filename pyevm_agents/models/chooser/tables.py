"""Tables of exp, GELU and tanh in integers, which `decimal` computes with correct rounding.

No function of libm or NumPy is involved whose last bit differs between processors.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyevm_agents.models.decoding.fixed_point import (
    FINE_BITS,
    HALF_BITS,
    MAX_NATS,
    build_exponentials,
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

_CONTEXT = Context(prec=40, rounding=ROUND_HALF_EVEN)
_PI = Decimal("3.141592653589793238462643383279502884197")


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
    tail[:TAIL_END] = [_compute_tail(step) for step in range(TAIL_END)]
    upper = np.arange(GELU_LIMIT) << (UNIT_BITS - STEP_BITS)
    return np.concatenate([upper - tail[:-1], -tail[:0:-1]]).astype(np.float64)


def _compute_tail(step: int) -> int:
    """Return x times the normal distribution's tail beyond x = step * 2^-10, in units of 2^-16.

    The integral from 0 to x is the density times x + x^3/3 + x^5/15 + … Source: Abramowitz and
    Stegun, 26.2.11.
    """
    x = Decimal(step) / (1 << STEP_BITS)
    square = x * x
    term = total = x
    odd = 1
    while term > Decimal("1e-20"):
        odd += 2
        term = _CONTEXT.divide(_CONTEXT.multiply(term, square), Decimal(odd))
        total = _CONTEXT.add(total, term)
    density = _CONTEXT.divide(_CONTEXT.exp(-square / 2), _CONTEXT.sqrt(2 * _PI))
    tail = x * (Decimal("0.5") - _CONTEXT.multiply(density, total))
    return int((tail * (1 << UNIT_BITS)).to_integral_value(ROUND_HALF_EVEN))


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

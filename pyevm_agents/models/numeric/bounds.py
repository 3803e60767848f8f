"""Exact interval arithmetic on int64 arrays: lower and upper bounds, element by element.

Each function is exact or raises `OutOfRange`. Decisions never depend on a float: where a sum might
exceed 64 bits, a float64 estimate, whose error is far below the margin, only decides whether the
sum modulo 2^64 is the sum itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyevm_agents.models.numeric.errors import OutOfRange
from pyevm_agents.models.numeric.limits import TYPE_RANGES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.int64]
    Magnitudes: TypeAlias = NDArray[np.uint64]
    Product: TypeAlias = "Callable[..., NDArray[np.generic]]"

LEAST, MOST = TYPE_RANGES["int64"]

SURELY_ABOVE = 1.5 * 2.0**63
"""Estimates from here on are sums above 2^63; sums with a lower estimate are below 2^64."""


def add(a: Array, b: Array) -> Array:
    """Add element by element."""
    total = np.add(a, b)
    wrapped = np.less(np.bitwise_and(np.bitwise_xor(a, total), np.bitwise_xor(b, total)), 0)
    _refuse(wrapped, a, b, int.__add__)
    return _as_array(total)


def subtract(a: Array, b: Array) -> Array:
    """Subtract element by element."""
    rest = np.subtract(a, b)
    wrapped = np.less(np.bitwise_and(np.bitwise_xor(a, b), np.bitwise_xor(a, rest)), 0)
    _refuse(wrapped, a, b, int.__sub__)
    return _as_array(rest)


def multiply(a: Array, b: Array) -> Array:
    """Multiply element by element."""
    product = np.multiply(a, b)
    # Division gives the other factor back unless the product wrapped, but for -1 * -2^63.
    divisor = np.where(np.isin(a, (0, -1)), 1, a)
    wrapped = np.logical_or(
        np.logical_and(np.equal(divisor, a), np.not_equal(np.floor_divide(product, divisor), b)),
        np.logical_and(np.equal(a, -1), np.equal(b, LEAST)),
    )
    _refuse(wrapped, a, b, int.__mul__)
    return _as_array(product)


def negate(a: Array) -> Array:
    """Negate element by element."""
    if (a == LEAST).any():
        raise OutOfRange(-LEAST)
    return _as_array(np.negative(a))


def combine_products(
    product: Product,
    a: tuple[Array, Array],
    b: tuple[Array, Array],
) -> tuple[tuple[int, int], Array, Array]:
    """Bound a bilinear product, such as a matrix product or a convolution.

    Input: the product; the least and the most values of the factors.
    Output: bounds of each sum of some of the products that make up an element, which no order of
    summation leaves; and the bounds of each element.
    """
    a_plus, a_minus = _split(*a)
    b_plus, b_minus = _split(*b)
    most = _sum(product, ((a_plus, b_plus), (a_minus, b_minus)), MOST)
    least = _sum(product, ((a_plus, b_minus), (a_minus, b_plus)), -LEAST)
    partial = (-int(least.max()), int(most.max()))
    if np.array_equal(*b):
        return partial, *_bound_by_constant(product, a, b[0])
    if np.array_equal(*a):
        return partial, *_bound_by_constant(lambda x, y: product(y, x), b, a[0])
    return partial, _as_array(np.negative(least.view(np.int64))), most.view(np.int64)


def combine_sum(
    add_up: Callable[..., NDArray[np.generic]], low: Array, high: Array
) -> tuple[tuple[int, int], Array, Array]:
    """Bound a sum of elements; see `combine_products`."""

    def product(a: NDArray[np.generic], _: NDArray[np.generic]) -> NDArray[np.generic]:
        return add_up(a)

    plus, minus = _split(low, high)
    most = _sum(product, ((plus, plus),), MOST)
    least = _sum(product, ((minus, minus),), -LEAST)
    return (-int(least.max()), int(most.max())), _as_array(add_up(low)), _as_array(add_up(high))


def _bound_by_constant(
    product: Product, variable: tuple[Array, Array], constant: Array
) -> tuple[Array, Array]:
    """Return the exact bounds of a product whose other factor is a constant."""
    plus, minus = np.maximum(constant, 0), np.minimum(constant, 0)
    low, high = variable
    return (
        _as_array(np.add(product(low, plus), product(high, minus))),
        _as_array(np.add(product(high, plus), product(low, minus))),
    )


def _split(low: Array, high: Array) -> tuple[Magnitudes, Magnitudes]:
    """Return the greatest magnitudes above and below 0."""
    below = np.asarray(np.minimum(low, 0)).view(np.uint64)
    return (
        np.asarray(np.maximum(high, 0)).view(np.uint64),
        np.asarray(np.subtract(np.uint64(0), below)),
    )


def _sum(product: Product, pairs: Sequence[tuple[Magnitudes, Magnitudes]], most: int) -> Magnitudes:
    """Add products of magnitudes up; each result is at most `most`."""
    estimate = np.asarray(
        sum(product(a.astype(np.float64), b.astype(np.float64)) for a, b in pairs)
    )
    if (estimate >= SURELY_ABOVE).any():
        raise OutOfRange(int(estimate.max()))
    exact: Magnitudes = np.asarray(product(*pairs[0])).astype(np.uint64)
    for pair in pairs[1:]:
        exact = np.asarray(np.add(exact, product(*pair)))
    if (exact > np.uint64(most)).any():
        raise OutOfRange(int(exact.max()))
    return exact


def _refuse(wrapped: NDArray[np.bool_], a: Array, b: Array, exact: Callable[..., int]) -> None:
    """Raise the exact result at the first element that wrapped."""
    if not np.any(wrapped):
        return
    a, b, wrapped = np.broadcast_arrays(a, b, wrapped)
    at = int(np.argmax(wrapped))
    raise OutOfRange(exact(int(a.flat[at]), int(b.flat[at])))


def _as_array(values: NDArray[np.generic] | np.generic) -> Array:
    """Return an array of int64: NumPy gives a number in place of an array without dimensions."""
    return np.asarray(values, dtype=np.int64)

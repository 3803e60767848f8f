"""Operations of a node: what one evaluation of it costs, from its operator and its shapes alone.

The unit is the time of a multiply-add of int64 in a long matrix product. A weight is that of the
slowest shapes of the operator, measured by `python -m benchmarks.numeric_costs`. Weights are
consensus: they stand in genesis as the operations of a model.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

RUN = 8_192
"""A run: its inputs become an array, and its outputs Python integers."""

NODE = 4_096
"""A node: the calls of Python and NumPy, however few its elements are."""

VALUE = 128
"""An input or output number: conversion from and to a Python integer, and its check."""

MULTIPLY_ADD = 1
"""The unit."""

PRODUCT_ELEMENT = 16
"""An element of a matrix product: the start of its inner loop."""

ROW = 32
"""The start of an inner loop of NumPy. A loop ends where the pattern of the axes changes."""

MOVE = 4
"""An element that is copied."""

SIMPLE = 4
"""An element of an operator that is an instruction or two."""

DIVISION = 24
"""An element of a truncating division or of a remainder: two divisions of 64 bits."""

FLOOR = 8
"""An element of a division of what is not negative by what is positive: one division."""

LOOKUP = 16
"""An element that is read from a table, at any place of it."""


def count_rows(shape: Sequence[int], patterns: Sequence[Hashable]) -> int:
    """Return how many inner loops NumPy starts for a shape.

    Input: the dimensions; for each, what must be equal for two axes to be one loop.
    """
    rows = 1
    run: Hashable = None
    for size, pattern in zip(reversed(shape), reversed(patterns), strict=True):
        if size == 1:
            continue
        run = pattern if run is None else run
        if pattern != run:
            rows *= size
            run = ()  # Equal to no pattern: all axes further out are loops over rows.
    return rows


def cost_elementwise(
    shape: Sequence[int], operands: Sequence[Sequence[int]], weight: int = SIMPLE
) -> int:
    """Return the operations of an operator with broadcasting."""
    padded = [(1,) * (len(shape) - len(each)) + tuple(each) for each in operands]
    patterns = [tuple(each[axis] == 1 for each in padded) for axis in range(len(shape))]
    steps = max(len(operands) - 1, 1)
    return NODE + steps * (weight * math.prod(shape) + ROW * count_rows(shape, patterns))


def cost_reduction(shape: Sequence[int], axes: Sequence[int], weight: int = SIMPLE) -> int:
    """Return the operations of a reduction over axes."""
    patterns = [axis in axes for axis in range(len(shape))]
    return NODE + weight * math.prod(shape) + ROW * count_rows(shape, patterns)


def cost_move(shape: Sequence[int], run: int, weight: int = MOVE) -> int:
    """Return the operations of copying to a shape, of which so many elements lie in a row."""
    elements = math.prod(shape)
    return NODE + weight * elements + ROW * (elements // run)


def cost_product(elements: int, depth: int, moved: int) -> int:
    """Return the operations of a product of matrices.

    Input: its elements; multiply-adds of each; elements that are copied first.
    """
    return NODE + elements * (PRODUCT_ELEMENT + MULTIPLY_ADD * depth) + MOVE * moved

"""Operations of a node: the cost of one evaluation, from operator and shapes alone.

The unit is the time of a multiply-add of int64 in a long matrix product, some 0.65 ns. A weight is
that of the operator's slowest shapes, measured by `python -m benchmarks.numeric_costs`: no node
takes much longer for an operation than a matrix product does. Weights are consensus: the operations
of a model stand in genesis.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

RUN = 4_096
"""A run: its input becomes an array, and its output Python integers."""

VALUE = 128
"""An input or output number: conversion from or to a Python integer, and the check of its range."""

NODE = 1_024
"""A node, however few its elements are: the loop over nodes, and lists of its tensors."""

CALL = 768
"""A call of NumPy, however few its elements are."""

MULTIPLY_ADD = 1
"""The unit."""

PRODUCT_ELEMENT = 8
"""An element of a matrix product: the start of its inner loop."""

SIMPLE = 4
"""An element of an operator of one or two instructions. A million elements are outside the caches,
and their memory is new at each evaluation."""

DIVISION = 24
"""An element of a truncating division: two divisions of 64 bits. One takes 6 ns where it was
measured, and 40 cycles on processors of 2015."""

REMAINDER = 16
"""An element of a remainder: a division of 64 bits, and the correction of its sign."""

FLOOR = 12
"""An element of a division of what is not negative by what is positive: a division alone."""

REDUCED = 2
"""An element that a reduction reads in a row."""

PLACED = 10
"""An element that ArgMax or ArgMin copies first, because its axis is not the last one."""

MOVE = 4
"""An element that is copied."""

SCATTERED = 8
"""An element that is copied from another place than its neighbour in the output."""

LOOKUP = 12
"""An element, or a row of elements, that is read at any place of a table."""

ROW = 12
"""The start of an inner loop of NumPy. A loop ends where the pattern of the axes changes."""

REDUCED_ROW = 32
"""The start of an inner loop of a reduction."""


def count_rows(shape: Sequence[int], patterns: Sequence[Hashable]) -> int:
    """Return how many inner loops NumPy starts for a shape.

    Input: the dimensions; for each, the values that must be equal for two axes to be one loop.
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
    shape: Sequence[int], operands: Sequence[Sequence[int]], weight: int, calls: int
) -> int:
    """Return the operations of an operator with broadcasting.

    Input: the output's shape; the operands' shapes; the weight of an element; calls of NumPy.
    """
    padded = [(1,) * (len(shape) - len(each)) + tuple(each) for each in operands]
    patterns = [tuple(each[axis] == 1 for each in padded) for axis in range(len(shape))]
    rows = count_rows(shape, patterns)
    return NODE + CALL * calls + weight * math.prod(shape) + ROW * calls * rows


def cost_reduction(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Return the operations of a reduction over axes."""
    patterns = [axis in axes for axis in range(len(shape))]
    rows = count_rows(shape, patterns)
    return NODE + 4 * CALL + REDUCED * math.prod(shape) + REDUCED_ROW * rows


def cost_place(shape: Sequence[int], axis: int, *, last: bool) -> int:
    """Return the operations of ArgMax or ArgMin; the last of equal places is found in a copy."""
    is_copied = last or math.prod(shape[axis + 1 :]) > 1
    return (
        NODE
        + (14 if last else 4) * CALL
        + (PLACED if is_copied else REDUCED) * math.prod(shape)
        + REDUCED_ROW * (math.prod(shape) // shape[axis])
    )


def cost_move(shape: Sequence[int], run: int, weight: int = MOVE, calls: int = 2) -> int:
    """Return the operations of copying to a shape; `run` elements lie in a row."""
    elements = math.prod(shape)
    return NODE + CALL * calls + MOVE * elements + (weight + ROW) * (elements // run)


def cost_concat(shape: Sequence[int], rows: int, operands: int) -> int:
    """Return the operations of joining tensors; `rows` are copied one by one from each."""
    return NODE + (2 + operands) * CALL + MOVE * math.prod(shape) + ROW * rows * operands


def cost_product(elements: int, depth: int, scattered: int, calls: int) -> int:
    """Return the operations of a product of matrices.

    Input: the product's elements; multiply-adds of each; elements that are put in order first;
        calls.
    """
    return (
        NODE
        + CALL * calls
        + (PRODUCT_ELEMENT + MULTIPLY_ADD * depth) * elements
        + SCATTERED * scattered
    )

"""Matrix products and convolutions. Each partial sum fits the type, in any order of summation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric import bounds, cost
from pyevm_agents.models.numeric.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.models.numeric.plan import Array, Bounds, Kernel, NodeCall, Operand

MAX_WINDOW = 2**12
"""Upper bound of a padding, a stride, a dilation or a kernel's side of a convolution."""


MATMUL_CALLS = 8
"""A product takes as long as so many calls of NumPy: it looks at zero points and orders columns."""

CONVOLUTION_CALLS = 24
"""As `MATMUL_CALLS`: a convolution pads, gathers and reorders."""


def _bound_products(call: NodeCall, kernel: Kernel, a: Bounds, b: Bounds, kind: str) -> Bounds:
    """Bound the elements of a product, and refuse one whose partial sums may leave the type."""
    (least, most), low, high = bounds.combine_products(kernel, a, b)
    call.require_range(least, most, kind)
    return low, high


def _get_offset(call: NodeCall, index: int, of: Operand, shape: Sequence[int]) -> Array:
    """Return a constant zero point, shaped to be subtracted; 0 if left out."""
    operand = call.find(index)
    if operand is None:
        return np.zeros((), dtype=np.int64)
    if not operand.is_constant or operand.type != of.type:
        raise call.fail(f"zero point {index}: must be a constant of type {of.type}; correct it")
    if operand.low.size == 1:
        return operand.low.reshape(())
    if operand.low.ndim != 1 or operand.low.size != math.prod(shape):
        raise call.fail(
            f"zero point of shape {[*operand.shape]}: must be a scalar or one for each output "
            f"channel; correct it"
        )
    return operand.low.reshape(tuple(shape))


def _shift(a: Operand, offset: Array) -> Bounds:
    return np.subtract(a.low, offset), np.subtract(a.high, offset)


def multiply_matrices(a_offset: Array, b_offset: Array, a: Array, b: Array) -> Array:
    """Multiply matrices less their zero points."""
    if a_offset.any():
        a = np.subtract(a, a_offset)
    if b_offset.any():
        b = np.subtract(b, b_offset)
    return multiply(a, b)


def multiply(a: Array, b: Array) -> Array:
    """Multiply matrices."""
    result: Array = np.matmul(a, order_columns(b))
    return result


def plan_matmul(call: NodeCall) -> Plan:
    """Plan a product of matrices of one type."""
    a, b = call.get_all()
    zero = np.zeros((), dtype=np.int64)
    return _plan_product(call, a, b, (zero, zero), a.type)


def plan_matmul_integer(call: NodeCall) -> Plan:
    """Plan a product of 8-bit matrices with zero points, of type int32."""
    a, b = call.get(0), call.get(1)
    columns = b.shape[-1:] if len(b.shape) > 1 else ()
    offsets = (_get_offset(call, 2, a, ()), _get_offset(call, 3, b, columns))
    return _plan_product(call, a, b, offsets, "int32")


def _plan_product(
    call: NodeCall, a: Operand, b: Operand, offsets: tuple[Array, Array], kind: str
) -> Plan:
    shape, depth = _shape_product(call, a.shape, b.shape)
    return Plan(
        type=kind,
        shape=shape,
        kernel=partial(multiply_matrices, *offsets),
        bound=lambda: _bound_products(
            call, multiply, _shift(a, offsets[0]), _shift(b, offsets[1]), kind
        ),
        operations=cost.cost_product(
            math.prod(shape),
            depth,
            _count_moved(a, b, offsets),
            MATMUL_CALLS,
        ),
        operands=(0, 1),
    )


def _count_moved(a: Operand, b: Operand, offsets: tuple[Array, Array]) -> int:
    """Return how many elements are subtracted from, or put in the order of the inner loop.

    The order of a constant is that of the inner loop from the start.
    """
    shifted = sum(
        math.prod(each.shape) for each, offset in zip((a, b), offsets, strict=True) if offset.any()
    )
    return shifted + (0 if b.is_constant or len(b.shape) == 1 else math.prod(b.shape))


def order_columns(b: Array) -> Array:
    """Return a matrix whose columns are contiguous, which NumPy's inner loop reads."""
    if b.ndim == 1:
        return b
    return np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)


def _shape_product(
    call: NodeCall, a: tuple[int, ...], b: tuple[int, ...]
) -> tuple[tuple[int, ...], int]:
    """Return the shape of a product, and the length of the sums. Source: numpy.matmul."""
    fits = bool(a) and bool(b) and a[-1] == b[-2 if len(b) > 1 else 0]
    if not fits:
        raise call.fail(f"shapes {[*a]}, {[*b]}: must be those of matrices that multiply")
    try:
        stack = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError as error:
        raise call.fail(f"shapes {[*a]}, {[*b]}: must broadcast; reshape an input") from error
    shape = (*stack, *(a[-2:-1]), *(b[-1:] if len(b) > 1 else ()))
    return call.require_shape(shape), a[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The geometry of a convolution over one or two axes."""

    group: int
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    sides: tuple[int, ...]
    """The output's extent along each axis."""


def convolve(window: Window, x: Array, w: Array) -> Array:
    """Convolve: gather the elements under each position of the window, then multiply matrices."""
    batch, channels = x.shape[:2]
    filters = w.shape[0]
    pads = [(0, 0), (0, 0), *zip(window.begins, window.ends, strict=True)]
    padded = np.zeros([s + sum(p) for s, p in zip(x.shape, pads, strict=True)], dtype=x.dtype)
    inner = tuple(slice(b, b + n) for b, n in zip(window.begins, x.shape[2:], strict=True))
    padded[slice(None), slice(None), *inner] = x
    axes = padded.strides[2:]
    under = np.ndarray(
        (window.group, batch, *window.sides, channels // window.group, *window.kernel),
        dtype=x.dtype,
        buffer=padded,
        strides=(
            padded.strides[1] * (channels // window.group),
            padded.strides[0],
            *(a * s for a, s in zip(axes, window.strides, strict=True)),
            padded.strides[1],
            *(a * d for a, d in zip(axes, window.dilations, strict=True)),
        ),
    )
    positions = batch * math.prod(window.sides)
    rows = under.reshape(window.group, positions, -1)
    columns = w.reshape(window.group, filters // window.group, -1).swapaxes(1, 2)
    product = np.matmul(rows, columns).reshape(window.group, batch, -1, filters // window.group)
    result: Array = product.transpose(1, 0, 3, 2).reshape(batch, filters, *window.sides)
    return result


def convolve_shifted(window: Window, x_offset: Array, w_offset: Array, x: Array, w: Array) -> Array:
    """Convolve arrays less the zero points. Padding is the zero point, hence 0 after that."""
    if x_offset.any():
        x = np.subtract(x, x_offset)
    if w_offset.any():
        w = np.subtract(w, w_offset)
    return convolve(window, x, w)


def plan_convolution(call: NodeCall) -> Plan:
    """Plan a convolution of 8-bit tensors over one or two axes, of type int32."""
    x, w = call.get(0), call.get(1)
    window = _read_window(call, x.shape, w.shape)
    filters, depth = w.shape[0], math.prod(w.shape[1:])
    positions = x.shape[0] * math.prod(window.sides)
    gathered = call.require_shape((window.group, positions, depth))
    padded = call.require_shape(
        (
            *x.shape[:2],
            *(
                size + begin + end
                for size, begin, end in zip(x.shape[2:], window.begins, window.ends, strict=True)
            ),
        )
    )
    shape = call.require_shape((x.shape[0], filters, *window.sides))
    x_offset = _get_offset(call, 2, x, ())
    w_offset = _get_offset(call, 3, w, (filters, *(1,) * (len(w.shape) - 1)))
    moved = math.prod(gathered) + math.prod(padded) + math.prod(shape)
    moved += math.prod(w.shape) if w_offset.any() else 0
    return Plan(
        type="int32",
        shape=shape,
        kernel=partial(convolve_shifted, window, x_offset, w_offset),
        bound=lambda: _bound_products(
            call, partial(convolve, window), _shift(x, x_offset), _shift(w, w_offset), "int32"
        ),
        operations=cost.cost_product(math.prod(shape), depth, moved, CONVOLUTION_CALLS),
        operands=(0, 1),
        attributes={
            "group": window.group,
            "kernel_shape": window.kernel,
            "strides": window.strides,
            "dilations": window.dilations,
            "pads": (*window.begins, *window.ends),
        },
    )


def _read_window(call: NodeCall, x: tuple[int, ...], w: tuple[int, ...]) -> Window:
    axes = len(x) - 2
    if axes not in {1, 2} or len(w) != len(x):
        raise call.fail(f"shapes {[*x]}, {[*w]}: must have 3 or 4 dimensions; reshape the input")
    group = call.get_integer("group", 1, range(1, x[1] + 1))
    if x[1] % group or w[0] % group or x[1] // group != w[1]:
        raise call.fail(
            f"{x[1]} channels in {group} groups, {w[0]} filters of {w[1]} channels: must divide; "
            f"correct the shapes"
        )
    call.require_text("auto_pad", "NOTSET")
    sizes = range(1, MAX_WINDOW + 1)
    if call.get_integers("kernel_shape", w[2:], axes, sizes) != w[2:]:
        raise call.fail(f"attribute kernel_shape: must be {[*w[2:]]}, that of the weights")
    strides = call.get_integers("strides", (1,) * axes, axes, sizes)
    dilations = call.get_integers("dilations", (1,) * axes, axes, sizes)
    pads = call.get_integers("pads", (0,) * 2 * axes, 2 * axes, range(MAX_WINDOW + 1))
    begins, ends = pads[:axes], pads[axes:]
    sides = tuple(
        (x[2 + i] + begins[i] + ends[i] - dilations[i] * (w[2 + i] - 1) - 1) // strides[i] + 1
        for i in range(axes)
    )
    if min(sides) < 1:
        raise call.fail(f"kernel {[*w[2:]]}: must fit the padded input; add padding")
    return Window(
        group=group,
        kernel=w[2:],
        strides=strides,
        dilations=dilations,
        begins=begins,
        ends=ends,
        sides=sides,
    )

"""ONNX's operators in Python integers, element by element, for comparison."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

Objects = Any
"""An array of Python integers."""


def truncate(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def each(function: Callable[..., int]) -> Callable[..., Objects]:
    """Return a function of arrays with broadcasting."""

    def apply(_: Mapping[str, Any], *arrays: Objects) -> Objects:
        return np.frompyfunc(lambda *x: int(function(*x)), len(arrays), 1)(*arrays)

    return apply


def clip(_: Mapping[str, Any], a: Objects, low: Objects = None, high: Objects = None) -> Objects:
    result = a if low is None else np.maximum(a, low)
    return result if high is None else np.minimum(result, high)


def mod(attributes: Mapping[str, Any], a: Objects, b: Objects) -> Objects:
    if attributes.get("fmod", 0):
        return each(lambda x, y: x - y * truncate(x, y))({}, a, b)
    return each(lambda x, y: x % y)({}, a, b)


def cast(attributes: Mapping[str, Any], a: Objects) -> Objects:
    return each(lambda x: x != 0)({}, a) if attributes["to"] == 9 else a


def matmul_integer(
    _: Mapping[str, Any], a: Objects, b: Objects, za: Objects = None, zb: Objects = None
) -> Objects:
    return np.matmul(a - (0 if za is None else za), b - (0 if zb is None else zb))


def convolve(
    attributes: Mapping[str, Any], x: Objects, w: Objects, zx: Objects = None, zw: Objects = None
) -> Objects:
    x = x - (0 if zx is None else zx)
    if zw is not None:
        w = w - zw.reshape(-1, *[1] * (w.ndim - 1))
    axes = x.ndim - 2
    pads = attributes.get("pads", [0] * 2 * axes)
    strides = attributes.get("strides", [1] * axes)
    dilations = attributes.get("dilations", [1] * axes)
    group = attributes.get("group", 1)
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:], strict=True)])
    kernel = w.shape[2:]
    sides = [
        (x.shape[2 + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(axes)
    ]
    result = np.zeros((x.shape[0], w.shape[0], *sides), dtype=object)
    per_group = w.shape[0] // group
    for n, m, *at in product(*map(range, result.shape)):
        for c, *k in product(range(w.shape[1]), *map(range, kernel)):
            place = [at[i] * strides[i] + k[i] * dilations[i] for i in range(axes)]
            channel = m // per_group * w.shape[1] + c
            result[(n, m, *at)] += x[(n, channel, *place)] * w[(m, c, *k)]
    return result


def reduce(function: Callable[..., Objects]) -> Callable[..., Objects]:
    def apply(attributes: Mapping[str, Any], a: Objects, axes: Objects = None) -> Objects:
        given = attributes.get("axes", None if axes is None else axes.tolist())
        if given is None and attributes.get("noop_with_empty_axes"):
            return a
        keepdims = bool(attributes.get("keepdims", 1))
        return function(a, axis=None if given is None else tuple(given), keepdims=keepdims)

    return apply


def find(sign: int) -> Callable[..., Objects]:
    def apply(attributes: Mapping[str, Any], a: Objects) -> Objects:
        axis = attributes.get("axis", 0)

        def search(row: NDArray[Any]) -> int:
            places = range(len(row))
            if attributes.get("select_last_index"):
                places = places[::-1]
            return max(places, key=lambda i: sign * row[i])

        found = np.apply_along_axis(search, axis, a)
        return np.expand_dims(found, axis) if attributes.get("keepdims", 1) else found

    return apply


def reshape(attributes: Mapping[str, Any], a: Objects, shape: Objects) -> Objects:
    sizes = [
        a.shape[i] if size == 0 and not attributes.get("allowzero") else size
        for i, size in enumerate(shape.tolist())
    ]
    return a.reshape(sizes)


def flatten(attributes: Mapping[str, Any], a: Objects) -> Objects:
    axis = attributes.get("axis", 1)
    return a.reshape(int(np.prod(a.shape[:axis])), -1)


def take_slice(
    _: Mapping[str, Any],
    a: Objects,
    starts: Objects,
    ends: Objects,
    axes: Objects = None,
    steps: Objects = None,
) -> Objects:
    for i in range(len(starts)):
        axis = i if axes is None else int(axes[i]) % a.ndim
        step = 1 if steps is None else int(steps[i])
        places = range(a.shape[axis])[slice(int(starts[i]), int(ends[i]), step)]
        a = np.take(a, list(places), axis=axis)
    return a


def pad(
    _: Mapping[str, Any], a: Objects, pads: Objects, value: Objects = None, axes: Objects = None
) -> Objects:
    chosen = range(a.ndim) if axes is None else [int(axis) % a.ndim for axis in axes]
    widths = [(0, 0)] * a.ndim
    for i, axis in enumerate(chosen):
        widths[axis] = (int(pads[i]), int(pads[len(chosen) + i]))
    return np.pad(a, widths, constant_values=0 if value is None else int(value))


REFERENCES: Mapping[str, Callable[..., Objects]] = {
    "Abs": each(abs),
    "Add": each(lambda a, b: a + b),
    "And": each(lambda a, b: a and b),
    "ArgMax": find(1),
    "ArgMin": find(-1),
    "Cast": cast,
    "Clip": clip,
    "Concat": lambda attributes, *a: np.concatenate(a, axis=attributes["axis"]),
    "ConvInteger": convolve,
    "Div": each(truncate),
    "Equal": each(lambda a, b: a == b),
    "Flatten": flatten,
    "Gather": lambda attributes, a, i: np.take(a, i.astype(int), axis=attributes.get("axis", 0)),
    "Greater": each(lambda a, b: a > b),
    "GreaterOrEqual": each(lambda a, b: a >= b),
    "Identity": lambda _, a: a,
    "Less": each(lambda a, b: a < b),
    "LessOrEqual": each(lambda a, b: a <= b),
    "MatMul": lambda _, a, b: np.matmul(a, b),
    "MatMulInteger": matmul_integer,
    "Max": each(lambda *a: max(a)),
    "Min": each(lambda *a: min(a)),
    "Mod": mod,
    "Mul": each(lambda a, b: a * b),
    "Neg": each(lambda a: -a),
    "Not": each(lambda a: not a),
    "Or": each(lambda a, b: a or b),
    "Pad": pad,
    "ReduceMax": reduce(np.max),
    "ReduceMin": reduce(np.min),
    "ReduceSum": reduce(np.sum),
    "Relu": each(lambda a: max(a, 0)),
    "Reshape": reshape,
    "Sign": each(lambda a: (a > 0) - (a < 0)),
    "Slice": take_slice,
    "Squeeze": lambda _, a, axes=None: np.squeeze(a, None if axes is None else tuple(axes)),
    "Sub": each(lambda a, b: a - b),
    "Transpose": lambda attributes, a: np.transpose(a, attributes.get("perm")),
    "Unsqueeze": lambda _, a, axes: np.expand_dims(a, tuple(axes.tolist())),
    "Where": each(lambda condition, a, b: a if condition else b),
}

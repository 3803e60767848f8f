"""Windows, pools, reductions and changes of shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric.convert.linear import Product, apply_product
from pyevm_agents.models.numeric.convert.options import ConversionError
from pyevm_agents.models.numeric.convert.quantised import (
    ACTIVATION_BITS,
    Quantised,
    choose_scale,
    object_array,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from pyevm_agents.models.numeric.convert.float_graph import FloatNode
    from pyevm_agents.models.numeric.convert.writer import IntegerWriter


def take(writer: IntegerWriter, tensor: Quantised, index: np.ndarray) -> Quantised:
    """Add a Gather of elements, by their index in the flat tensor."""
    count = tensor.least.size
    flat = writer.reshape(tensor.name, [count]) if len(tensor.shape) != 1 else tensor.name
    values = tensor.values.reshape(len(tensor.values), count)
    return Quantised(
        name=writer.add("Gather", flat, writer.add_constant(index)),
        scale=tensor.scale,
        least=tensor.least.reshape(count)[index],
        most=tensor.most.reshape(count)[index],
        values=values[:, index],
    )


def reshape(writer: IntegerWriter, tensor: Quantised, shape: Sequence[int]) -> Quantised:
    """Add a Reshape to a shape without the batch dimension."""
    if tuple(shape) == tensor.shape:
        return tensor
    return replace(
        tensor,
        name=writer.reshape(tensor.name, shape),
        least=tensor.least.reshape(shape),
        most=tensor.most.reshape(shape),
        values=tensor.values.reshape(len(tensor.values), *shape),
        read=tensor.read if len(shape) == 1 else None,
        gain=None if tensor.gain is None else tensor.gain.reshape(shape),
        offset=None if tensor.offset is None else tensor.offset.reshape(shape),
    )


def resolve_shape(tensor: Quantised, wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the shape without the batch dimension that a Reshape gives one row.

    Input:
        wanted: the float model's shape, the batch first; 0 keeps a size, -1 is the rest.
    """
    sizes = [tensor.shape[at - 1] if size == 0 and at else size for at, size in enumerate(wanted)]
    try:
        return np.empty(tensor.shape).reshape(sizes[1:]).shape
    except ValueError as error:
        raise ConversionError(
            f"Reshape of {[*tensor.shape]} to {[*wanted]}: must keep the batch as first dimension"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Places of a 1-D window."""

    size: int
    stride: int
    dilation: int
    pads: tuple[int, int]

    def list_places(self, length: int) -> np.ndarray:
        """Return the indices of each place, places by size; pads are beyond the ends."""
        span = (self.size - 1) * self.dilation + 1
        count = (length + sum(self.pads) - span) // self.stride + 1
        if count < 1:
            raise ConversionError(f"window of {span}: must be at most the length {length}")
        starts = np.arange(count)[:, None] * self.stride - self.pads[0]
        return starts + np.arange(self.size)[None, :] * self.dilation


def read_windows(node: FloatNode, size: int, length: int) -> Windows:
    """Return the windows of a Conv or a pool over one dimension.

    Raises: ConversionError: other dimensions, or ceil_mode.
    """
    kernel = node.get_ints("kernel_shape", (size,))
    if len(kernel) != 1:
        raise ConversionError(f"{node.operator} of {len(kernel)} dimensions: must be 1-D")
    if node.get_int("ceil_mode", 0):
        raise ConversionError(f"{node.operator} with ceil_mode: not supported")
    stride, dilation = node.get_ints("strides", (1,))[0], node.get_ints("dilations", (1,))[0]
    pads = node.get_ints("pads", (0, 0))
    automatic = node.get_text("auto_pad", "NOTSET")
    if automatic in {"SAME_UPPER", "SAME_LOWER"}:
        span = (kernel[0] - 1) * dilation + 1
        total = max(0, (-(-length // stride) - 1) * stride + span - length)
        pads = (total // 2, total - total // 2)
        pads = pads if automatic == "SAME_UPPER" else pads[::-1]
    return Windows(size=kernel[0], stride=stride, dilation=dilation, pads=(pads[0], pads[1]))


def apply_convolution(
    writer: IntegerWriter, tensor: Quantised, node: FloatNode, weights: np.ndarray, product: Product
) -> Quantised:
    """Add a 1-D convolution: a Gather of all windows, and one product.

    Input:
        tensor: channels by length, plain.
        product: bias, scale and bits; weights are not read.
    """
    if weights.ndim != 3 or len(tensor.shape) != 2:  # noqa: PLR2004 - ONNX's ranks of a 1-D Conv
        raise ConversionError("Conv: must be 1-D, channels by length")
    channels, length = tensor.shape
    groups = node.get_int("group", 1)
    windows = read_windows(node, weights.shape[2], length)
    places = windows.list_places(length)
    is_inside = (places >= 0) & (places < length)
    padded = tensor if is_inside.all() else _append_zero(writer, tensor)
    flat = np.arange(channels)[:, None, None] * length + places.T[None]
    index = np.where(is_inside.T[None], flat, channels * length)
    patches = take(writer, padded, index.reshape(channels * windows.size, len(places)))
    matrix = _spread_groups(weights, channels, groups).reshape(len(weights), -1).T
    return apply_product(writer, patches, replace(product, weights=matrix), is_window=True)


def _append_zero(writer: IntegerWriter, tensor: Quantised) -> Quantised:
    """Return the flat tensor with a zero at the end, for pads."""
    flat = reshape(writer, tensor, [tensor.least.size])
    zero = object_array([0])
    return Quantised(
        name=writer.add("Concat", flat.name, writer.add_constant([0]), axis=0),
        scale=tensor.scale,
        least=np.concatenate([flat.least, zero]),
        most=np.concatenate([flat.most, zero]),
        values=np.pad(flat.values, ((0, 0), (0, 1))),
    )


def _spread_groups(weights: np.ndarray, channels: int, groups: int) -> np.ndarray:
    """Return the weights of a convolution in groups with zeros for the other groups' channels."""
    outputs, inputs, size = weights.shape
    if inputs * groups != channels:
        raise ConversionError(f"channels {channels} of Conv: must be {inputs * groups}")
    spread = np.zeros((outputs, channels, size))
    for output in range(outputs):
        first = output // (outputs // groups) * inputs
        spread[output, first : first + inputs] = weights[output]
    return spread


def apply_pool(writer: IntegerWriter, tensor: Quantised, node: FloatNode) -> Quantised:
    """Add a MaxPool or an AveragePool over one dimension."""
    channels, length = tensor.shape
    windows = read_windows(node, 0, length)
    places = windows.list_places(length)
    is_inside = (places >= 0) & (places < length)
    if node.operator == "AveragePool" and not is_inside.all():
        raise ConversionError("AveragePool with pads: not supported; export it without")
    # A place beyond an end repeats one inside: the greatest stays.
    first = np.take_along_axis(places, is_inside.argmax(axis=1)[:, None], axis=1)
    places = np.where(is_inside, places, first)
    picked = take(writer, tensor, np.arange(channels)[:, None, None] * length + places[None])
    return reduce(writer, picked, (2,), "max" if node.operator == "MaxPool" else "mean")


def reduce(
    writer: IntegerWriter,
    tensor: Quantised,
    axes: tuple[int, ...],
    kind: str,
    *,
    keeps: bool = False,
) -> Quantised:
    """Add a reduction over axes, without the batch's: max, min, sum or mean.

    A mean is a sum of another scale.
    """
    name = writer.add(
        {"max": "ReduceMax", "min": "ReduceMin"}.get(kind, "ReduceSum"),
        tensor.name,
        writer.add_constant([*axes]),
        keepdims=int(keeps),
    )
    count = int(np.prod([tensor.shape[axis] for axis in axes]))
    batch = tuple(axis + 1 for axis in axes)
    compute: Callable[..., np.ndarray] = {"max": np.maximum, "min": np.minimum}.get(
        kind, np.add
    ).reduce
    values = compute(tensor.values, axis=batch, keepdims=keeps)
    scale: Fraction = tensor.scale / count if kind == "mean" else tensor.scale
    return Quantised(
        name=name,
        scale=scale,
        least=object_array(compute(tensor.least, axis=axes, keepdims=keeps)),
        most=object_array(compute(tensor.most, axis=axes, keepdims=keeps)),
        values=values / count if kind == "mean" else values,
    )


def transpose(writer: IntegerWriter, tensor: Quantised, order: Sequence[int]) -> Quantised:
    """Add a Transpose by an order that includes the batch dimension."""
    if order[0] != 0:
        raise ConversionError(f"Transpose by {[*order]}: must keep the batch first")
    axes = [axis - 1 for axis in order[1:]]
    return Quantised(
        name=writer.add("Transpose", tensor.name, perm=axes),
        scale=tensor.scale,
        least=tensor.least.transpose(axes),
        most=tensor.most.transpose(axes),
        values=tensor.values.transpose([*order]),
    )


def gather_embedding(
    writer: IntegerWriter, tensor: Quantised, table: np.ndarray, bits: int
) -> Quantised:
    """Add a lookup of a constant's rows by the model's inputs."""
    largest = float(np.abs(table).max())
    scale = choose_scale(np.array([largest])) * 2 ** max(0, ACTIVATION_BITS - bits)
    rows = np.rint(table.astype(np.float64) / float(scale)).astype(np.int64)
    shape = (*tensor.shape, *table.shape[1:])
    index = tensor.values.astype(np.int64)
    return Quantised(
        name=writer.gather_rows(rows, tensor.name),
        scale=scale,
        least=np.broadcast_to(object_array(rows.min(axis=0)), shape).copy(),
        most=np.broadcast_to(object_array(rows.max(axis=0)), shape).copy(),
        values=table[index].astype(np.float64),
    )

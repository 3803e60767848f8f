"""Emitters: the calls of each operator of a numeric model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.numeric.solidity.calls import BOOL_NUMBER, Emitter, map_elements
from pyevm_agents.models.numeric.solidity.layout import Nest, Place, find_nest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.models.numeric.graph import Graph, GraphNode

BINARY = {
    "Add": "add", "And": "and", "Div": "div", "Equal": "equal", "Greater": "greater",
    "GreaterOrEqual": "greaterOrEqual", "Less": "less", "LessOrEqual": "lessOrEqual",
    "Max": "max", "Min": "min", "Mul": "mul", "Or": "or", "Sub": "sub",
}  # fmt: skip
UNARY = {"Abs": "abs", "Neg": "neg", "Not": "not", "Relu": "relu", "Sign": "sign"}
MOVES = ("Concat", "Flatten", "Identity", "Pad", "Reshape", "Slice", "Squeeze", "Transpose",
         "Unsqueeze")  # fmt: skip


def emit_calls(graph: Graph) -> Emitter:
    """Return the emitter of a graph with the calls of all nodes."""
    emitter = Emitter(graph)
    for emitter.index, node in enumerate(graph.nodes):
        if emitter.roots[node.output] == node.output:
            EMITTERS[node.operator](emitter, node)
        emitter.release_dead(node)
    emitter.copy_output()
    return emitter


def _emit_move(emitter: Emitter, node: GraphNode) -> None:
    """Emit a node that copies elements: all operands after each other, then by index."""
    index, names = map_elements(emitter.graph, node)
    place = emitter.define(node.output)
    shape = emitter.shape(node.output)
    if len(names) == 1 and index.min() > 0:
        emitter.move_to(emitter.place(names[0]), index - 1, shape, place.write_result())
        return
    counts = [emitter.size(name) for name in names]
    total = 1 + sum(counts)
    is_straight = bool((np.diff(index) == 1).all()) and index[0] == 1 and index.size == total - 1
    joint = place if is_straight else emitter.memory.take(total)
    at = 0
    if not is_straight:
        zero = emitter.constants.add(np.array([0]))
        emitter.move_to(zero, np.array([0]), (1,), joint.write_result())
        at = 1
    for name, count in zip(names, counts, strict=True):
        emitter.move_to(emitter.place(name), np.arange(count), (count,), joint.write_result(at))
        at += count
    if not is_straight:
        emitter.move_to(joint, index, shape, place.write_result())
        emitter.memory.release(joint, total)


def _emit_binary_chain(emitter: Emitter, node: GraphNode, function: str) -> None:
    """Emit a node of two or more operands, from the left."""
    shape, names = emitter.shape(node.output), [*node.operands]
    if len(names) == 1:
        _emit_unary(emitter, node, "copy")
        return
    places, nest, temporary = emitter.read(names, shape)
    place = emitter.reuse(node, names, nest) if len(names) == 2 else emitter.define(node.output)  # noqa: PLR2004 - binary
    first = places[0].write(*nest.strides[0])
    straight = place.write(0, 1, nest.inner)
    for other, strides in zip(places[1:], nest.strides[1:], strict=True):
        emitter.call(function, first, other.write(*strides), place.write_result(), nest.word)
        first = straight
    for each, count in temporary:
        emitter.memory.release(each, count)


def _emit_unary(emitter: Emitter, node: GraphNode, function: str, *arguments: str) -> None:
    names = [node.operands[0]]
    places, nest, _ = emitter.read(names, emitter.shape(node.output))
    place = emitter.reuse(node, names, nest)
    source = places[0].write(*nest.strides[0])
    emitter.call(function, source, place.write_result(), nest.word, *arguments)


def _emit_modulo(emitter: Emitter, node: GraphNode) -> None:
    _emit_binary_chain(emitter, node, "modTruncate" if node.attributes["fmod"] else "modFloor")


def _emit_cast(emitter: Emitter, node: GraphNode) -> None:
    _emit_unary(emitter, node, "bool" if node.attributes["to"] == BOOL_NUMBER else "copy")


def _emit_clip(emitter: Emitter, node: GraphNode) -> None:
    """Emit a Clip; bounds that are no constants are taken from memory."""
    constants = emitter.graph.constants
    bounds = dict(zip(("max", "min"), _list_bounds(node), strict=True))
    given = {key: name for key, name in bounds.items() if name}
    if given and all(name in constants for name in given.values()):
        least = int(constants[given["max"]].ravel()[0]) if "max" in given else -(2**63)
        most = int(constants[given["min"]].ravel()[0]) if "min" in given else 2**63 - 1
        _emit_unary(emitter, node, "clip", str(least), str(most))
        return
    names, shape = [node.operands[0], *given.values()], emitter.shape(node.output)
    places, nest, temporary = emitter.read(names, shape)
    place = emitter.define(node.output)
    first = places[0].write(*nest.strides[0])
    if not given:
        emitter.call("copy", first, place.write_result(), nest.word)
    for function, other, strides in zip(given, places[1:], nest.strides[1:], strict=True):
        emitter.call(function, first, other.write(*strides), place.write_result(), nest.word)
        first = place.write(0, 1, nest.inner)
    for each, count in temporary:
        emitter.memory.release(each, count)


def _list_bounds(node: GraphNode) -> tuple[str, str]:
    """Return the names of a Clip's bounds; empty without one."""
    padded = (*node.inputs, "", "")
    return padded[1], padded[2]


def _emit_where(emitter: Emitter, node: GraphNode) -> None:
    """Emit a choice as `b + condition * (a - b)`, exact in 256 bits."""
    places, nest, temporary = emitter.read(node.operands, emitter.shape(node.output))
    condition, a, b = (p.write(*s) for p, s in zip(places, nest.strides, strict=True))
    place = emitter.define(node.output)
    own, result = place.write(0, 1, nest.inner), place.write_result()
    emitter.call("sub", a, b, result, nest.word)
    emitter.call("mul", own, condition, result, nest.word)
    emitter.call("add", own, b, result, nest.word)
    for each, count in temporary:
        emitter.memory.release(each, count)


def _emit_gather(emitter: Emitter, node: GraphNode) -> None:
    """Emit a lookup of rows: a copy if the indices are constant."""
    graph, (table, indices) = emitter.graph, node.operands
    if indices in graph.constants:
        index = node.kernel(
            np.arange(emitter.size(table)).reshape(emitter.shape(table)), graph.constants[indices]
        )
        place = emitter.define(node.output)
        emitter.move_to(
            emitter.place(table), index.ravel(), emitter.shape(node.output), place.write_result()
        )
        return
    shape, axis = emitter.shape(table), int(str(node.attributes["axis"]))
    count, inner = emitter.size(indices), math.prod(shape[axis + 1 :])
    source, by = emitter.place(table), emitter.place(indices)
    own = None
    if graph.ranges[indices].least < 0:
        own = _wrap_indices(emitter, by, count, shape[axis])
        by = own
    place = emitter.define(node.output)
    for outer in range(math.prod(shape[:axis])):
        result = place.write_result(outer * count * inner)
        first = outer * shape[axis] * inner
        operands = (source.write(first, 1, inner), by.write(0, 1, 0), result)
        if inner == 1:
            emitter.call("pick", *operands, f"{count:#x}")
        else:
            emitter.call("gather", *operands, Nest(count, inner, ()).word)
    if own is not None:
        emitter.memory.release(own, count)


def _wrap_indices(emitter: Emitter, by: Place, count: int, size: int) -> Place:
    """Add the nodes that make negative indices count from the end; return their place."""
    place = emitter.memory.take(count)
    modulus = emitter.constants.add(np.array([size]))
    word = Nest(1, count, ()).word
    emitter.call("modFloor", by.write(0, 1, 0), modulus.write(), place.write_result(), word)
    return place


def _emit_reduction(
    emitter: Emitter, node: GraphNode, function: str, axes: tuple[int, ...]
) -> None:
    """Emit a reduction: results by the outer loop, reduced elements by the inner one."""
    name = node.operands[0]
    shape = emitter.shape(name)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    index = np.arange(emitter.size(name)).reshape(shape).transpose(*kept, *axes)
    results = math.prod(shape[axis] for axis in kept)
    grid = index.reshape(results, -1)
    source, temporary = emitter.place(name), None
    nest = find_nest((results, grid.shape[1]), [grid.ravel()])
    if nest is None or (nest.outer, nest.inner) not in {grid.shape, (1, grid.size)}:
        temporary = emitter.move(source, grid.ravel(), grid.shape)
        source, strides = temporary, (0, 1, grid.shape[1])
    else:
        start, inner, outer = nest.strides[0]
        is_one = nest.outer == 1 and results > 1
        strides = (start, inner, inner * grid.shape[1] if is_one else outer)
    place = emitter.define(node.output)
    word = Nest(results, grid.shape[1], ()).word
    word = f"{(results << 24) + grid.shape[1]:#x}"
    emitter.call(function, source.write(*strides), place.write_result(), word)
    if temporary is not None:
        emitter.memory.release(temporary, grid.size)


def _emit_reduce(emitter: Emitter, node: GraphNode) -> None:
    axes = node.attributes["axes"]
    if not isinstance(axes, tuple) or not axes:
        _emit_unary(emitter, node, "copy")
        return
    _emit_reduction(emitter, node, node.operator.replace("R", "r", 1), axes)


def _emit_place(emitter: Emitter, node: GraphNode) -> None:
    last = "Last" if node.attributes["select_last_index"] else ""
    axis = int(str(node.attributes["axis"]))
    _emit_reduction(emitter, node, node.operator.replace("A", "a", 1) + last, (axis,))


def _emit_product(emitter: Emitter, node: GraphNode) -> None:
    """Emit a product of matrices, one call for each of a stack."""
    names, zeros = node.operands[:2], _read_zero_points(emitter, node)
    shapes = [emitter.shape(name) for name in names]
    left = (1, *shapes[0]) if len(shapes[0]) == 1 else shapes[0]
    right = (*shapes[1], 1) if len(shapes[1]) == 1 else shapes[1]
    rows, depth, columns = left[-2], left[-1], right[-1]
    stack = np.broadcast_shapes(left[:-2], right[:-2])
    offsets = [
        np.broadcast_to(
            np.arange(math.prod(each[:-2])).reshape(each[:-2]) * math.prod(each[-2:]), stack
        ).ravel()
        for each in (left, right)
    ]
    places, temporary = [], []
    for name, zero in zip(names, zeros, strict=True):
        place = _subtract(emitter, name, zero)
        places.append(place or emitter.place(name))
        temporary += [] if place is None else [(place, emitter.size(name))]
    result = emitter.define(node.output)
    for index, (a, b) in enumerate(zip(*offsets, strict=True)):
        emitter.call(
            "matMul",
            places[0].write(int(a), 1, depth),
            places[1].write(int(b), 1, columns),
            result.write_result(index * rows * columns),
            f"{(rows * columns << 48) + (depth << 24) + columns:#x}",
        )
    for place, count in temporary:
        emitter.memory.release(place, count)


def _read_zero_points(emitter: Emitter, node: GraphNode) -> list[np.ndarray | None]:
    """Return both zero points of an integer product; None without one."""
    padded = (*node.inputs, "", "")[2:4]
    return [emitter.graph.constants[name] if name else None for name in padded]


def _subtract(emitter: Emitter, name: str, zero: np.ndarray | None) -> Place | None:
    """Add the subtraction of a zero point from a tensor; return None without a zero point.

    A constant tensor is stored without the zero point.
    """
    if zero is None or not zero.any():
        return None
    shape, count = emitter.shape(name), emitter.size(name)
    if zero.size > 1 and len(shape) > 2:  # noqa: PLR2004 - filters of a convolution
        zero = zero.reshape(-1, *(1,) * (len(shape) - 1))
    spread = np.broadcast_to(zero.reshape(-1) if zero.ndim < 2 else zero, shape)  # noqa: PLR2004 - a vector
    place = emitter.memory.take(count)
    other = emitter.constants.add(spread if zero.size > 1 else zero.reshape(1))
    strides = (0, 1, 0) if zero.size > 1 else (0, 0, 0)
    word = Nest(1, count, ()).word
    source = emitter.place(name).write(0, 1, 0)
    emitter.call("sub", source, other.write(*strides), place.write_result(), word)
    return place


def _emit_convolution(emitter: Emitter, node: GraphNode) -> None:
    """Emit a convolution: all windows by a table, and a product for each group of channels."""
    x, w = node.operands[:2]
    zeros = _read_zero_points(emitter, node)
    weights = emitter.graph.constants.get(w)
    if weights is None:
        raise ConfigError("ConvInteger with weights that are not constant: not supported")
    if zeros[1] is not None and zeros[1].any():
        shift = zeros[1].reshape(-1, *(1,) * (weights.ndim - 1)) if zeros[1].size > 1 else zeros[1]
        weights = weights - shift
    shape, result_shape = emitter.shape(x), emitter.shape(node.output)
    shifted = _subtract(emitter, x, zeros[0])
    source, count = shifted or emitter.place(x), emitter.size(x)
    joint = emitter.memory.take(count + 1)
    emitter.move_to(emitter.constants.add(np.array([0])), np.array([0]), (1,), joint.write_result())
    emitter.move_to(source, np.arange(count), (count,), joint.write_result(1))
    place = emitter.define(node.output)
    index = _list_patches(node, shape, weights.shape, result_shape)
    groups, filters = int(str(node.attributes["group"])), weights.shape[0]
    depth, spots = math.prod(weights.shape[1:]), math.prod(result_shape[2:])
    patches = emitter.memory.take(depth * spots)
    own = emitter.constants.add(weights)
    each = filters // groups
    for batch in range(shape[0]):
        for group in range(groups):
            emitter.move_to(
                joint, index[batch, group].ravel(), (depth, spots), patches.write_result()
            )
            emitter.call(
                "matMul",
                own.write(group * each * depth, 1, depth),
                patches.write(0, 1, spots),
                place.write_result((batch * filters + group * each) * spots),
                f"{(each * spots << 48) + (depth << 24) + spots:#x}",
            )
    emitter.memory.release(patches, depth * spots)
    emitter.memory.release(joint, count + 1)
    if shifted is not None:
        emitter.memory.release(shifted, count)


def _list_patches(
    node: GraphNode, shape: tuple[int, ...], weights: tuple[int, ...], result: tuple[int, ...]
) -> np.ndarray:
    """Return the element under each weight at each place, from 1 up; 0 is padding."""
    axes = len(shape) - 2
    pads, strides, dilations = (
        np.array(node.attributes[name]) for name in ("pads", "strides", "dilations")
    )
    groups = int(str(node.attributes["group"]))
    padding = [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:], strict=True)]
    padded = np.pad(np.arange(1, 1 + math.prod(shape)).reshape(shape), padding)
    kernel, places = np.indices(weights[2:]), np.indices(result[2:])
    spread = (slice(None), *(slice(None),) * axes, *(None,) * axes)
    under = (kernel * dilations.reshape(-1, *(1,) * axes))[spread] + (
        places * strides.reshape(-1, *(1,) * axes)
    )[(slice(None), *(None,) * axes)]
    picked = padded[(slice(None), slice(None), *under)]
    channels = shape[1] // groups
    return picked.reshape(shape[0], groups, channels * math.prod(weights[2:]), -1)


def _binary(function: str) -> Callable[[Emitter, GraphNode], None]:
    return lambda emitter, node: _emit_binary_chain(emitter, node, function)


def _unary(function: str) -> Callable[[Emitter, GraphNode], None]:
    return lambda emitter, node: _emit_unary(emitter, node, function)


EMITTERS: Mapping[str, Callable[[Emitter, GraphNode], None]] = {
    **{operator: _binary(function) for operator, function in BINARY.items()},
    **{operator: _unary(function) for operator, function in UNARY.items()},
    **dict.fromkeys(MOVES, _emit_move),
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ReduceSum"), _emit_reduce),
    **dict.fromkeys(("ArgMax", "ArgMin"), _emit_place),
    **dict.fromkeys(("MatMul", "MatMulInteger"), _emit_product),
    "Cast": _emit_cast,
    "Clip": _emit_clip,
    "ConvInteger": _emit_convolution,
    "Gather": _emit_gather,
    "Mod": _emit_modulo,
    "Where": _emit_where,
}
"""Emitter of each operator of a numeric model."""

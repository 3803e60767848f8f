"""A numeric model as a Solidity library: one call of a loop for each node of its graph."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.numeric.graph import read_graph
from pyevm_agents.models.numeric.solidity.layout import (
    WORD,
    ConstantData,
    Memory,
    Nest,
    Place,
    find_nest,
    fold_repeats,
)
from pyevm_agents.models.numeric.solidity.templates import FILE_TEXT, build_function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.models.numeric.graph import Graph, Node
    from pyevm_agents.models.numeric.metadata import OutputSpec

MAX_CONTRACT_BYTES = 24_576
"""Upper bound of a contract's code. Source: EIP-170."""

RANGE_BYTES = 8
"""Width of an input's least and most value."""

BYTES_PER_LINE = 40
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LICENCE = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")
"""A text that solc takes for an SPDX licence."""

UNLICENSED = "UNLICENSED"

BINARY = {
    "Add": "add", "And": "and", "Div": "div", "Equal": "equal", "Greater": "greater",
    "GreaterOrEqual": "greaterOrEqual", "Less": "less", "LessOrEqual": "lessOrEqual",
    "Max": "max", "Min": "min", "Mul": "mul", "Or": "or", "Sub": "sub",
}  # fmt: skip
UNARY = {"Abs": "abs", "Neg": "neg", "Not": "not", "Relu": "relu", "Sign": "sign"}
MOVES = ("Concat", "Flatten", "Identity", "Pad", "Reshape", "Slice", "Squeeze", "Transpose",
         "Unsqueeze")  # fmt: skip
BOOL_NUMBER = 9
"""Of the attribute `to` of Cast. Source: onnx.proto, `TensorProto.DataType`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolidityModel:
    """A generated file."""

    text: str
    data_bytes: int
    """Size of the packed constants, which are part of the contract's code."""

    memory_bytes: int
    """Memory for values, beside inputs, outputs and constants."""


def generate_library(
    data: bytes, name: str, *, max_bytes: int = MAX_CONTRACT_BYTES
) -> SolidityModel:
    """Return a numeric model as a Solidity library and a contract around it.

    Input:
        data: bytes of the model's file.
        name: of the library.
        max_bytes: of the constants; more are refused.
    Raises: ConfigError: not a name, or too many constants; NumericModelError: not a numeric model.
    """
    if not IDENTIFIER.fullmatch(name):
        raise ConfigError(f"name {name}: must be letters, digits and _; pass another with --name")
    graph = read_graph(data)
    emitter = _Emitter(graph)
    lines = emitter.emit()
    ranges = np.array(
        [each for spec in graph.inputs for _ in range(spec.count) for each in (spec.least, spec.most)]
    )
    ranges_at = emitter.constants.add(ranges, RANGE_BYTES).offset
    size = len(emitter.constants.data)
    if size > max_bytes:
        raise ConfigError(
            f"constants of {size:,} bytes: must be at most {max_bytes:,}, a contract's code "
            "(EIP-170); convert with fewer bits, use a smaller model, or pass --max-bytes"
        )
    body = "\n".join(f"        {line}" for line in fold_repeats(lines))
    text = _fill(graph, emitter, name, body, ranges_at, hashlib.sha256(data).hexdigest())
    return SolidityModel(text=text, data_bytes=size, memory_bytes=emitter.memory.size)


def _fill(  # noqa: PLR0913, PLR0917 - parts of one file
    graph: Graph, emitter: _Emitter, name: str, body: str, ranges_at: int, digest: str
) -> str:
    licence = graph.metadata.license
    widths = [f"{count:,} of {width} byte{'s' if width > 1 else ''}"
              for width, count in emitter.constants.bytes_of_width.items() if count]  # fmt: skip
    inputs, outputs = (_describe(specs) for specs in (graph.inputs, graph.outputs))
    return FILE_TEXT.format(
        name=name,
        licence=licence if LICENCE.fullmatch(licence) else UNLICENSED,
        signature=f"From {inputs} to {outputs}.",
        digest=digest,
        data_bytes=f"{len(emitter.constants.data):,}",
        widths=", ".join(widths),
        data=_write_data(bytes(emitter.constants.data)),
        inputs=graph.shapes[graph.input_name][0],
        outputs=graph.shapes[graph.output_name][0],
        input_text=f"The inputs: {inputs}.",
        output_text=f"The outputs: {outputs}.",
        memory_bytes=emitter.memory.size,
        ranges_at=ranges_at,
        lines=body,
        functions="\n".join(build_function(each) for each in sorted(emitter.functions)),
    )


MAX_DESCRIBED = 12
"""Inputs or outputs whose names the comments list; they do not end in lines of kilobytes."""


def _describe(specs: Sequence[OutputSpec]) -> str:
    """Return names, counts and decimals for a comment: letters, digits and simple marks alone."""
    words = []
    for spec in specs[:MAX_DESCRIBED]:
        clean = re.sub(r"[^A-Za-z0-9_. -]", "_", spec.name)
        count = f"{spec.count} of " if spec.count > 1 else ""
        words.append(f"{count}{clean} ({spec.decimals} decimals)")
    more = len(specs) - MAX_DESCRIBED
    return ", ".join([*words, *([f"{more} more"] if more > 0 else [])])


def _write_data(data: bytes) -> str:
    parts = [data[at : at + BYTES_PER_LINE] for at in range(0, len(data), BYTES_PER_LINE)]
    return "\n".join(f'        hex"{part.hex()}"' for part in parts)


@dataclass(slots=True)
class _Value:
    """Where a tensor is; tensors of other shapes share it."""

    place: Place
    elements: int
    last_use: int


class _Emitter:
    """Emits the calls of a graph's nodes."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants = ConstantData()
        self.memory = Memory()
        self.functions: set[str] = set()
        self.lines: list[str] = []
        self.values: dict[str, _Value] = {}
        self._roots = _find_roots(graph)
        self._last_use = _find_last_uses(graph, self._roots)
        self._at = 0

    def emit(self) -> list[str]:
        """Return the calls of all nodes."""
        graph = self.graph
        count = graph.shapes[graph.input_name][0]
        self.values[graph.input_name] = _Value(Place("i", 0, WORD), count, len(graph.nodes))
        for self._at, node in enumerate(graph.nodes):
            if self._roots[node.output] != node.output:
                continue
            EMITTERS[node.operator](self, node)
            self._release(node)
        self._copy_output()
        return self.lines

    def _copy_output(self) -> None:
        name = self.graph.output_name
        place, count = self.place(name), self.size(name)
        nest = Nest(1, count, ((0, 1, 0),))
        self.call("copy", place.write(0, 1, 0), "o", nest.word)

    def _release(self, node: Node) -> None:
        for name in {self._roots.get(each, each) for each in (*node.inputs, node.output) if each}:
            value = self.values.get(name)
            if value is not None and value.place.base == "m" and value.last_use <= self._at:
                self.memory.release(value.place, value.elements)
                del self.values[name]

    def call(self, function: str, *arguments: str) -> None:
        """Add a call."""
        self.functions.add(function)
        self.lines.append(f"_{function}({', '.join(arguments)});")

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a tensor's shape."""
        return self.graph.shapes[name]

    def size(self, name: str) -> int:
        """Return a tensor's number of elements."""
        return math.prod(self.graph.shapes[name])

    def place(self, name: str) -> Place:
        """Return where a tensor is."""
        if name in self.graph.constants:
            return self.constants.add(self.graph.constants[name])
        return self.values[self._roots[name]].place

    def define(self, name: str) -> Place:
        """Take memory for a node's result."""
        place = self.memory.take(self.size(name))
        self.values[name] = _Value(place, self.size(name), self._last_use[name])
        return place

    def reuse(self, node: Node, names: Sequence[str], nest: Nest) -> Place:
        """Return a result's memory: an operand's that is read for the last time, if it fits.

        Each element is read before the result is written to its place.
        """
        count = self.size(node.output)
        straight = (0, 1, nest.inner if nest.outer > 1 else 0)
        roots = [self._roots.get(name, name) for name in names]
        for root, strides in zip(roots, nest.strides, strict=True):
            value = self.values.get(root)
            if value is None or value.place.base != "m" or value.last_use != self._at:
                continue
            is_straight = all(
                each in {straight, (0, min(1, nest.inner - 1), straight[2])}
                for other, each in zip(roots, nest.strides, strict=True) if other == root
            )  # fmt: skip
            if value.elements == count and strides and is_straight:
                del self.values[root]
                self.values[node.output] = _Value(
                    value.place, count, self._last_use[node.output]
                )
                return value.place
        return self.define(node.output)

    def read(
        self, names: Sequence[str], shape: tuple[int, ...]
    ) -> tuple[list[Place], Nest, list[tuple[Place, int]]]:
        """Return the operands of an elementwise node, its loops, and memory to free after it."""
        maps = [_broadcast(self.shape(name), shape) for name in names]
        places = [self.place(name) for name in names]
        nest = find_nest(shape, maps)
        if nest is not None:
            return places, nest, []
        temporary, count = [], maps[0].size
        for index, each in enumerate(maps):
            if find_nest((count,), [each]) is None:
                places[index] = self.move(places[index], each, (count,))
                maps[index] = np.arange(count)
                temporary.append((places[index], count))
        nest = find_nest((count,), maps)
        if nest is None:
            raise AssertionError("straight operands have one loop")
        return places, nest, temporary

    def move(self, source: Place, index: np.ndarray, shape: tuple[int, ...]) -> Place:
        """Add a copy of elements by their indices; return its place, of which no tensor knows."""
        place = self.memory.take(index.size)
        self.move_to(source, index, shape, place.write_result())
        return place

    def move_to(
        self, source: Place, index: np.ndarray, shape: tuple[int, ...], result: str
    ) -> None:
        """Add a copy of elements by their indices: in loops, else by a table."""
        nest = find_nest(shape, [index.ravel()])
        if nest is not None:
            self.call("copy", source.write(*nest.strides[0]), result, nest.word)
            return
        table = self.constants.add(index)
        count = f"{index.size:#x}"
        self.call("pick", source.write(0, 0, 1), table.write(0, 1, 0), result, count)


def _broadcast(shape: tuple[int, ...], wanted: tuple[int, ...]) -> np.ndarray:
    index = np.arange(math.prod(shape)).reshape(shape)
    return np.broadcast_to(index, wanted).ravel()


def _is_alias(graph: Graph, node: Node) -> bool:
    """Return whether a node's result is its input: the same elements in the same order."""
    if node.operator == "Cast":
        is_bool = graph.types[node.inputs[0]] == "bool"
        return is_bool or node.attributes["to"] != BOOL_NUMBER
    if node.operator in {"Reshape", "Flatten", "Identity", "Squeeze", "Unsqueeze"}:
        return True
    if node.operator in {"Transpose", "Slice"}:
        return bool((_map_elements(graph, node)[0] == np.arange(
            1, 1 + math.prod(graph.shapes[node.inputs[0]]))).all()
        ) if math.prod(graph.shapes[node.inputs[0]]) == math.prod(
            graph.shapes[node.output]) else False  # fmt: skip
    return False


def _find_roots(graph: Graph) -> dict[str, str]:
    """Return the tensor whose memory each tensor is in."""
    roots = {graph.input_name: graph.input_name}
    for node in graph.nodes:
        is_alias = _is_alias(graph, node) and node.inputs[0] in roots
        roots[node.output] = roots[node.inputs[0]] if is_alias else node.output
    return roots


def _find_last_uses(graph: Graph, roots: Mapping[str, str]) -> dict[str, int]:
    """Return the index of the last node that reads each tensor's memory."""
    last = {
        roots[name]: index
        for index, node in enumerate(graph.nodes)
        for name in (*node.inputs, node.output)
        if name in roots
    }
    last[roots[graph.output_name]] = len(graph.nodes)
    return last


def _map_elements(graph: Graph, node: Node) -> tuple[np.ndarray, list[str]]:
    """Return the element of each result among all operands' elements, from 1 up; 0 is a zero."""
    arrays, start = [], 1
    for name in node.operands:
        count = math.prod(graph.shapes[name])
        arrays.append(np.arange(start, start + count).reshape(graph.shapes[name]))
        start += count
    return node.kernel(*arrays).ravel(), [*node.operands]


def _emit_move(emitter: _Emitter, node: Node) -> None:
    """Emit a node that copies elements: all operands after each other, then by index."""
    index, names = _map_elements(emitter.graph, node)
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


def _emit_binary_chain(emitter: _Emitter, node: Node, function: str) -> None:
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


def _emit_unary(emitter: _Emitter, node: Node, function: str, *arguments: str) -> None:
    names = [node.operands[0]]
    places, nest, _ = emitter.read(names, emitter.shape(node.output))
    place = emitter.reuse(node, names, nest)
    source = places[0].write(*nest.strides[0])
    emitter.call(function, source, place.write_result(), nest.word, *arguments)


def _emit_modulo(emitter: _Emitter, node: Node) -> None:
    _emit_binary_chain(emitter, node, "modTruncate" if node.attributes["fmod"] else "modFloor")


def _emit_cast(emitter: _Emitter, node: Node) -> None:
    _emit_unary(emitter, node, "bool" if node.attributes["to"] == BOOL_NUMBER else "copy")


def _emit_clip(emitter: _Emitter, node: Node) -> None:
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


def _list_bounds(node: Node) -> tuple[str, str]:
    """Return the names of a Clip's bounds; empty without one."""
    padded = (*node.inputs, "", "")
    return padded[1], padded[2]


def _emit_where(emitter: _Emitter, node: Node) -> None:
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


def _emit_gather(emitter: _Emitter, node: Node) -> None:
    """Emit a lookup of rows; by constant indices it is a copy."""
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


def _wrap_indices(emitter: _Emitter, by: Place, count: int, size: int) -> Place:
    """Add the nodes that make negative indices count from the end; return their place."""
    place = emitter.memory.take(count)
    modulus = emitter.constants.add(np.array([size]))
    word = Nest(1, count, ()).word
    emitter.call("modFloor", by.write(0, 1, 0), modulus.write(), place.write_result(), word)
    return place


def _emit_reduction(emitter: _Emitter, node: Node, function: str, axes: tuple[int, ...]) -> None:
    """Emit a reduction: results by the outer loop, what they reduce by the inner one."""
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


def _emit_reduce(emitter: _Emitter, node: Node) -> None:
    axes = node.attributes["axes"]
    if not isinstance(axes, tuple) or not axes:
        _emit_unary(emitter, node, "copy")
        return
    _emit_reduction(emitter, node, node.operator.replace("R", "r", 1), axes)


def _emit_place(emitter: _Emitter, node: Node) -> None:
    last = "Last" if node.attributes["select_last_index"] else ""
    axis = int(str(node.attributes["axis"]))
    _emit_reduction(emitter, node, node.operator.replace("A", "a", 1) + last, (axis,))


def _emit_product(emitter: _Emitter, node: Node) -> None:
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


def _read_zero_points(emitter: _Emitter, node: Node) -> list[np.ndarray | None]:
    """Return both zero points of an integer product; None without one."""
    padded = (*node.inputs, "", "")[2:4]
    return [emitter.graph.constants[name] if name else None for name in padded]


def _subtract(emitter: _Emitter, name: str, zero: np.ndarray | None) -> Place | None:
    """Add the subtraction of a zero point from a tensor; None if there is none.

    A constant tensor is stored without it.
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


def _emit_convolution(emitter: _Emitter, node: Node) -> None:
    """Emit a convolution: all windows by a table, and a product for each group of channels."""
    x, w = node.operands[:2]
    zeros = _read_zero_points(emitter, node)
    weights = emitter.graph.constants[w] if w in emitter.graph.constants else None
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
    node: Node, shape: tuple[int, ...], weights: tuple[int, ...], result: tuple[int, ...]
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


def _binary(function: str) -> Callable[[_Emitter, Node], None]:
    return lambda emitter, node: _emit_binary_chain(emitter, node, function)


def _unary(function: str) -> Callable[[_Emitter, Node], None]:
    return lambda emitter, node: _emit_unary(emitter, node, function)


EMITTERS: Mapping[str, Callable[[_Emitter, Node], None]] = {
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

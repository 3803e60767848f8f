"""From a float model to an integer file: each float node in turn, with values on the data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric.convert.emitters import SAME, SHAPES, GraphConverter
from pyevm_agents.models.numeric.convert.float_graph import FloatGraph, read_float_graph
from pyevm_agents.models.numeric.convert.options import (
    ConversionError,
    ConversionOptions,
    InputColumns,
)
from pyevm_agents.models.numeric.convert.quantised import Quantised, object_array
from pyevm_agents.models.numeric.convert.shapes import reshape
from pyevm_agents.models.numeric.convert.writer import INPUT, IntegerWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

CALIBRATION_ROWS = 4_096
"""Rows whose hidden values are computed; the ranges of inputs are those of all rows."""

INT64_LIMIT = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A converted model."""

    data: bytes
    """The integer file."""

    columns: tuple[InputColumns, ...]
    """Inputs with the ranges that the file admits."""

    output_names: tuple[str, ...]
    output_decimals: int
    reference: str
    """Float output that the integers stand for."""

    is_raw: bool
    """Whether a Softmax or logistic function at the end is left out."""

    def quantise_inputs(self, rows: np.ndarray) -> np.ndarray:
        """Return the integers of rows: rounded to the decimals, clipped to the ranges."""
        expanded = [column for column in self.columns for _ in range(column.count)]
        units = np.array([10.0**column.decimals for column in expanded])
        least = np.array([column.least for column in expanded], dtype=np.int64)
        most = np.array([column.most for column in expanded], dtype=np.int64)
        integers: np.ndarray = np.clip(np.rint(rows * units).astype(np.int64), least, most)
        return integers


def convert(float_model: bytes, calibration: np.ndarray, options: ConversionOptions) -> bytes:
    """Convert a float model to an integer file.

    Input:
        float_model: bytes of an ONNX file.
        calibration: rows of real inputs, one a column; the ranges are chosen from these.
    Output: bytes of an ONNX file, the same for the same input.
    Raises: ConversionError: an operator, a shape or data that is not supported.
    """
    return convert_model(float_model, calibration, options).data


def convert_model(
    float_model: bytes, calibration: np.ndarray, options: ConversionOptions
) -> Conversion:
    """Convert a float model; return the file with a description of inputs and outputs.

    Raises: ConversionError.
    """
    graph = read_float_graph(float_model, options.output)
    rows = check_rows(calibration, count_inputs(graph, calibration))
    columns = _choose_ranges(graph, rows, options)
    writer = IntegerWriter()
    tracer = GraphConverter(graph, writer, options)
    tracer.tensors[graph.input_name] = _build_input(graph, columns, rows, writer)
    result = tracer.run()
    flat = reshape(writer, result, [result.least.size])
    width = flat.shape[0]
    names = options.output_names or tuple(f"y{index}" for index in range(width))
    if len(names) != width:
        raise ConversionError(f"output names {len(names)}: must be {width}, one for each output")
    data = writer.serialize(
        flat.name,
        inputs=rows.shape[1],
        outputs=width,
        metadata=_describe(columns, names, options),
    )
    return Conversion(
        data=data,
        columns=columns,
        output_names=names,
        output_decimals=options.output_decimals,
        reference=tracer.reference,
        is_raw=tracer.is_raw,
    )


def count_inputs(graph: FloatGraph, rows: np.ndarray) -> int:
    """Return the number of the model's inputs; where the file leaves it open, the data's."""
    if None in graph.input_shape:
        return rows.shape[-1] if len(graph.input_shape) == 1 else math.prod(rows.shape[1:])
    return math.prod(size for size in graph.input_shape if size is not None)


def check_rows(rows: np.ndarray, inputs: int, label: str = "calibration data") -> np.ndarray:
    """Return data as rows of float64.

    Raises: ConversionError: a shape or a number that can't be an input.
    """
    if rows.dtype.kind not in "fiub":
        raise ConversionError(f"{label} of type {rows.dtype}: must be numbers")
    if rows.ndim < 2 or not len(rows):  # noqa: PLR2004 - rows and columns
        raise ConversionError(f"{label} of shape {[*rows.shape]}: must be rows of inputs")
    flat = rows.reshape(len(rows), -1).astype(np.float64)
    if flat.shape[1] != inputs:
        raise ConversionError(
            f"{label}: {flat.shape[1]} columns: must be {inputs}, the model's inputs"
        )
    if not np.isfinite(flat).all():
        row, column = map(int, np.argwhere(~np.isfinite(flat))[0])
        raise ConversionError(
            f"{label}: row {row + 1}, column {column + 1}: must be a finite number; drop or fill it"
        )
    return flat


def _choose_ranges(
    graph: FloatGraph, rows: np.ndarray, options: ConversionOptions
) -> tuple[InputColumns, ...]:
    """Return the columns with their ranges: those given, else the data's with a margin."""
    rows_of_table = _find_embedding_rows(graph)
    columns, at = [], 0
    for column in options.list_columns(rows.shape[1]):
        part = rows[:, at : at + column.count] * 10.0**column.decimals
        at += column.count
        low, high = float(part.min()), float(part.max())
        room = (high - low) * options.margin
        least = math.floor(low - room) if column.least is None else column.least
        most = math.ceil(high + room) if column.most is None else column.most
        if rows_of_table is not None:
            least = 0 if column.least is None else column.least
            most = rows_of_table - 1 if column.most is None else column.most
        if not -INT64_LIMIT < least <= most < INT64_LIMIT:
            raise ConversionError(
                f"range {least} to {most} of {column.name}: must be within 62 bits, least first; "
                "use fewer decimals"
            )
        columns.append(replace(column, least=least, most=most))
    return tuple(columns)


def _find_embedding_rows(graph: FloatGraph) -> int | None:
    """Return the rows of the table that the inputs are indices of; None for numbers."""
    names = {graph.input_name}
    for node in graph.nodes:
        if names.isdisjoint(node.inputs):
            continue
        if node.operator in {*SAME, *SHAPES}:
            names.update(node.outputs)
        elif node.operator == "Gather" and node.inputs[0] in graph.constants:
            return len(graph.constants[node.inputs[0]])
    return None


def _build_input(
    graph: FloatGraph, columns: tuple[InputColumns, ...], rows: np.ndarray, writer: IntegerWriter
) -> Quantised:
    expanded = [column for column in columns for _ in range(column.count)]
    decimals = np.array([column.decimals for column in expanded])
    finest = int(decimals.max())
    dtype = graph.input_type

    def read(integers: np.ndarray, index: np.ndarray) -> np.ndarray:
        values: np.ndarray = (integers / 10.0 ** decimals[index]).astype(dtype)
        return values

    some = np.linspace(0, len(rows) - 1, min(len(rows), CALIBRATION_ROWS)).astype(np.int64)
    tensor = Quantised(
        name=INPUT,
        scale=Fraction(1, 10**finest),
        least=object_array([column.least for column in expanded]),
        most=object_array([column.most for column in expanded]),
        values=rows[some],
        gain=None if (decimals == finest).all() else 10.0 ** (finest - decimals),
        read=read,
    )
    if len(graph.input_shape) == 1:
        return tensor
    shape = [-1 if size is None else size for size in graph.input_shape]
    return reshape(writer, tensor, np.empty(rows.shape[1]).reshape(shape).shape)


def _describe(
    columns: tuple[InputColumns, ...], names: tuple[str, ...], options: ConversionOptions
) -> Mapping[str, object]:
    outputs = [{"name": n, "count": 1, "decimals": options.output_decimals} for n in names]
    inputs = [
        {key: getattr(each, key) for key in ("name", "count", "decimals", "least", "most")}
        for each in columns
    ]
    return {
        "inputs": inputs, "outputs": outputs,
        "license": options.license, "source": options.source,
    }  # fmt: skip

"""Errors of an integer file against the float original, which onnxruntime computes."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from onnx import AttributeProto, ModelProto, helper

from pyevm_agents.models.numeric.convert.converter import check_rows
from pyevm_agents.models.numeric.convert.float_graph import (
    INPUT_TYPES,
    parse_model,
)
from pyevm_agents.models.numeric.convert.options import ConversionError
from pyevm_agents.models.numeric.numeric_file import NumericFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.models.numeric.convert.converter import Conversion

RUNTIME = "onnxruntime"
QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTable:
    """Absolute differences of the outputs on rows of data, in units of the output."""

    rows: int
    clipped: int
    """Rows with an input outside the file's ranges, which was clipped."""

    greatest: float
    mean: float
    quantiles: Mapping[float, float]
    """Error that a share of the differences does not exceed, by the share."""

    spread: float
    """Difference of the float model's greatest and least output."""

    equal_classes: float | None
    """Share of rows whose greatest output is the same; None for one output."""

    def to_form(self) -> dict[str, object]:
        """Return the table as a JSON object."""
        return {
            "rows": self.rows,
            "clippedRows": self.clipped,
            "maxError": self.greatest,
            "meanError": self.mean,
            **{f"quantile{100 * share:.0f}": error for share, error in self.quantiles.items()},
            "outputSpread": self.spread,
            "equalClasses": self.equal_classes,
        }


def has_runtime() -> bool:
    """Return whether onnxruntime is installed."""
    return find_spec(RUNTIME) is not None


def compare_outputs(float_model: bytes, conversion: Conversion, rows: np.ndarray) -> ErrorTable:
    """Run both models on rows of real inputs; return their differences.

    Raises: ConversionError: data that does not fit, or a float model that onnxruntime refuses.
    """
    numeric = NumericFile(conversion.data)
    flat = check_rows(rows, len(numeric.input_ranges), "data")
    expected = run_float(float_model, conversion, flat)
    integers = conversion.quantise_inputs(flat)
    units = 10.0 ** np.array([column.decimals for column in conversion.columns for _ in
                              range(column.count)])  # fmt: skip
    clipped = np.abs(integers - flat * units).max(axis=1) > 0.5  # noqa: PLR2004 - rounding's most
    results = [numeric.run([int(value) for value in row]) for row in integers]
    computed = np.array(results, dtype=np.float64) / 10.0**conversion.output_decimals
    errors = np.abs(computed - expected)
    has_classes = expected.shape[1] > 1
    same = np.argmax(computed, axis=1) == np.argmax(expected, axis=1)
    return ErrorTable(
        rows=len(flat),
        clipped=int(clipped.sum()),
        greatest=float(errors.max()),
        mean=float(errors.mean()),
        quantiles={share: float(np.quantile(errors, share)) for share in QUANTILES},
        spread=float(np.ptp(expected)),
        equal_classes=float(same.mean()) if has_classes else None,
    )


def run_float(float_model: bytes, conversion: Conversion, rows: np.ndarray) -> np.ndarray:
    """Return the float model's outputs by onnxruntime, rows by outputs.

    Raises: ConversionError.
    """
    import onnxruntime  # noqa: PLC0415 - an optional tool

    model = parse_model(float_model)
    _expose(model, conversion.reference, is_raw=conversion.is_raw)
    tensor = next(each for each in model.graph.input
                  if each.name not in {c.name for c in model.graph.initializer})  # fmt: skip
    sizes = [each.dim_value for each in tensor.type.tensor_type.shape.dim][1:]
    shape = [size or -1 for size in sizes]
    typed = rows.reshape(len(rows), *shape).astype(INPUT_TYPES[tensor.type.tensor_type.elem_type])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        batch = tensor.type.tensor_type.shape.dim[0].dim_value
        step = batch or len(typed)
        results = [
            _to_array(session.run([conversion.reference], {tensor.name: typed[at : at + step]})[0])
            for at in range(0, len(typed) - len(typed) % step, step)
        ]
    except Exception as error:
        raise ConversionError(
            f"float model: onnxruntime does not run it: {str(error).splitlines()[0][:200]}"
        ) from error
    joined = np.concatenate(results)
    return joined.reshape(len(joined), -1)


def _to_array(result: object) -> np.ndarray:
    """Return an output as an array: ZipMap's is a list of dictionaries."""
    if isinstance(result, list):
        result = [[*each.values()] for each in result]
    return np.asarray(result, dtype=np.float64).reshape(len(np.asarray(result)), -1)


def _expose(model: ModelProto, name: str, *, is_raw: bool) -> None:
    """Make a tensor an output; leave out trees' own functions, if scores are wanted."""
    if name not in {each.name for each in model.graph.output}:
        model.graph.output.append(helper.make_empty_tensor_value_info(name))
    if not is_raw:
        return
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "post_transform":
                is_text = attribute.type == AttributeProto.STRING
                attribute.CopyFrom(
                    helper.make_attribute("post_transform", "NONE" if is_text else 0)
                )

"""Float models become integer files: small errors, the same bytes, and names of what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.models.numeric.convert import (
    ConversionError,
    ConversionOptions,
    InputColumns,
    convert,
    convert_model,
)
from pyevm_agents.models.numeric.convert.comparison import compare_outputs
from pyevm_agents.models.numeric.convert.quantised import round_half_up

onnxruntime.set_default_logger_severity(4)
DATA = Path(__file__).parent / "data"
BOUNDS = {
    # Greatest error in units of the output, where inputs are exact: 5e-6 is the rounding of 5
    # decimals. Trees have no other; tables and layers add their own.
    "boosted": 1.1e-5,
    "boosted_binary": 4e-5,
    "boosted_classes": 4e-5,
    "convolution": 2e-3,
    "forest": 1.1e-5,
    "linear": 1.1e-5,
    "logistic": 6e-5,
    "mlp_binary": 6e-5,
    "mlp_relu": 3e-4,
    "mlp_tanh": 4e-4,
    "text": 5e-5,
}


def read(name: str) -> tuple[bytes, np.ndarray]:
    """Return a float model, and its data rounded to 4 decimals."""
    rows = np.load(DATA / f"{name}.npy")
    return (DATA / f"{name}.onnx").read_bytes(), np.round(rows.astype(np.float64), 4)


def options_of(name: str, **others: object) -> ConversionOptions:
    decimals = 0 if name == "text" else 4
    return ConversionOptions(input_decimals=decimals, output_decimals=5, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(file.stem for file in DATA.glob("*.onnx")))
def test_errors_are_small_and_bytes_the_same(name: str) -> None:
    data, rows = read(name)
    conversion = convert_model(data, rows, options_of(name))
    errors = compare_outputs(data, conversion, rows)
    assert errors.greatest <= BOUNDS[name]
    assert errors.clipped == 0
    assert errors.equal_classes in {None, 1.0}
    assert convert(data, rows, options_of(name)) == conversion.data


@pytest.mark.parametrize("name", ["boosted", "convolution", "forest", "logistic", "mlp_tanh"])
def test_onnxruntime_computes_the_integer_file_alike(name: str) -> None:
    data, rows = read(name)
    conversion = convert_model(data, rows, options_of(name))
    numeric = NumericFile(conversion.data)
    session = onnxruntime.InferenceSession(conversion.data)
    integers = conversion.quantise_inputs(rows.reshape(len(rows), -1))[:100]
    ends = [[pair[side] for pair in numeric.input_ranges] for side in (0, 1)]
    for values in [*integers.tolist(), *ends]:
        expected = session.run(None, {"input": np.array(values, dtype=np.int64)})[0]
        assert numeric.run(values) == tuple(expected.tolist())


@pytest.mark.parametrize("name", ["boosted_binary", "logistic", "mlp_relu"])
def test_raw_scores_are_those_before_the_last_function(name: str) -> None:
    data, rows = read(name)
    conversion = convert_model(data, rows, options_of(name, raw_scores=True))
    errors = compare_outputs(data, conversion, rows)
    assert errors.spread > 1  # A probability's is at most 1.
    assert errors.greatest < 1e-3 * errors.spread


@pytest.mark.parametrize("name", ["forest", "mlp_binary"])
def test_raw_scores_need_a_last_function(name: str) -> None:
    data, rows = read(name)
    with pytest.raises(ConversionError, match="must end in Softmax or a logistic function"):
        convert(data, rows, options_of(name, raw_scores=True))


def test_every_threshold_of_a_tree_divides_integers_as_floats() -> None:
    """Inputs at, above and below each threshold branch as the float model's do."""
    data, rows = read("boosted")
    conversion = convert_model(data, rows, options_of("boosted"))
    numeric, session = NumericFile(conversion.data), onnxruntime.InferenceSession(data)
    node = onnx.load_from_string(data).graph.node[0]
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    splits = zip(attributes["nodes_featureids"], attributes["nodes_values"], strict=True)
    for feature, threshold in [*splits][::4]:
        for step in (-1, 0, 1):
            values = [0, 0, 0, 0]
            least, most = numeric.input_ranges[feature]
            values[feature] = min(max(round(threshold * 10**4) + step, least), most)
            row = (np.array([values]) / 10.0**4).astype(np.float32)
            expected = float(np.asarray(session.run(None, {"x": row})[0]).ravel()[0])
            assert numeric.run(values)[0] == pytest.approx(expected * 10**5, abs=1.1)


def test_columns_set_names_decimals_and_ranges() -> None:
    data, rows = read("text")
    columns = (InputColumns(name="word", count=12, decimals=0, least=0, most=63),)
    options = ConversionOptions(columns=columns, output_names=("mood",), license="CC0-1.0")
    numeric = NumericFile(convert(data, rows, options))
    assert numeric.input_ranges == ((0, 63),) * 12
    assert numeric.names == (("word",), ("mood",))
    assert numeric.license == "CC0-1.0"


def test_eight_bits_err_more_than_sixteen() -> None:
    data, rows = read("mlp_relu")
    found = [
        compare_outputs(data, convert_model(data, rows, options_of("mlp_relu", bits=bits)), rows)
        for bits in (8, 16)
    ]
    assert found[1].mean < found[0].mean < 0.02


@pytest.mark.parametrize(
    ("value", "expected"), [("1/2", 1), ("-1/2", 0), ("-3/2", -1), ("3/2", 2), ("7/5", 1)]
)
def test_halves_round_up(value: str, expected: int) -> None:
    assert round_half_up(Fraction(value)) == expected


def build(*nodes: onnx.NodeProto, shape: tuple[int, ...] = (2,), **arrays: np.ndarray) -> bytes:
    """Return a float model of nodes from `x` to `y`."""
    graph = helper.make_graph(
        [*nodes],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *shape])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()  # type: ignore[no-any-return]


ROWS = np.array([[0.5, -1.0], [1.5, 2.0]])
WEIGHTS = np.array([[1.0], [2.0]], dtype=np.float32)


@pytest.mark.parametrize(
    ("data", "rows", "message"),
    [
        (b"no model", ROWS, "not an ONNX file"),
        (build(helper.make_node("Sin", ["x"], ["y"])), ROWS, "operator Sin: not supported"),
        (
            build(helper.make_node("Normalizer", ["x"], ["y"], domain="ai.onnx.ml", norm="L2")),
            ROWS,
            "operator Normalizer: supported after probabilities",
        ),
        (build(helper.make_node("Mul", ["x", "x"], ["y"])), ROWS, "operator Mul of two tensors"),
        (
            build(helper.make_node("MatMul", ["x", "w"], ["y"]), w=WEIGHTS),
            np.ones((3, 3)),
            "3 columns: must be 2",
        ),
        (
            build(helper.make_node("MatMul", ["x", "w"], ["y"]), w=WEIGHTS),
            np.array([[1.0, np.nan]]),
            "row 1, column 2: must be a finite number",
        ),
        (
            build(helper.make_node("MatMul", ["x", "w"], ["y"]), w=WEIGHTS),
            np.array([["a", "b"]]),
            "must be numbers",
        ),
        (
            build(helper.make_node("MatMul", ["x", "w"], ["y"]), w=WEIGHTS * np.float32("nan")),
            ROWS,
            "weights w: must be finite",
        ),
        (
            build(helper.make_node("Relu", ["x"], ["y"]), shape=(1, 2, 2)),
            np.ones((2, 1, 2, 2)),
            "rank 4 of input x: must be 2 or 3",
        ),
    ],
)
def test_what_is_not_converted_is_named(data: bytes, rows: np.ndarray, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        convert(data, rows, ConversionOptions())


@pytest.mark.parametrize(
    "fields", [{"bits": 3}, {"bits": 33}, {"margin": -0.1}, {"output_decimals": 19}]
)
def test_options_have_limits(fields: dict[str, int]) -> None:
    with pytest.raises(ConversionError, match="must be"):
        ConversionOptions(**fields)  # type: ignore[arg-type]


def test_sums_that_do_not_fit_are_refused() -> None:
    data = build(helper.make_node("MatMul", ["x", "w"], ["y"]), w=WEIGHTS)
    options = ConversionOptions(input_decimals=12, output_decimals=12, bits=32)
    with pytest.raises(ConversionError, match="must have at most 62"):
        convert(data, ROWS * 1e6, options)


def test_arithmetic_and_shapes_between_layers() -> None:
    """A residual sum, constants on both sides, Clip-free Relu, pools and a Transpose."""
    random = np.random.default_rng(1)
    kernel = random.normal(size=(3, 2, 3)).astype(np.float32)
    nodes = (
        helper.make_node("Mul", ["x", "half"], ["a"]),
        helper.make_node("Conv", ["a", "k"], ["b"], pads=[1, 1], group=1),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[3], strides=[2], pads=[1, 1]),
        helper.make_node("Transpose", ["d"], ["e"], perm=[0, 2, 1]),
        helper.make_node("ReduceMean", ["e"], ["f"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["f", "w"], ["g"]),
        helper.make_node("Add", ["f", "g"], ["h"]),
        helper.make_node("Sub", ["one", "h"], ["i"]),
        helper.make_node("Tanh", ["i"], ["y"]),
    )
    data = build(
        *nodes,
        shape=(2, 8),
        half=np.array(0.5, dtype=np.float32),
        one=np.array(1.0, dtype=np.float32),
        k=kernel,
        w=random.normal(size=(3, 3)).astype(np.float32),
    )
    rows = np.round(random.normal(size=(50, 2, 8)), 4)
    options = ConversionOptions(output_decimals=5)
    conversion = convert_model(data, rows, options)
    assert compare_outputs(data, conversion, rows).greatest < 3e-4

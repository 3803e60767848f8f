"""Everything that a numeric model can't have is refused by its name, and the edges are admitted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import ModelProto, StringStringEntryProto, TensorProto, helper

from pyevm_agents.models.numeric import limits
from pyevm_agents.models.numeric.errors import NumericModelError
from pyevm_agents.models.numeric.graph import read_graph
from pyevm_agents.models.numeric.numeric_file import NumericFile
from tests.pyevm_agents.models.numeric.model_builder import (
    ONNX_TYPES,
    Case,
    Variable,
    build,
    build_case,
    build_sample,
    constant,
    serialize,
    tensor,
    write_metadata,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Change = Any
"""Changes a model in place."""


def refuse(data: bytes) -> str:
    """Return the message with which a file is refused."""
    with pytest.raises(NumericModelError) as refused:
        NumericFile(data)
    message = str(refused.value)
    assert message.isprintable()
    assert len(message) < 1_000
    return message


def refuse_changed(change: Callable[[ModelProto], object]) -> str:
    """Return the message with which a changed sample is refused."""
    model = build_sample()
    change(model)
    return refuse(serialize(model))


def test_the_sample_is_a_model() -> None:
    model = NumericFile(serialize(build_sample()))
    assert model.run([1, 2, 3]) == (-2, 20)
    assert model.names == (("x0", "x1"), ("y",))
    assert (model.license, model.source) == ("MIT", "made up")
    assert model.input_ranges == ((0, 50), (-100, 100), (-100, 100))
    assert model.input_decimals == (0, 0, 0)
    assert model.output_decimals == (0, 0)


@pytest.mark.parametrize("values", [[1, 2], [1, 2, 3, 4], [51, 0, 0], [0, 0, -101], [2**70, 0, 0]])
def test_numbers_outside_of_the_ranges_are_refused(values: list[int]) -> None:
    model = NumericFile(serialize(build_sample()))
    with pytest.raises(NumericModelError, match="must be"):
        model.run(values)


def set_attribute(node: int, **attributes: object) -> Change:
    def change(model: ModelProto) -> None:
        for name, value in attributes.items():
            model.graph.node[node].attribute.append(helper.make_attribute(name, value))

    return change


def set_node(index: int, **fields: str) -> Change:
    def change(model: ModelProto) -> None:
        for name, value in fields.items():
            setattr(model.graph.node[index], name, value)

    return change


def set_input(node: int, index: int, name: str) -> Change:
    def change(model: ModelProto) -> None:
        model.graph.node[node].input[index] = name

    return change


def add_subgraph(model: ModelProto) -> None:
    body = helper.make_graph([], "body", [], [])
    model.graph.node[0].attribute.append(helper.make_attribute("body", body))


def nest(depth: int) -> bytes:
    """Return a file of subgraphs in subgraphs."""
    inner = b""
    for _ in range(depth):
        # GraphProto.node, NodeProto.attribute, AttributeProto.g
        for tag in (b"\x32", b"\x2a", b"\x0a"):
            inner = tag + encode_length(len(inner)) + inner
    return b"\x3a" + encode_length(len(inner)) + inner


def encode_length(value: int) -> bytes:
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def set_external(model: ModelProto) -> None:
    entry = StringStringEntryProto(key="location", value="/etc/passwd")
    model.graph.initializer[1].external_data.append(entry)


def set_weights(**fields: object) -> Change:
    def change(model: ModelProto) -> None:
        for name, value in fields.items():
            if isinstance(value, list):
                getattr(model.graph.initializer[1], name)[:] = value
            else:
                setattr(model.graph.initializer[1], name, value)

    return change


def set_size(of: str, size: int) -> Change:
    def change(model: ModelProto) -> None:
        getattr(model.graph, of)[0].type.tensor_type.shape.dim[0].dim_value = size

    return change


def set_symbol(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"


def add_later_attribute(model: ModelProto) -> None:
    model.opset_import[0].version = 13
    model.graph.node[0].attribute.append(helper.make_attribute("allowzero", 0))


def make_cycle(model: ModelProto) -> None:
    model.graph.node[2].input[1] = "rectified"


REFUSALS: list[tuple[Change, str]] = [
    (set_node(3, op_type="Tanh"), "node 3 (Tanh): operator 'Tanh': must be one of Abs, Add"),
    (set_node(3, op_type="If"), "(If): operator 'If'"),
    (set_node(3, op_type="\x1b[2J"), "operator '\\u001b[2J'"),
    (set_node(3, domain="com.microsoft"), "operator of 'com.microsoft': must be of the default"),
    (set_node(3, overload="a"), "node 3: field overload: not part"),
    (set_node(3, name="a\x07"), "node name 'a\\u0007': must be 1 to 256 printable"),
    (set_node(3, name="a" * 257), "must be 1 to 256 printable characters"),
    (set_attribute(3, alpha=1), "attribute 'alpha': not known in operator set 17; remove it"),
    (add_later_attribute, "attribute 'allowzero': not known in operator set 13"),
    (set_attribute(3, alpha=1.5), "attribute 'alpha': is a float: must be integers"),
    (set_attribute(3, alpha=["a"]), "attribute 'alpha': is strings"),
    (set_attribute(5, axis=1), "attribute 'axis': occurs twice"),
    (add_subgraph, "attribute 'body': is a subgraph"),
    (set_input(3, 0, "nothing"), "input 'nothing': must be defined before the node"),
    (make_cycle, "input 'rectified': must be defined before the node"),
    (set_input(3, 0, ""), "input 0 is missing"),
    (lambda m: m.graph.node[3].input.append("x"), "2 inputs: must be 1 to 1"),
    (lambda m: m.graph.node[3].output.append("more"), "2 outputs: must be 1"),
    (lambda m: m.graph.node[3].output.__setitem__(0, "x"), "name 'x' is taken"),
    (lambda m: m.graph.node.append(helper.make_node("Abs", ["x"], ["u"])), "no node uses 'u'"),
    (lambda m: m.graph.initializer.append(tensor("u", 1)), "initializer 'u': no node uses"),
    (lambda m: m.graph.initializer.append(tensor("flat", 1)), "name is taken"),
    (lambda m: m.graph.initializer.append(tensor("x", 1)), "name 'x' is taken"),
    (lambda m: m.graph.output[0].__setattr__("name", "z"), "graph output 'z': must be the output"),
    (lambda m: m.graph.output[0].__setattr__("name", "x"), "graph output 'x': must be the output"),
    (lambda m: m.graph.output.pop(), "0 graph outputs: must be 1"),
    (lambda m: m.graph.input.append(m.graph.input[0]), "2 graph inputs: must be 1"),
    (set_size("input", 4), "counts of inputs add up to 3: must be the tensor's 4"),
    (set_size("output", 4), "counts of outputs add up to 2: must be the tensor's 4"),
    (set_size("input", 2**40), "dimension 1099511627776: must be 1 to 1,048,576"),
    (set_size("input", 0), "dimension 0: must be"),
    (set_size("input", -1), "dimension -1: must be"),
    (set_size("input", 1_025), "one dimension of at most 1,024"),
    (set_symbol, "dimensions must be numbers; make shapes static"),
    (
        lambda m: m.graph.input[0].type.tensor_type.__setattr__("elem_type", 1),
        "must be a tensor of integers",
    ),
    (
        lambda m: m.graph.input[0].type.tensor_type.__setattr__("elem_type", 6),
        "graph input 'x': must be INT64",
    ),
    (set_external, "has external data: must be in the file"),
    (set_weights(data_location=1), "has external data"),
    (set_weights(data_type=1), "element type 1: must be one of int64"),
    (set_weights(data_type=8), "element type 8"),
    (set_weights(dims=[2**40, 2**40]), "initializer 'weights': dimension 1099511627776"),
    (set_weights(dims=[2**11, 2**11]), "4,194,304 elements: must be at most 1,048,576"),
    (set_weights(dims=[1] * 7), "7 dimensions"),
    (set_weights(dims=[0, 2]), "dimension 0"),
    (
        set_weights(raw_data=b"abc"),
        "3 bytes of raw_data and 0 numbers of int64_data: must be the 6",
    ),
    (set_weights(int64_data=[1] * 6), "48 bytes of raw_data and 6 numbers of int64_data"),
    (set_weights(float_data=[1.0]), "field float_data: not part of a numeric model"),
    (set_weights(name="\u202e"), "initializer ''"),
    (lambda m: m.graph.sparse_initializer.add(), "the graph: field sparse_initializer"),
    (lambda m: m.graph.quantization_annotation.add(), "field quantization_annotation"),
    (lambda m: m.training_info.add(), "the file: field training_info"),
    (lambda m: m.functions.add(), "the file: field functions"),
    (lambda m: m.opset_import[0].__setattr__("version", 12), "version 12: must be one of 13 to 22"),
    (lambda m: m.opset_import[0].__setattr__("version", 23), "version 23: must be one of 13"),
    (
        lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3)),
        "operator set 'ai.onnx.ml': must be the default",
    ),
    (lambda m: m.opset_import.pop(), "operator set version none"),
    (lambda m: m.__setattr__("ir_version", 99), "IR version 99: must be 7 to 13"),
    (lambda m: m.metadata_props.pop(), "metadata: must be one entry numeric_model"),
    (lambda m: m.metadata_props[0].__setattr__("value", "[" * 65_500), "must nest at most"),
    (lambda m: m.metadata_props[0].__setattr__("value", "[" * 70_000), "at most 65,536 bytes"),
    (lambda m: m.metadata_props[0].__setattr__("value", "9" * 10_000), "at most 1,000 digits"),
    (
        lambda m: m.graph.value_info.append(
            helper.make_tensor_value_info("hidden", TensorProto.INT64, [2, 1])
        ),
        "stated shape of 'hidden': differs",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSALS, ids=map(str, range(len(REFUSALS))))
def test_a_change_is_refused_by_its_name(change: Change, message: str) -> None:
    assert message in refuse_changed(change)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"more": 1}, "key 'more': must be one of exactly inputs, outputs, license, source"),
        ({"\ud800": 1}, "key '?': must be one of exactly"),
        ({"license": 1}, "license: must be a text"),
        ({"inputs": {}}, "inputs: must be an array of 1 to 1,024 objects"),
        ({"inputs": []}, "inputs: must be an array"),
        ({"outputs": [1]}, "output: value: must be an object"),
        ({"outputs": [{"name": "a", "count": 2, "decimals": 78}]}, "decimals: must be an integer"),
        ({"outputs": [{"name": "a", "count": True, "decimals": 7}]}, "count: must be an integer"),
        ({"outputs": [{"name": "a\n", "count": 2, "decimals": 7}]}, "name: must be printable"),
        ({"outputs": [{"name": "", "count": 2, "decimals": 7}]}, "name: must be printable"),
        ({"source": "\ud800"}, "source: must be a text"),
    ],
)
def test_metadata_are_refused_by_their_name(changes: dict[str, Any], message: str) -> None:
    def change(model: ModelProto) -> None:
        form = json.loads(write_metadata([(3, 0, 50)], 2)["numeric_model"])
        model.metadata_props[0].value = json.dumps(form | changes)

    assert message in refuse_changed(change)


@pytest.mark.parametrize(
    ("least", "most"), [(-(2**63) - 1, 0), (0, 2**63), (1, 0), (0.5, 1), (None, 1), (True, 1)]
)
def test_a_range_outside_of_int64_is_refused(least: Any, most: Any) -> None:  # noqa: ANN401 - JSON
    def change(model: ModelProto) -> None:
        form = json.loads(write_metadata([(3, 0, 50)], 2)["numeric_model"])
        form["inputs"][0] |= {"least": least, "most": most}
        model.metadata_props[0].value = json.dumps(form)

    assert "must be an integer from" in refuse_changed(change)


def test_a_repeated_key_is_refused() -> None:
    def change(model: ModelProto) -> None:
        model.metadata_props[0].value = '{"inputs": [], "inputs": []}'

    assert "member 'inputs': must stand once" in refuse_changed(change)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "IR version 0"),
        (b"\xff" * 100, "not an ONNX file"),
        (b"GGUF" + b"\x03\0\0\0" * 50, "a language model in GGUF: must be a numeric model"),
        (nest(60), "not an ONNX file"),
        (nest(10_000), "not an ONNX file"),
        (b"\0" * (limits.MAX_FILE_BYTES + 1), "file of more bytes than 1,048,576: must be at most"),
        (serialize(build_sample()) + b"\xf8\x07\x01", "fields that ONNX does not define"),
        (
            b"\x08\x08\x3a\x82\x80\x08" + b"\x0a\0" * 65_537,
            "entry numeric_model, and there is none",
        ),
    ],
    ids=[
        "empty",
        "noise",
        "GGUF",
        "nested",
        "deeply nested",
        "too long",
        "unknown field",
        "many nodes",
    ],
)
def test_what_is_no_model_is_refused(data: bytes, message: str) -> None:
    assert message in refuse(data)


def test_every_truncation_is_refused() -> None:
    data = serialize(build_sample())
    for end in range(0, len(data), 3):
        refuse(data[:end])


def build_chain(count: int) -> bytes:
    """Return a model of so many nodes."""
    names = ["x", *(f"n{i}" for i in range(count - 1)), "y"]
    nodes = [helper.make_node("Neg", [names[i]], [names[i + 1]]) for i in range(count)]
    return serialize(build(nodes))


def test_the_number_of_nodes_is_bounded() -> None:
    assert NumericFile(build_chain(limits.MAX_NODES)).run([5, -7]) == (5, -7)
    assert "1,025 nodes: must be at most 1,024" in refuse(build_chain(limits.MAX_NODES + 1))


def build_outer(rows: int, columns: int, times: int = 1) -> bytes:
    """Return a model whose products have so many elements, out of two constants."""
    nodes = [
        helper.make_node("Reshape", ["x", "one"], ["a"]),
        helper.make_node("Add", ["a", "column"], ["b"]),
    ]
    sums = []
    for i in range(times):
        nodes.append(helper.make_node("Add", ["b", "row"], [f"outer{i}"]))
        sums.append(f"sum{i}")
        nodes.append(helper.make_node("ReduceSum", [f"outer{i}"], [f"sum{i}"], keepdims=0))
    nodes.append(helper.make_node("Max", sums, ["most"]))
    nodes.append(helper.make_node("Reshape", ["most", "one_flat"], ["y"]))
    constants = [
        tensor("one", [1, 1]), tensor("column", np.zeros((rows, 1))),
        tensor("row", np.zeros((1, columns))), tensor("one_flat", [1]),
    ]  # fmt: skip
    return serialize(build(nodes, constants, inputs=[(1, 0, 9)], outputs=1))


def test_elements_are_bounded_before_memory_is_reserved() -> None:
    assert NumericFile(build_outer(1_024, 1_024)).run([2]) == (2 * 2**20,)
    assert "1,049,600 elements: must be at most 1,048,576" in refuse(build_outer(1_024, 1_025))
    assert "elements in all tensors: must be at most 4,194,304" in refuse(
        build_outer(1_024, 1_024, times=5)
    )


def test_operations_are_bounded_before_they_are_done() -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "one"], ["a"]),
        helper.make_node("Add", ["a", "square"], ["b"]),
        helper.make_node("MatMul", ["b", "b"], ["c"]),
        helper.make_node("ReduceSum", ["c"], ["d"], keepdims=0),
        helper.make_node("Reshape", ["d", "one_flat"], ["y"]),
    ]
    constants = [tensor("one", [1, 1]), tensor("one_flat", [1])]
    square = tensor("square", np.zeros((1_000, 1_000)), "int8")
    nodes.insert(1, helper.make_node("Cast", ["square"], ["wide"], to=7))
    nodes[2].input[1] = "wide"
    data = serialize(build(nodes, [*constants, square], inputs=[(1, 0, 9)], outputs=1))
    assert "operations up to here: must be at most 268,435,456" in refuse(data)


@pytest.mark.parametrize(
    ("kind", "operator", "other", "least", "most"),
    [
        ("int64", "Add", 1, -(2**63), 2**63 - 2),
        ("int64", "Sub", 1, -(2**63) + 1, 2**63 - 1),
        ("int64", "Mul", 2, -(2**62), 2**62 - 1),
        ("int64", "Mul", -1, -(2**63) + 1, 2**63 - 1),
        ("int64", "Div", -1, -(2**63) + 1, 2**63 - 1),
        ("int32", "Add", 1, -(2**31), 2**31 - 2),
        ("int32", "Sub", 1, -(2**31) + 1, 2**31 - 1),
        ("int32", "Mul", 2, -(2**30), 2**30 - 1),
        ("int32", "MatMul", 2, -(2**30), 2**30 - 1),
        ("int64", "MatMul", 2, -(2**62), 2**62 - 1),
        ("int8", "Add", 1, -128, 126),
        ("uint8", "Add", 1, 0, 254),
        ("uint8", "Sub", 1, 1, 255),
        ("int8", "Mul", 2, -64, 63),
    ],
)
def test_edges_of_the_types(kind: str, operator: str, other: int, least: int, most: int) -> None:
    low, high = limits.TYPE_RANGES[kind]
    shape = (1, 1) if operator == "MatMul" else (1,)

    def build_edge(at_least: int, at_most: int) -> bytes:
        operand = Variable(type=kind, shape=shape, least=at_least, most=at_most)
        second = constant(np.full(shape, other), kind)
        return build_case(Case(operator=operator, operands=(operand, second)), 1)

    model = NumericFile(build_edge(least, most))
    compute: dict[str, Callable[[int, int], int]]
    compute = {"Add": int.__add__, "Sub": int.__sub__, "Div": int.__floordiv__}
    for value in (least, most):
        assert model.run([value]) == (compute.get(operator, int.__mul__)(value, other),)
    if least > low:
        assert "interval" in refuse(build_edge(least - 1, most))
    if most < high:
        assert "interval" in refuse(build_edge(least, most + 1))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "bool"])
def test_edges_of_a_cast(kind: str) -> None:
    least, most = limits.TYPE_RANGES[kind]

    def build_cast(low: int, high: int) -> bytes:
        nodes = [
            helper.make_node("Cast", ["x"], ["narrow"], to=ONNX_TYPES[kind]),
            helper.make_node("Cast", ["narrow"], ["y"], to=TensorProto.INT64),
        ]
        return serialize(build(nodes, inputs=[(2, low, high)]))

    assert NumericFile(build_cast(least, most)).run([least, most]) == (least, most)
    if kind == "bool":
        assert NumericFile(build_cast(-5, 5)).run([-5, 0]) == (1, 0)
        return
    for low, high in ((least - 1, most), (least, most + 1)):
        assert f"interval {low} to {high}: must be within {least}" in refuse(build_cast(low, high))


@pytest.mark.parametrize("operator", ["Neg", "Abs"])
def test_the_least_integer_has_no_opposite(operator: str) -> None:
    node = helper.make_node(operator, ["x"], ["y"])
    model = NumericFile(serialize(build([node], inputs=[(2, -(2**63) + 1, 0)])))
    assert model.run([-(2**63) + 1, 0]) == (2**63 - 1, 0)
    assert "reaches 9223372036854775808" in refuse(
        serialize(build([node], inputs=[(2, -(2**63), 0)]))
    )


def build_opposites(count: int) -> bytes:
    """Return a model that multiplies a byte by so many times -128, and as many times 127."""
    weights = np.where(np.arange(2 * count) % 2, -128, 127)
    nodes = [
        helper.make_node("Reshape", ["x", "one"], ["a"]),
        helper.make_node("Cast", ["zeros"], ["long_zeros"], to=TensorProto.INT64),
        helper.make_node("Add", ["a", "long_zeros"], ["wide"]),
        helper.make_node("Cast", ["wide"], ["bytes"], to=TensorProto.UINT8),
        helper.make_node("MatMulInteger", ["bytes", "weights"], ["sum"]),
        helper.make_node("Cast", ["sum"], ["long"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["long", "flat"], ["y"]),
    ]
    constants = [
        tensor("one", [1, 1]), tensor("flat", [1]),
        tensor("zeros", np.zeros((1, 2 * count)), "int8"),
        tensor("weights", weights.reshape(-1, 1), "int8"),
    ]  # fmt: skip
    return serialize(build(nodes, constants, inputs=[(1, 0, 255)], outputs=1))


def test_partial_sums_of_bytes_fit_32_bits() -> None:
    # The whole sum is small; that of the negative products is 255 * 128 * count.
    count = 2**31 // (255 * 128)
    assert NumericFile(build_opposites(count)).run([255]) == (-255 * count,)
    assert f"interval {-255 * 128 * (count + 1)} to {255 * 127 * (count + 1)}" in refuse(
        build_opposites(count + 1)
    )


def build_lookup(least: int, most: int) -> bytes:
    node = helper.make_node("Gather", ["table", "x"], ["y"])
    return serialize(build([node], [tensor("table", range(4))], inputs=[(2, least, most)]))


def test_indices_are_within_the_table() -> None:
    assert NumericFile(build_lookup(-4, 3)).run([-4, 3]) == (0, 3)
    assert "indices' interval -5 to 3: must be within -4 to 3" in refuse(build_lookup(-5, 3))
    assert "indices' interval 0 to 4: must be within" in refuse(build_lookup(0, 4))


def build_divisor(operator: str, least: int, most: int) -> bytes:
    node = helper.make_node(operator, ["k", "x"], ["y"])
    return serialize(build([node], [tensor("k", [-7, 7])], inputs=[(2, least, most)]))


@pytest.mark.parametrize("operator", ["Div", "Mod"])
def test_a_divisor_is_never_0(operator: str) -> None:
    NumericFile(build_divisor(operator, 1, 5)).run([1, 5])
    NumericFile(build_divisor(operator, -5, -1)).run([-1, -5])
    for least, most in ((0, 5), (-5, 0), (-1, 1)):
        assert f"interval {least} to {most}: must not contain 0" in refuse(
            build_divisor(operator, least, most)
        )


def test_a_graph_has_what_a_generator_needs() -> None:
    graph = read_graph(serialize(build_sample()))
    assert [node.operator for node in graph.nodes] == [
        "Reshape", "MatMul", "Add", "Relu", "Clip", "Gather", "Greater", "Where", "Div", "Reshape"
    ]  # fmt: skip
    assert graph.constants["divisor"].tolist() == 3
    assert graph.shapes["hidden"] == (1, 2)
    assert graph.types["is_high"] == "bool"
    assert (graph.ranges["hidden"].least, graph.ranges["hidden"].most) == (-1_100, 1_000)
    assert graph.nodes[5].attributes == {"axis": 0}
    assert not graph.constants["table"].flags.writeable

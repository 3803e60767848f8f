"""Decoder of restricted ONNX: protobuf in, plain nodes and int64 arrays out.

The package onnx decodes protobuf and does nothing else: no checker, no shape inference, no external
data. A field that is not listed here is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import ModelProto

from pyevm_agents.models.numeric.errors import NumericModelError, describe_node, show
from pyevm_agents.models.numeric.limits import (
    ELEMENT_TYPES,
    IR_VERSIONS,
    MAX_FILE_BYTES,
    MAX_INITIALIZERS,
    MAX_NAME_CHARACTERS,
    MAX_NODE_INPUTS,
    MAX_NODES,
    MAX_RANK,
    MAX_TOTAL_ELEMENTS,
    MAX_VALUES,
    OPSETS,
    TYPE_RANGES,
    check_shape,
)
from pyevm_agents.models.numeric.metadata import METADATA_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Message: TypeAlias = Any
"""A protobuf message: the package onnx has no types that mypy can follow."""

DOMAINS = ("", "ai.onnx")
"""Names of the default operator set."""

INT, STRING, TENSOR, INTS = 2, 3, 4, 7
"""Types of attributes. Source: onnx.proto, `AttributeProto.AttributeType`."""

ATTRIBUTE_FIELDS = {INT: "i", STRING: "s", TENSOR: "t", INTS: "ints"}
"""The field of the value of each accepted type of attribute."""

ATTRIBUTE_KINDS = {
    1: "a float", 5: "a subgraph", 6: "floats", 8: "strings", 9: "tensors", 10: "subgraphs",
    11: "a sparse tensor", 12: "sparse tensors", 13: "a type", 14: "types",
}  # fmt: skip
"""Names of the refused types of attributes."""

MAX_ATTRIBUTES = 16
"""Upper bound of the attributes of a node; ConvInteger has 6."""

MAX_INTS = 2**14
"""Upper bound of the numbers of an attribute."""

GGUF_MAGIC = b"GGUF"
"""First bytes of a language model's file."""

RAW_TYPES = {"int64": "<i8", "int32": "<i4", "int8": "i1", "uint8": "u1", "bool": "u1"}
"""NumPy's type of `raw_data`, which is little-endian."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantTensor:
    """A tensor of the file: element type, and values in int64."""

    type: str
    values: NDArray[np.int64]


AttributeValue: TypeAlias = "int | tuple[int, ...] | str | ConstantTensor"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNode:
    """A node as in the file."""

    label: str
    """Words that name it in messages."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxFile:
    """The parts of a file that have a meaning."""

    opset: int
    nodes: tuple[FileNode, ...]
    initializers: Mapping[str, ConstantTensor]
    input_name: str
    input_count: int
    output_name: str
    output_count: int
    stated: Mapping[str, tuple[str, tuple[int, ...]]]
    """Types and shapes that the file states for tensors within (`value_info`)."""

    metadata: str


def decode_file(data: bytes) -> OnnxFile:
    """Decode the bytes of a file.

    Raises:
        NumericModelError: not ONNX, or a part that a numeric model can't have.
    """
    if data.startswith(GGUF_MAGIC):
        raise NumericModelError(
            "a language model in GGUF: must be a numeric model in ONNX; pass this file to --model"
        )
    if len(data) > MAX_FILE_BYTES:
        raise NumericModelError(
            f"file of more bytes than {MAX_FILE_BYTES:,}: must be at most that; make the model "
            "smaller"
        )
    try:
        return _read_model(_parse(data))
    except UnicodeDecodeError as error:
        raise NumericModelError("a text of the file: must be UTF-8; export it again") from error


def _parse(data: bytes) -> Message:
    try:
        model = ModelProto.FromString(data)
    except DecodeError as error:
        raise NumericModelError("not an ONNX file; export the model again") from error
    size = model.ByteSize()
    model.DiscardUnknownFields()
    if model.ByteSize() != size:
        raise NumericModelError(
            "the file has fields that ONNX does not define; export it with onnx 1.23 or earlier"
        )
    return model


def _check_fields(message: Message, allowed: Sequence[str], thing: str) -> None:
    """Refuse a field that is not listed, and a text that is not UTF-8, which protobuf admits."""
    for field, value in message.ListFields():
        if field.name not in allowed:
            raise NumericModelError(
                f"{thing}: field {field.name}: not part of a numeric model; remove it"
            )
        if field.type == field.TYPE_STRING:
            texts = [value] if isinstance(value, str | bytes) else value
            if not all(isinstance(text, str) for text in texts):
                raise NumericModelError(f"{thing}: {field.name}: must be UTF-8; correct it")


def _require_text(text: str | bytes, thing: str) -> None:
    if isinstance(text, bytes):
        raise NumericModelError(f"{thing}: name: must be UTF-8; rename it")


def _check_name(name: str, thing: str) -> str:
    if not 1 <= len(name) <= MAX_NAME_CHARACTERS or not name.isprintable():
        raise NumericModelError(
            f"{thing} {show(name)}: must be 1 to {MAX_NAME_CHARACTERS} printable characters; "
            f"rename it"
        )
    return name


def _check_count(count: int, most: int, things: str) -> None:
    if count > most:
        raise NumericModelError(f"{count:,} {things}: must be at most {most:,}; remove some")


def _read_model(model: Message) -> OnnxFile:
    if model.graph.node and not model.metadata_props:
        raise NumericModelError(
            f"metadata: must be one entry {METADATA_KEY}, and there is none; `pyevm-agents model "
            "convert` makes a numeric model of a float one"
        )
    _check_fields(
        model,
        (
            "ir_version", "opset_import", "producer_name", "producer_version", "domain",
            "model_version", "doc_string", "graph", "metadata_props",
        ),
        "the file",
    )  # fmt: skip
    if model.ir_version not in IR_VERSIONS:
        raise NumericModelError(
            f"IR version {model.ir_version}: must be {IR_VERSIONS[0]} to {IR_VERSIONS[-1]}; "
            f"export the model again"
        )
    opset = _read_opset(model.opset_import)
    metadata = _read_metadata(model.metadata_props)
    graph = model.graph
    _check_fields(
        graph,
        ("node", "name", "initializer", "doc_string", "input", "output", "value_info"),
        "the graph",
    )
    _check_count(len(graph.node), MAX_NODES, "nodes")
    _check_count(len(graph.initializer), MAX_INITIALIZERS, "initializers")
    _check_count(len(graph.value_info), MAX_NODES + MAX_INITIALIZERS, "stated shapes")
    input_name, input_count = _read_end(graph.input, "input")
    output_name, output_count = _read_end(graph.output, "output")
    initializers = _read_initializers(graph.initializer)
    return OnnxFile(
        opset=opset,
        nodes=tuple(_read_node(index, node) for index, node in enumerate(graph.node)),
        initializers=initializers,
        input_name=input_name,
        input_count=input_count,
        output_name=output_name,
        output_count=output_count,
        stated=_read_stated(graph.value_info),
        metadata=metadata,
    )


def _read_opset(imports: Sequence[Message]) -> int:
    for each in imports:
        _check_fields(each, ("domain", "version"), "operator set")
        if each.domain not in DOMAINS:
            raise NumericModelError(
                f"operator set {show(each.domain)}: must be the default one; use its operators"
            )
    if len(imports) != 1 or imports[0].version not in OPSETS:
        versions = ", ".join(str(each.version) for each in imports[:4]) or "none"
        raise NumericModelError(
            f"operator set version {versions}: must be one of {OPSETS[0]} to {OPSETS[-1]}; "
            f"export the model again"
        )
    version: int = imports[0].version
    return version


def _read_metadata(entries: Sequence[Message]) -> str:
    if len(entries) != 1 or entries[0].key != METADATA_KEY:
        raise NumericModelError(
            f"metadata: must be one entry {METADATA_KEY}; `pyevm-agents model convert` writes it"
        )
    _check_fields(entries[0], ("key", "value"), "metadata")
    text: str = entries[0].value
    return text


def _read_end(infos: Sequence[Message], thing: str) -> tuple[str, int]:
    """Return the name and the size of the only input, or of the only output."""
    if len(infos) != 1:
        raise NumericModelError(
            f"{len(infos)} graph {thing}s: must be 1; join them to one INT64 tensor"
        )
    name, kind, shape = _read_info(infos[0], f"graph {thing}")
    if kind != "int64" or len(shape) != 1 or shape[0] > MAX_VALUES:
        raise NumericModelError(
            f"graph {thing} {show(name)}: must be INT64 with one dimension of at most "
            f"{MAX_VALUES:,}; reshape or cast it"
        )
    return name, shape[0]


def _read_info(info: Message, thing: str) -> tuple[str, str, tuple[int, ...]]:
    """Return the name, the type and the shape that the file states for a tensor."""
    _check_fields(info, ("name", "type", "doc_string"), thing)
    name = _check_name(info.name, thing)
    thing = f"{thing} {show(name)}"
    _check_fields(info.type, ("tensor_type", "denotation"), thing)
    tensor = info.type.tensor_type
    if tensor.elem_type not in ELEMENT_TYPES or not tensor.HasField("shape"):
        raise NumericModelError(f"{thing}: must be a tensor of integers; convert it")
    dimensions = tensor.shape.dim
    _check_count(len(dimensions), MAX_RANK, f"dimensions of {thing}")
    for each in dimensions:
        if each.WhichOneof("value") != "dim_value":
            raise NumericModelError(f"{thing}: dimensions must be numbers; make shapes static")
    shape = check_shape([each.dim_value for each in dimensions], thing)
    return name, ELEMENT_TYPES[tensor.elem_type], shape


def _read_stated(infos: Sequence[Message]) -> Mapping[str, tuple[str, tuple[int, ...]]]:
    stated = {}
    for info in infos:
        name, kind, shape = _read_info(info, "stated shape of")
        if name in stated:
            raise NumericModelError(f"stated shape of {show(name)}: must be stated once; remove it")
        stated[name] = (kind, shape)
    return stated


def _read_initializers(tensors: Sequence[Message]) -> Mapping[str, ConstantTensor]:
    found: dict[str, ConstantTensor] = {}
    total = 0
    for tensor in tensors:
        _require_text(tensor.name, "initializer")
        name = _check_name(tensor.name, "initializer")
        if name in found:
            raise NumericModelError(f"initializer {show(name)}: name is taken; rename one of them")
        found[name] = _read_tensor(tensor, f"initializer {show(name)}")
        total += found[name].values.size
        _check_count(total, MAX_TOTAL_ELEMENTS, "elements of initializers")
    return found


def _read_tensor(tensor: Message, thing: str) -> ConstantTensor:
    if tensor.external_data or tensor.data_location:
        raise NumericModelError(f"{thing}: has external data: must be in the file; embed it")
    kind = ELEMENT_TYPES.get(tensor.data_type)
    if kind is None:
        raise NumericModelError(
            f"{thing}: element type {tensor.data_type}: must be one of "
            f"{', '.join(TYPE_RANGES)}; convert it"
        )
    typed = "int64_data" if kind == "int64" else "int32_data"
    _check_fields(tensor, ("dims", "data_type", "name", "doc_string", "raw_data", typed), thing)
    _check_count(len(tensor.dims), MAX_RANK, f"dimensions of {thing}")
    shape = check_shape(tensor.dims, thing)
    count = int(np.prod(shape, dtype=np.int64))
    values = _read_values(tensor, kind, typed, count, thing)
    least, most = TYPE_RANGES[kind]
    if values.min() < least or values.max() > most:
        raise NumericModelError(f"{thing}: values must be {least} to {most} ({kind}); correct it")
    values = values.reshape(shape)
    values.setflags(write=False)
    return ConstantTensor(type=kind, values=values)


def _read_values(
    tensor: Message, kind: str, typed: str, count: int, thing: str
) -> NDArray[np.int64]:
    """Return the values of a tensor, whose number must be that of the shape."""
    raw, numbers = tensor.raw_data, getattr(tensor, typed)
    stored = np.dtype(RAW_TYPES[kind])
    sizes = (len(raw), len(numbers))
    if sizes not in {(count * stored.itemsize, 0), (0, count)}:
        raise NumericModelError(
            f"{thing}: {len(raw):,} bytes of raw_data and {len(numbers):,} numbers of {typed}: "
            f"must be the {count:,} elements of its shape, in one of them; export it again"
        )
    if raw:
        return np.frombuffer(raw, dtype=stored).astype(np.int64)
    return np.array(numbers, dtype=np.int64)


def _read_node(index: int, node: Message) -> FileNode:
    fields = (
        "input", "output", "name", "op_type", "domain", "attribute", "doc_string",
    )  # fmt: skip
    _check_fields(node, fields, f"node {index}")
    label = describe_node(index, node.op_type, node.name)
    if node.name:
        _check_name(node.name, "node name")
    if node.domain not in DOMAINS:
        raise NumericModelError(
            f"{label}: operator of {show(node.domain)}: must be of the default set; replace it"
        )
    if len(node.output) != 1:
        raise NumericModelError(f"{label}: {len(node.output)} outputs: must be 1; replace it")
    _check_count(len(node.input), MAX_NODE_INPUTS, f"inputs of {label}")
    _check_count(len(node.attribute), MAX_ATTRIBUTES, f"attributes of {label}")
    attributes: dict[str, AttributeValue] = {}
    for attribute in node.attribute:
        _require_text(attribute.name, f"{label}: attribute")
        if attribute.name in attributes:
            raise NumericModelError(
                f"{label}: attribute {show(attribute.name)}: occurs twice; remove one"
            )
        attributes[attribute.name] = _read_attribute(attribute, label)
    return FileNode(
        label=label,
        operator=node.op_type,
        inputs=tuple(_check_name(name, f"{label}: input") if name else "" for name in node.input),
        output=_check_name(node.output[0], f"{label}: output"),
        attributes=attributes,
    )


def _read_attribute(attribute: Message, label: str) -> AttributeValue:
    thing = f"{label}: attribute {show(attribute.name)}"
    field = ATTRIBUTE_FIELDS.get(attribute.type)
    if field is None:
        kind = ATTRIBUTE_KINDS.get(attribute.type, "of no type")
        raise NumericModelError(f"{thing}: is {kind}: must be integers; replace the node")
    _check_fields(attribute, ("name", "type", "doc_string", field), thing)
    _check_count(len(attribute.ints), MAX_INTS, f"numbers of {thing}")
    if attribute.type == INTS:
        return tuple(attribute.ints)
    if not attribute.HasField(field):
        raise NumericModelError(f"{thing}: has no value; export it again")
    if attribute.type == TENSOR:
        return _read_tensor(attribute.t, thing)
    value: int | bytes = getattr(attribute, field)
    return value.decode() if isinstance(value, bytes) else value

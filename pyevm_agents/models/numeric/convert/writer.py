"""The integer file during writing: nodes, constants and the metadata entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import NodeProto

OPSET = 18
"""From 18 on the axes of every reduction are an input."""

IR_VERSION = 8
"""The first version of the format for opset 18; later runtimes read it too."""

METADATA_KEY = "numeric_model"
INPUT, OUTPUT = "input", "output"

MAX_WIDE_ELEMENTS = 64
"""Constants with more elements are stored in int8 or int32 where they fit, and cast: those of a
product once, when the file is read; rows that Gather picks, after it."""

INT8, INT32 = np.iinfo(np.int8), np.iinfo(np.int32)


class IntegerWriter:
    """Collects nodes and constants; equal constants are stored once."""

    def __init__(self) -> None:
        """Start without nodes."""
        self._nodes: list[NodeProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._casts: dict[str, str] = {}

    def add_constant(self, values: object, dtype: type = np.int64) -> str:
        """Store a constant; return the name."""
        array: np.ndarray = np.array(values, dtype=dtype, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = f"c{len(self._constants)}"
            self._arrays[self._constants[key]] = array
        return self._constants[key]

    def add_weights(self, values: np.ndarray) -> str:
        """Store a large constant as narrow as possible; return the name of the int64 tensor."""
        least, most = int(values.min()), int(values.max())
        if values.size <= MAX_WIDE_ELEMENTS or least < INT32.min or most > INT32.max:
            return self.add_constant(values)
        is_byte = INT8.min <= least and most <= INT8.max
        name = self.add_constant(values, np.int8 if is_byte else np.int32)
        if name not in self._casts:
            self._casts[name] = self.add("Cast", name, to=TensorProto.INT64)
        return self._casts[name]

    def gather_rows(self, values: np.ndarray, indices: str) -> str:
        """Add a Gather of a constant's rows; a narrow constant is cast afterwards."""
        least, most = int(values.min()), int(values.max())
        if values.size <= MAX_WIDE_ELEMENTS or least < INT32.min or most > INT32.max:
            return self.add("Gather", self.add_constant(values), indices)
        is_byte = INT8.min <= least and most <= INT8.max
        table = self.add_constant(values, np.int8 if is_byte else np.int32)
        return self.add("Cast", self.add("Gather", table, indices), to=TensorProto.INT64)

    def add(self, operator: str, *inputs: str, **attributes: int | list[int]) -> str:
        """Add a node; return the output's name."""
        output = f"t{len(self._nodes)}"
        node = helper.make_node(operator, inputs, [output])
        node.attribute.extend(helper.make_attribute(*each) for each in sorted(attributes.items()))
        self._nodes.append(node)
        return output

    def add_binary(self, operator: str, tensor: str, constant: object) -> str:
        """Add a node of a tensor and a constant."""
        return self.add(operator, tensor, self.add_constant(constant))

    def reshape(self, tensor: str, shape: Sequence[int]) -> str:
        """Add a Reshape."""
        return self.add("Reshape", tensor, self.add_constant([*shape]))

    def serialize(
        self, result: str, *, inputs: int, outputs: int, metadata: Mapping[str, object]
    ) -> bytes:
        """Return the bytes of the file.

        Input:
            result: the tensor that becomes the output, of rank 1.
        """
        nodes = self._list_used(result)
        if nodes and nodes[-1].output[0] == result:
            nodes[-1].output[0] = OUTPUT
        else:
            nodes.append(helper.make_node("Identity", [result], [OUTPUT]))
        read = {name for node in nodes for name in node.input}
        graph = helper.make_graph(
            nodes,
            METADATA_KEY,
            [helper.make_tensor_value_info(INPUT, TensorProto.INT64, [inputs])],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.INT64, [outputs])],
            [numpy_helper.from_array(array, name) for name, array in self._arrays.items()
             if name in read],
        )  # fmt: skip
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="pyevm-agents",
        )
        text = json.dumps(metadata, ensure_ascii=True, separators=(",", ":"))
        helper.set_model_props(model, {METADATA_KEY: text})
        data: bytes = model.SerializeToString(deterministic=True)
        return data

    def _list_used(self, result: str) -> list[NodeProto]:
        """Return the nodes that the result needs, in their order."""
        wanted, used = {result}, []
        for node in reversed(self._nodes):
            if node.output[0] in wanted:
                used.append(node)
                wanted.update(node.input)
        return used[::-1]

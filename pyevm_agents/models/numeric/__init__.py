"""Numeric models: restricted ONNX files that are evaluated in integers.

The same file and inputs give the same outputs on every machine.
Source: docs/architecture.md#numeric-models.
"""

from pyevm_agents.models.numeric.catalogue import SHIPPED, open_named_models, open_shipped
from pyevm_agents.models.numeric.errors import NumericModelError
from pyevm_agents.models.numeric.graph import Graph, GraphNode, TensorRange, read_graph
from pyevm_agents.models.numeric.metadata import (
    InputSpec,
    NumericMetadata,
    OutputSpec,
    write_metadata,
)
from pyevm_agents.models.numeric.numeric_file import NumericFile

__all__ = [
    "SHIPPED",
    "Graph",
    "GraphNode",
    "InputSpec",
    "NumericFile",
    "NumericMetadata",
    "NumericModelError",
    "OutputSpec",
    "TensorRange",
    "open_named_models",
    "open_shipped",
    "read_graph",
    "write_metadata",
]

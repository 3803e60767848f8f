"""Limits of a numeric model's file. Each bounds time or memory of reading or of evaluation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from precompiles.numeric_spec import MAX_NUMERIC_INPUTS, MAX_NUMERIC_OUTPUTS
from pyevm_agents.models.numeric.errors import NumericModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_FILE_BYTES = 1_048_576
"""Upper bound of a file's size, checked before it is parsed."""

MAX_NODES = 1_024
"""Upper bound of nodes, Constant nodes included."""

MAX_INITIALIZERS = 4_096
"""Upper bound of initializers: a node has few constants of its own."""

MAX_NODE_INPUTS = 256
"""Upper bound of the inputs of a node (Concat, Min, Max)."""

MAX_ELEMENTS = 2**20
"""Upper bound of the elements of a tensor: 8 MiB in int64."""

MAX_TOTAL_ELEMENTS = 2**22
"""Upper bound of the elements of all tensors: 32 MiB in int64, and twice that for their ranges."""

MAX_RANK = 6
"""Upper bound of a tensor's dimensions."""

MAX_OPERATIONS = 2**28
"""Upper bound of the operations of all nodes (see `cost.py`): below a second on one core."""

MAX_VALUES = min(MAX_NUMERIC_INPUTS, MAX_NUMERIC_OUTPUTS)
"""Upper bound of the input and of the output numbers."""

MAX_METADATA_BYTES = 65_536
"""Upper bound of the entry `numeric_model`."""

MAX_NAME_CHARACTERS = 256
"""Upper bound of the name of a tensor, a node or an input."""

MAX_DECIMALS = 77
"""Upper bound of the decimals of a number: 10^77 is below 2^256."""

OPSETS = range(13, 23)
"""Versions of the default operator set. Before 13, Squeeze and ReduceSum had their axes as
attributes; 23 adds floating-point operators alone."""

IR_VERSIONS = range(7, 14)
"""Versions of the container: 7 came with operator set 13."""

TYPE_RANGES = {
    "int64": (-(2**63), 2**63 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int8": (-128, 127),
    "uint8": (0, 255),
    "bool": (0, 1),
}
"""Least and most value of each element type."""

ELEMENT_TYPES = {2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool"}
"""Names of the accepted element types. Source: onnx.proto, `TensorProto.DataType`."""


def check_shape(shape: Sequence[int], thing: str) -> tuple[int, ...]:
    """Return a shape that the limits admit.

    Raises:
        NumericModelError: a rank, a dimension or a number of elements beyond a limit.
    """
    if len(shape) > MAX_RANK:
        raise NumericModelError(
            f"{thing}: {len(shape)} dimensions: must be at most {MAX_RANK}; reshape it"
        )
    for size in shape:
        if not 1 <= size <= MAX_ELEMENTS:
            raise NumericModelError(
                f"{thing}: dimension {size}: must be 1 to {MAX_ELEMENTS:,}; make shapes static"
            )
    if math.prod(shape) > MAX_ELEMENTS:
        raise NumericModelError(
            f"{thing}: {math.prod(shape):,} elements: must be at most {MAX_ELEMENTS:,}; "
            f"make the model smaller"
        )
    return tuple(shape)

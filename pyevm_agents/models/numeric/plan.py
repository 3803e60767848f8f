"""A node during reading: operands in, plan out.

A plan has the output's type and shape, the computation, the rule for the range, and the price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyevm_agents.models.numeric.errors import NumericModelError
from pyevm_agents.models.numeric.limits import TYPE_RANGES, check_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.models.numeric.onnx_file import AttributeValue

Array: TypeAlias = NDArray[np.int64]
Bounds: TypeAlias = tuple[Array, Array]
Kernel: TypeAlias = Callable[..., Array]
"""Computes an output of int64 arrays. It changes none of them."""

Attribute: TypeAlias = int | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An input of a node: type and range of each element."""

    type: str
    low: Array
    high: Array
    is_constant: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.low.shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The computation of a node."""

    type: str
    shape: tuple[int, ...]
    kernel: Kernel
    """Takes the arrays of the operands in `operands`, in order."""

    bound: Callable[[], Bounds]
    """Returns the range of each element; raises `OutOfRange`."""

    operations: int
    operands: tuple[int, ...]
    """Indices of the inputs that the kernel takes."""

    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCall:
    """A node with the known facts of the inputs."""

    label: str
    operator: str
    opset: int
    attributes: Mapping[str, AttributeValue]
    operands: tuple[Operand | None, ...]
    """None for an optional input that is left out."""

    def fail(self, constraint: str) -> NumericModelError:
        """Return an error that names the node."""
        return NumericModelError(f"{self.label}: {constraint}")

    def get(self, index: int) -> Operand:
        """Return an input that the operator requires."""
        operand = self.find(index)
        if operand is None:
            raise self.fail(f"input {index} is missing; export the model again")
        return operand

    def find(self, index: int) -> Operand | None:
        """Return an optional input; None if left out."""
        return self.operands[index] if index < len(self.operands) else None

    def get_all(self) -> tuple[Operand, ...]:
        """Return all inputs of an operator without optional ones, which have one type."""
        operands = tuple(self.get(index) for index in range(len(self.operands)))
        self.require_one_type(operands)
        return operands

    def require_one_type(self, operands: Sequence[Operand]) -> None:
        """Refuse operands of different types."""
        types = sorted({each.type for each in operands})
        if len(types) > 1:
            raise self.fail(f"inputs of types {', '.join(types)}: must be one type; add a Cast")

    def get_integer(self, name: str, default: int | None, allowed: Sequence[int]) -> int:
        """Return an attribute of one integer within a range."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int) or value not in allowed:
            raise self.fail(
                f"attribute {name}: must be an integer from {allowed[0]} to {allowed[-1]}; "
                f"correct it"
            )
        return value

    def get_integers(
        self, name: str, default: Sequence[int], count: int, allowed: Sequence[int]
    ) -> tuple[int, ...]:
        """Return an attribute of a number of integers within a range."""
        values = self.attributes.get(name, tuple(default))
        if (
            not isinstance(values, tuple)
            or len(values) != count
            or any(value not in allowed for value in values)
        ):
            raise self.fail(
                f"attribute {name}: must be {count} integers from {allowed[0]} to {allowed[-1]}; "
                f"correct it"
            )
        return values

    def require_text(self, name: str, only: str) -> None:
        """Refuse an attribute unless the value is the only admitted one."""
        if self.attributes.get(name, only) != only:
            raise self.fail(f"attribute {name}: must be {only}; export the model without it")

    def get_axis(self, value: int, rank: int) -> int:
        """Return an axis counted from the start."""
        if not -rank <= value < rank:
            raise self.fail(f"axis {value}: must be {-rank} to {rank - 1}; correct it")
        return value % rank

    def get_axes(self, values: Sequence[int], rank: int) -> tuple[int, ...]:
        """Return axes counted from the start, in the order given."""
        axes = tuple(self.get_axis(value, rank) for value in values)
        if len(set(axes)) != len(axes):
            raise self.fail(f"axes {[*values]}: an axis occurs twice; remove it")
        return axes

    def get_argument(self, index: int, most: int) -> tuple[int, ...] | None:
        """Return the numbers of a constant input such as `axes`; None if left out."""
        operand = self.find(index)
        if operand is None:
            return None
        if not operand.is_constant or operand.type not in {"int32", "int64"}:
            raise self.fail(f"input {index}: must be constant integers; make it an initializer")
        if len(operand.shape) != 1 or operand.low.size > most:
            raise self.fail(f"input {index}: must be one dimension of at most {most}; correct it")
        return tuple(operand.low.tolist())

    def require_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return an output's shape that the limits admit."""
        return check_shape(shape, f"{self.label}: output")

    def require_range(self, least: int, most: int, kind: str) -> None:
        """Refuse an interval beyond a type's range."""
        low, high = TYPE_RANGES[kind]
        if least < low or most > high:
            raise self.fail(
                f"interval {least} to {most}: must be within {low} to {high} ({kind}); "
                f"narrow the inputs' ranges, scale down, or Cast to a wider type before"
            )

    def broadcast(self, operands: Sequence[Operand]) -> tuple[int, ...]:
        """Return the shape to which operands broadcast."""
        try:
            shape = np.broadcast_shapes(*(each.shape for each in operands))
        except ValueError as error:
            shapes = ", ".join(str([*each.shape]) for each in operands[:4])
            raise self.fail(f"shapes {shapes}: must broadcast; reshape an input") from error
        return self.require_shape(shape)

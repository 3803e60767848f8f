"""Time of each operator of numeric models beside its weight in operations.

    python -m benchmarks.numeric_costs [--json FILE] [--rounds N] [--only OPERATOR]

Each row is a node over shapes from one element to a million, with odd ones: long and narrow,
broadcast along the last axis, transposed, scattered. The time of a node is the median CPU time of
its computation; `ns` divides it by the node's operations. A model of any nodes takes at most the
greatest `ns` of the table for each of its operations; the last lines give it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.evidence import describe_commit
from pyevm_agents.bench.measurement.machine import describe_machine
from pyevm_agents.models.numeric.operators import OPERATORS
from pyevm_agents.models.numeric.plan import NodeCall, Operand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Shape = tuple[int, ...]
BATCH_SECONDS = 0.01
"""Shortest time of a batch of evaluations of which the time of one is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostCase:
    """A node to measure."""

    operator: str
    shapes: tuple[Shape | None, ...]
    name: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Constant inputs by their index."""

    spread: tuple[int, int] = (1, 1_000)
    """Range of the random values of the variable inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """A measured node."""

    operator: str
    case: str
    elements: int
    operations: int
    microseconds: float
    nanoseconds_per_operation: float


SQUARE: tuple[Shape, ...] = ((1,), (64,), (4_096,), (65_536,), (1_024, 1_024))
"""Shapes from one element to the most."""

NARROW: tuple[tuple[Shape, Shape], ...] = (
    ((2**19, 2), (2,)),
    ((2**19, 2), (2**19, 1)),
    ((2**18, 4), (4,)),
    ((1_024, 1_024), (1_024, 1)),
    ((1_024, 1_024), (1_024,)),
    ((1_024, 1_024), ()),
    ((64, 2, 64, 2, 64), (64, 1, 64, 1, 64)),
    ((2, 2, 2, 2, 2, 2**15), (2, 1, 2, 1, 2, 1)),
    ((2**15, 2, 2, 2, 2, 2), (2**15, 1, 2, 1, 2, 1)),
)
"""Shapes whose inner loops are short, or whose second operand is broadcast."""

BINARY = (
    "Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Less", "LessOrEqual", "Greater",
    "GreaterOrEqual", "Equal",
)  # fmt: skip
UNARY = ("Neg", "Abs", "Sign", "Relu", "Identity", "Clip")


def iter_unary() -> Iterator[CostCase]:
    """Yield the operators with one shape."""
    for operator, shape in product(UNARY, SQUARE):
        yield CostCase(operator=operator, shapes=(shape,), spread=(-1_000, 1_000))
    for shape in SQUARE:
        yield CostCase(operator="Cast", shapes=(shape,), attributes={"to": 6})
        yield CostCase(operator="Cast", shapes=(shape,), attributes={"to": 9}, name="to bool")
        yield CostCase(operator="Not", shapes=(shape,), spread=(0, 1))
        yield CostCase(operator="And", shapes=(shape, shape), spread=(0, 1))
        yield CostCase(operator="Or", shapes=(shape, shape), spread=(0, 1))
        yield CostCase(operator="Where", shapes=(shape, shape, shape), spread=(0, 1))
        yield CostCase(operator="Clip", shapes=(shape, (), ()), name="both ends")
        yield CostCase(operator="Max", shapes=(shape,) * 8, name="of eight")


def iter_binary() -> Iterator[CostCase]:
    """Yield the operators with broadcasting."""
    pairs = [*((shape, shape) for shape in SQUARE), *NARROW]
    for operator, pair in product(BINARY, pairs):
        yield CostCase(operator=operator, shapes=pair)
        yield CostCase(operator=operator, shapes=pair[::-1], name="swapped")
    for pair in (((2**19, 2), (2,)), ((2**19, 2), (2**19, 1)), ((1_024, 1_024), ())):
        yield CostCase(operator="Where", shapes=(pair[0], *pair), spread=(0, 1))


def iter_divisions() -> Iterator[CostCase]:
    """Yield divisions of both signs, of small and of large numbers."""
    kinds: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("Div", {}), ("Mod", {"fmod": 0}), ("Mod", {"fmod": 1})
    )  # fmt: skip
    for (operator, attributes), bits, shape in product(kinds, (10, 62), SQUARE):
        yield CostCase(
            operator=operator, shapes=(shape, shape), spread=(-(2**bits), 2**bits),
            attributes=attributes, name=f"{bits} bits {[*attributes.values()]}",
        )  # fmt: skip
    yield CostCase(operator="Div", shapes=((1_024, 1_024), ()), spread=(1, 2**62), name="62 bits")


def iter_products() -> Iterator[CostCase]:
    """Yield products and convolutions, from many short sums to few long ones."""
    for a, b in (
        ((1, 1), (1, 1)), ((1, 64), (64, 64)), ((1, 1_024), (1_024, 1_024)),
        ((1_024, 1), (1, 1_024)), ((1_024, 2), (2, 1_024)), ((1, 2**20), (2**20, 1)),
        ((128, 128), (128, 128)), ((256, 256), (256, 256)), ((64, 4_096), (4_096, 64)),
        ((4_096, 64), (64, 4)), ((2**18, 1, 2), (2**18, 2, 1)), ((2**17, 2, 2), (2**17, 2, 2)),
        ((2**20,), (2**20,)), ((2**18, 2, 2), (2, 2)), ((512, 512), (512,)),
        ((2**19, 2), (2,)), ((16, 2**16), (2**16, 16)), ((2**16, 16), (16, 16)),
        ((512, 2), (2, 2_048)), ((1, 2), (2, 2**19)),
    ):  # fmt: skip
        for operator in ("MatMul", "MatMulInteger"):
            yield CostCase(operator=operator, shapes=(a, b), spread=(-128, 127))
    zero: Mapping[int, tuple[int, ...]] = {2: (3,), 3: (5,)}
    yield CostCase(
        operator="MatMulInteger", shapes=((256, 256), (256, 256), None, None),
        arguments=zero, spread=(-128, 127), name="zero points",
    )  # fmt: skip
    convolutions: tuple[tuple[Shape, Shape, Mapping[str, Any]], ...] = (
        ((1, 1, 64), (1, 1, 3), {}),
        ((1, 1, 2**18), (1, 1, 3), {}),
        ((1, 16, 1_024), (16, 16, 3), {"pads": (1, 1)}),
        ((1, 256, 1_024), (256, 1, 3), {"group": 256, "pads": (1, 1)}),
        ((1, 2_048, 16), (2_048, 1, 1), {"group": 2_048}),
        ((1, 2**18, 1), (2**18, 1, 1), {"group": 2**18}),
        ((1, 3, 64, 64), (8, 3, 3, 3), {}),
        ((1, 32, 32, 32), (32, 32, 3, 3), {"pads": (1, 1, 1, 1)}),
        ((1, 1, 256, 256), (1, 1, 3, 3), {"dilations": (64, 64)}),
        ((1, 1, 1_000, 1_000), (1, 1, 1, 1), {"strides": (7, 7)}),
        ((1, 1, 1_024, 1_024), (1, 1, 1, 1), {}),
        ((2**17, 1, 4), (2, 1, 2), {}),
        ((1, 1, 1), (1, 1, 1), {"pads": (4_000, 4_000)}),
        ((1, 1, 1, 1), (64, 1, 1, 1), {"pads": (60, 60, 60, 60)}),
    )
    for x, w, attributes in convolutions:
        yield CostCase(
            operator="ConvInteger", shapes=(x, w), attributes=attributes, spread=(-128, 127)
        )


def iter_reductions() -> Iterator[CostCase]:
    """Yield reductions over the last, the first, middle and all axes."""
    shapes: tuple[Shape, ...] = (
        (1,), (4_096,), (2**20,), (1_024, 1_024), (2**19, 2), (2, 2**19), (64, 64, 64),
        (2**10, 2, 2, 2, 2, 64), (64, 2, 64, 2, 64),
    )  # fmt: skip
    for shape in shapes:
        rank = len(shape)
        choices = {(rank - 1,), (0,), tuple(range(rank)), tuple(range(0, rank, 2))}
        for axes in sorted(choices):
            for operator in ("ReduceSum", "ReduceMax", "ReduceMin"):
                yield CostCase(
                    operator=operator, shapes=(shape, None), arguments={1: axes},
                    name=f"axes {[*axes]}",
                )  # fmt: skip
        for axis in {0, rank - 1, rank // 2}:
            for operator in ("ArgMax", "ArgMin"):
                for last in (0, 1):
                    yield CostCase(
                        operator=operator, shapes=(shape,),
                        attributes={"axis": axis, "select_last_index": last},
                        name=f"axis {axis}{' last' if last else ''}",
                    )  # fmt: skip


def iter_movements() -> Iterator[CostCase]:
    """Yield copies, slices, padding and lookups."""
    for shape in SQUARE:
        yield CostCase(operator="Flatten", shapes=(shape,))
        yield CostCase(operator="Reshape", shapes=(shape, None), arguments={1: (-1,)})
        yield CostCase(operator="Squeeze", shapes=((1, *shape), None), arguments={1: (0,)})
        yield CostCase(operator="Unsqueeze", shapes=(shape, None), arguments={1: (0,)})
        yield CostCase(operator="Transpose", shapes=(shape,))
        yield CostCase(operator="Concat", shapes=(shape,), attributes={"axis": 0})
    orders: tuple[tuple[Shape, tuple[int, ...]], ...] = (
        ((2**19, 2), (1, 0)), ((2, 2**19), (1, 0)), ((64, 64, 64), (2, 1, 0)),
        ((64, 64, 64), (1, 0, 2)), ((16, 16, 16, 16, 16), (4, 3, 2, 1, 0)),
        ((8, 8, 8, 8, 16, 16), (0, 2, 1, 3, 5, 4)), ((2**18, 2, 2), (0, 2, 1)),
        ((2**17, 2, 2, 2), (1, 0, 3, 2)),
    )  # fmt: skip
    for shape, perm in orders:
        yield CostCase(operator="Transpose", shapes=(shape,), attributes={"perm": perm})
    joins: tuple[tuple[tuple[Shape, ...], int], ...] = (
        (((2**19, 1), (2**19, 1)), 1), (((2**18, 1),) * 4, 1), (((4_096,),) * 256, 0),
        (((1,),) * 256, 0), (((2**12, 1),) * 256, 1), (((2**10, 2),) * 256, 1),
    )  # fmt: skip
    for shapes, axis in joins:
        yield CostCase(operator="Concat", shapes=shapes, attributes={"axis": axis})
    slices: tuple[tuple[Shape, Mapping[int, tuple[int, ...]]], ...] = (
        ((2**20,), {1: (0,), 2: (2**20,)}),
        ((2**20,), {1: (2**20,), 2: (-(2**21),), 3: (0,), 4: (-1,)}),
        ((2**20,), {1: (0,), 2: (2**20,), 3: (0,), 4: (8,)}),
        ((2**18, 4), {1: (0,), 2: (3,), 3: (1,)}),
        ((2**18, 4), {1: (0,), 2: (1,), 3: (1,)}),
        ((1_024, 1_024), {1: (0, 0), 2: (1_024, 1_024), 3: (0, 1), 4: (2, 2)}),
        ((1,), {1: (0,), 2: (1,)}),
    )
    for shape, arguments in slices:
        rest = [None] * len(arguments)
        yield CostCase(
            operator="Slice", shapes=(shape, *rest), arguments=arguments,
            name=str([*arguments.values()]),
        )  # fmt: skip
    paddings: tuple[tuple[Shape, tuple[int, ...]], ...] = (
        ((1,), (0, 1)), ((1,), (2**19, 2**19 - 2)), ((2**18, 2), (0, 1, 0, 1)),
        ((2**18, 1), (0, 0, 0, 1)), ((1_000, 1_000), (8, 8, 8, 8)),
        ((64, 64, 64), (0, 0, 0, 0, 0, 64)),
    )  # fmt: skip
    for shape, pads in paddings:
        yield CostCase(
            operator="Pad", shapes=(shape, None), arguments={1: pads}, name=f"pads {[*pads]}"
        )
    for table, indices, axis in (
        ((1,), (1,), 0), ((256,), (1_024,), 0), ((256,), (2**20,), 0), ((2**20,), (2**20,), 0),
        ((2**19, 2), (2**19,), 0), ((2**16, 16), (2**16,), 0), ((2, 2**19), (2**19,), 1),
        ((1_024, 1_024), (1_024,), 1), ((1_024, 1_024), (1_024,), 0), ((2**19, 2), (2,), 1),
        ((2**19, 2), (1,), 1), ((2**10, 2**10), (1,), 1), ((2**18, 2, 2), (2,), 1),
    ):  # fmt: skip
        yield CostCase(
            operator="Gather", shapes=(table, indices), attributes={"axis": axis},
            name=f"axis {axis}", spread=(0, table[axis] - 1),
        )  # fmt: skip


def build_operand(case: CostCase, index: int, shape: Shape | None) -> Operand:
    """Return an input of a node; its range is that of the case."""
    is_product = case.operator in {"MatMulInteger", "ConvInteger"}
    kind = "int8" if is_product else "int64"
    if shape is None:
        given = np.array(case.arguments[index], dtype=np.int64)
        given = given.reshape(()) if is_product else given
        return Operand(type=kind, low=given, high=given, is_constant=True)
    least, most = case.spread
    if case.operator in {"Div", "Mod"} and index == 1:
        least, most = 1, max(most, 1)
    return Operand(
        type="bool" if case.operator == "Where" and index == 0 else kind,
        low=np.full(shape, least, dtype=np.int64),
        high=np.full(shape, most, dtype=np.int64),
        is_constant=False,
    )


def build_call(case: CostCase) -> NodeCall:
    """Return a node of a case."""
    return NodeCall(
        label=case.operator,
        operator=case.operator,
        opset=22,
        attributes=case.attributes,
        operands=tuple(build_operand(case, *each) for each in enumerate(case.shapes)),
    )


def measure(case: CostCase, rounds: int, random: np.random.Generator) -> CostRow:
    """Return the median time of a node's computation."""
    call = build_call(case)
    plan = OPERATORS[case.operator].plan(call)
    arrays = []
    for index in plan.operands:
        operand = call.get(index)
        values = random.integers(operand.low, operand.high, endpoint=True)
        arrays.append(np.asarray(values, dtype=np.int64))
    since = time.process_time()
    np.asarray(plan.kernel(*arrays))
    once = max(time.process_time() - since, 1e-6)
    batch = max(1, min(1_000, int(BATCH_SECONDS / once)))
    times = []
    for _ in range(rounds):
        since = time.process_time()
        for _ in range(batch):
            np.asarray(plan.kernel(*arrays))
        times.append((time.process_time() - since) / batch)
    seconds = statistics.median(times)
    shapes = " ".join("x".join(map(str, shape)) for shape in case.shapes[:3] if shape is not None)
    return CostRow(
        operator=case.operator,
        case=f"{shapes} {case.name}".strip(),
        elements=int(np.prod(plan.shape)),
        operations=plan.operations,
        microseconds=round(seconds * 1e6, 3),
        nanoseconds_per_operation=round(seconds * 1e9 / plan.operations, 4),
    )


def print_rows(rows: list[CostRow]) -> None:
    """Print every row, then the worst of each operator."""
    for row in rows:
        print(
            f"{row.operator:<15} {row.case:<48} {row.operations:>13,} {row.microseconds:>12,.1f} us"
            f" {row.nanoseconds_per_operation:>8.3f} ns"
        )
    print("\nGreatest and median nanoseconds for an operation, by operator")
    for operator in sorted({row.operator for row in rows}):
        of = [row for row in rows if row.operator == operator]
        worst = max(of, key=lambda row: row.nanoseconds_per_operation)
        median = statistics.median(row.nanoseconds_per_operation for row in of)
        print(
            f"{operator:<15} {worst.nanoseconds_per_operation:>7.3f} {median:>7.3f}  {worst.case}"
        )


def main() -> None:
    """Measure the nodes; print the table, and write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--rounds", type=int, default=7, help="medians of so many (default: 7)")
    parser.add_argument("--only", help="one operator")
    arguments = parser.parse_args()
    random = np.random.default_rng(19)
    iterators = (iter_unary, iter_binary, iter_divisions, iter_products, iter_reductions,
                 iter_movements)  # fmt: skip
    cases = [case for iterate in iterators for case in iterate()]
    chosen = [case for case in cases if arguments.only in {None, case.operator}]
    rows = [measure(case, arguments.rounds, random) for case in chosen]
    print_rows(rows)
    if arguments.json:
        report = {
            "machine": asdict(describe_machine()),
            "commit": describe_commit(),
            "rows": [asdict(row) for row in rows],
        }
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

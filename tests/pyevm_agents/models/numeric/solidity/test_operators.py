"""The Solidity of each operator gives the numbers of the file."""

from __future__ import annotations

import numpy as np
import pytest

from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.models.numeric.operators import OPERATORS
from tests.pyevm_agents.models.numeric.model_builder import (
    Case,
    Constant,
    Variable,
    build_case,
    constant,
)
from tests.pyevm_agents.models.numeric.solidity.twins import (
    DeployedModel,
    compile_models,
    draw_inputs,
)

pytestmark = pytest.mark.slow

INPUTS = 12
BIG = 10**6
BOTH_SIGNS = constant([[-7, 3, 2]])


def variable(*shape: int, least: int = -BIG, most: int = BIG, kind: str = "int64") -> Variable:
    return Variable(type=kind, shape=shape, least=least, most=most)


def case(operator: str, *operands: Variable | Constant | None, **attributes: object) -> Case:
    return Case(operator=operator, operands=operands, attributes=attributes, opset=18)


X, ROW, COLUMN, CUBE = variable(2, 3), variable(3), variable(2, 1), variable(2, 2, 3)
BITS = variable(2, 3, least=0, most=1, kind="bool")
MORE_BITS = variable(3, least=0, most=1, kind="bool")
BYTES = variable(2, 3, least=-128, most=127, kind="int8")
UNSIGNED = variable(1, 2, 5, least=0, most=255, kind="uint8")

CASES: dict[str, tuple[int, Case]] = {
    "abs": (6, case("Abs", X)),
    "add": (6, case("Add", X, ROW)),
    "addColumn": (6, case("Add", X, COLUMN)),
    "addOuter": (12, case("Add", variable(2, 1, 3), variable(2, 1))),
    "and": (6, case("And", BITS, MORE_BITS)),
    "argMax": (2, case("ArgMax", variable(2, 3, least=-1, most=1, kind="int32"), axis=1)),
    "argMin": (
        3,
        case("ArgMin", variable(2, 3, least=0, most=1), axis=0, select_last_index=1, keepdims=0),
    ),
    "castBool": (6, case("Cast", variable(2, 3, least=-1, most=1), to=9)),
    "castInt": (6, case("Cast", BITS, to=6)),
    "clip": (6, case("Clip", X, constant(-500), constant(70_000))),
    "clipLeast": (6, case("Clip", X, None, variable(least=-9, most=9))),
    "concat": (12, case("Concat", X, constant([[1, -2, 3], [4, 5, 6]]), axis=0)),
    "concatColumns": (8, case("Concat", X, COLUMN, axis=1)),
    "convInteger": (
        12,
        case(
            "ConvInteger",
            UNSIGNED,
            constant([[[1, -2, 3], [4, 5, -6]], [[0, 1, 0], [1, 1, 1]]], "int8"),
            constant(3, "uint8"),
            pads=[2, 1],
        ),
    ),
    "convGroups": (
        8,
        case(
            "ConvInteger",
            variable(1, 2, 3, 3, least=-128, most=127, kind="int8"),
            Constant(values=np.arange(8, dtype=np.int8).reshape(2, 1, 2, 2) - 3),
            group=2,
        ),
    ),
    "div": (6, case("Div", X, BOTH_SIGNS)),
    "divVariable": (6, case("Div", X, variable(3, least=-9, most=-1))),
    "equal": (6, case("Equal", variable(2, 3, least=0, most=2), constant([1]))),
    "flatten": (6, case("Flatten", X, axis=0)),
    "gather": (
        8,
        case("Gather", constant(np.arange(-6, 6).reshape(3, 4)), variable(2, least=-3, most=2)),
    ),
    "gatherAxis": (8, case("Gather", CUBE, variable(2, least=0, most=2), axis=2)),
    "gatherFixed": (8, case("Gather", CUBE, constant([2, 0]), axis=2)),
    "greater": (6, case("Greater", X, constant([5]))),
    "greaterOrEqual": (6, case("GreaterOrEqual", variable(2, 3, least=0, most=2), constant([1]))),
    "identity": (6, case("Identity", X)),
    "less": (6, case("Less", X, ROW)),
    "lessOrEqual": (6, case("LessOrEqual", variable(2, 3, least=0, most=2), constant([1]))),
    "matMul": (8, case("MatMul", CUBE, constant([[1, -300], [2, 70_000], [-3, 2**31]]))),
    "matMulStack": (8, case("MatMul", CUBE, variable(2, 3, 2))),
    "matMulVector": (2, case("MatMul", ROW, constant([[1, -2], [3, 4], [5, 6]]))),
    "matMulInteger": (
        4,
        case(
            "MatMulInteger",
            BYTES,
            constant([[1, 2], [3, 4], [5, 6]], "uint8"),
            constant(-3, "int8"),
            constant([1, 2], "uint8"),
        ),
    ),
    "max": (6, case("Max", X, ROW, constant([3]))),
    "min": (6, case("Min", X, COLUMN, constant([3]))),
    "modFloor": (6, case("Mod", X, BOTH_SIGNS)),
    "modTruncate": (6, case("Mod", X, BOTH_SIGNS, fmod=1)),
    "mul": (6, case("Mul", X, X)),
    "neg": (6, case("Neg", X)),
    "not": (6, case("Not", BITS)),
    "or": (6, case("Or", BITS, MORE_BITS)),
    "pad": (20, case("Pad", X, constant([1, 0, 1, 2]), constant(-7))),
    "reduceMax": (2, case("ReduceMax", X, constant([1]))),
    "reduceMin": (3, case("ReduceMin", X, constant([0]), keepdims=0)),
    "reduceSum": (2, case("ReduceSum", CUBE, constant([0, 2]))),
    "reduceMiddle": (6, case("ReduceSum", CUBE, constant([1]), keepdims=0)),
    "relu": (6, case("Relu", X)),
    "reshape": (6, case("Reshape", X, constant([3, 2]))),
    "sign": (6, case("Sign", variable(2, 3, least=-1, most=1))),
    "slice": (4, case("Slice", X, constant([2]), constant([-4]), constant([1]), constant([-2]))),
    "squeeze": (2, case("Squeeze", COLUMN, constant([1]))),
    "sub": (6, case("Sub", X, COLUMN)),
    "transpose": (12, case("Transpose", CUBE, perm=[2, 0, 1])),
    "unsqueeze": (6, case("Unsqueeze", X, constant([0]))),
    "where": (6, case("Where", BITS, X, ROW)),
}
"""Number of results, and an operator with its operands, by names of libraries."""


@pytest.fixture(scope="module")
def deployed() -> dict[str, tuple[NumericFile, DeployedModel]]:
    files = {f"Case_{name}": build_case(each, outputs) for name, (outputs, each) in CASES.items()}
    compiled = compile_models(files)
    return {
        name: (NumericFile(files[f"Case_{name}"]), DeployedModel(compiled[f"Case_{name}"]))
        for name in CASES
    }


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_of_the_file(
    name: str, deployed: dict[str, tuple[NumericFile, DeployedModel]]
) -> None:
    model, contract = deployed[name]
    for values in draw_inputs(model, INPUTS, seed=1):
        assert contract.run(values) == model.run(values), values


def test_every_operator_has_a_case() -> None:
    assert {each.operator for _, each in CASES.values()} == {*OPERATORS}

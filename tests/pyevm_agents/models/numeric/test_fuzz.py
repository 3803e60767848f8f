"""Each malformed file is refused, or is a model that computes within its proven ranges."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyevm_agents.models.numeric.errors import NumericModelError
from pyevm_agents.models.numeric.numeric_file import NumericFile
from tests.pyevm_agents.models.numeric.model_builder import Case, Variable, build_case, constant
from tests.pyevm_agents.models.numeric.mutated_files import build_operator, build_samples, mutate

if TYPE_CHECKING:
    from tests.samples import Sample


def run_edges(model: NumericFile, source: random.Random) -> None:
    """Evaluate at the ends of the ranges, and at random; each value is within its proven range."""
    graph = model.graph
    interval = graph.ranges[graph.output_name]
    for choose in (min, max, source.choice):
        values = [choose(ends) for ends in model.input_ranges]
        result = model.run(values)
        assert all(type(number) is int for number in result)
        assert len(result) == len(model.output_decimals)
        tensors = {**graph.constants, graph.input_name: np.array(values, dtype=np.int64)}
        for node in graph.nodes:
            output = np.asarray(node.kernel(*(tensors[name] for name in node.operands)))
            proven = graph.ranges[node.output]
            assert (proven.lows <= output).all()
            assert (output <= proven.highs).all()
            tensors[node.output] = output
        assert [*result] == tensors[graph.output_name].tolist()
        assert interval.least <= min(result)
        assert max(result) <= interval.most


@pytest.mark.sample(count=600, seed=24)
def test_no_file_is_a_fault(sample: Sample) -> None:
    source = random.Random(sample.seed)  # noqa: S311 - repeatable, no secret
    samples = build_samples()
    accepted = 0
    messages = []
    for _ in range(sample.count):
        is_mutated = source.random() < 0.7
        data = mutate(samples, source) if is_mutated else build_operator(source)
        try:
            model = NumericFile(data)
        except NumericModelError as error:
            messages.append(str(error))
        else:
            run_edges(model, source)
            accepted += 1
    assert [each for each in messages if len(each) > 2_000 or not each.isprintable()] == []
    assert accepted > sample.count // 50
    assert len(messages) > sample.count // 3
    sample.figures.update(accepted=accepted, refused=len(messages))


@pytest.mark.parametrize(
    "shapes", [((3,), (3, 1)), ((3, 1), (3,)), ((1, 3), (1, 1, 3)), ((3,), ())]
)
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_tensors_of_different_ranks_are_not_joined(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], axis: int
) -> None:
    operands = (
        Variable(type="int64", shape=shapes[0], least=0, most=1),
        constant(np.ones(shapes[1])),
    )
    case = Case(operator="Concat", operands=operands, attributes={"axis": axis})
    with pytest.raises(NumericModelError, match=r"Concat|concat"):
        NumericFile(build_case(case, 6))

"""The models of the benchmark are files that the reader takes, at the sizes that they are for."""

from __future__ import annotations

import pytest

from pyevm_agents.bench.numeric.cases import MODELS, QUICK_MODELS, SLOW_MODELS, open_models
from pyevm_agents.bench.numeric.model_files import MAKERS, ModelWriter
from pyevm_agents.models.numeric import SHIPPED, NumericFile, open_shipped

LEAST_OPERATIONS = {
    "convolution": 7_000_000, "product": 10_000_000, "grid": 10_000_000,
    "divisions": 19_000_000, "transposition": 27_000_000, "lookups": 65_000_000,
    "reductions": 24_000_000, "clips": 18_000_000, "small-products": 7_000_000,
}  # fmt: skip
"""A million operations or more, of which a transaction has few calls."""


@pytest.mark.parametrize("name", MAKERS)
def test_a_model_is_read_and_evaluated(name: str) -> None:
    model = NumericFile(MAKERS[name]())
    ends = [least for least, _ in model.input_ranges], [most for _, most in model.input_ranges]
    for values in ends:
        assert len(model.run(values)) == len(model.output_decimals)
    assert model.operations >= LEAST_OPERATIONS.get(name, 1)


def test_every_model_has_a_case() -> None:
    assert {*MODELS, *SLOW_MODELS, "largest"} == {*MAKERS, *SHIPPED}
    assert {*QUICK_MODELS} <= {*MODELS}


def test_the_shipped_models_are_those_of_their_files() -> None:
    opened = open_models({"sum", *SHIPPED})
    assert {*opened} == {"sum", *SHIPPED}
    for name in SHIPPED:
        assert opened[name].digest == open_shipped(name).digest


def test_a_model_is_the_same_each_time() -> None:
    assert MAKERS["trees"]() == MAKERS["trees"]()


def test_the_largest_models_are_at_the_limits() -> None:
    largest = NumericFile(MAKERS["largest"]())
    assert (len(largest.input_decimals), len(largest.output_decimals)) == (1_024, 1_024)
    assert len(NumericFile(MAKERS["nodes"]()).graph.nodes) == 1_024


def test_a_written_model_computes_what_was_written() -> None:
    writer = ModelWriter(2, least=-5, most=5)
    total = writer.add("ReduceSum", "x", keepdims=1)
    model = NumericFile(writer.finish(writer.add("Mul", total, writer.store([3]))))
    assert model.run([4, -5]) == (-3,)
    assert model.input_ranges == ((-5, 5), (-5, 5))

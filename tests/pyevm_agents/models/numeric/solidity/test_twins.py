"""The Solidity of a model gives the numbers of its file: in forge's EVM and in ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.models.numeric import NumericFile
from tests.contracts.plain_evm import RevertedError
from tests.pyevm_agents.models.numeric.solidity.twins import (
    CODE_LIMIT,
    NAMES,
    SHIPPED,
    CompiledModel,
    DeployedModel,
    build_project,
    compile_models,
    draw_inputs,
    get_file,
    run_forge,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.samples import Sample

pytestmark = pytest.mark.slow

FEWEST = 20
"""Inputs of the models that take the most gas."""


@pytest.fixture(scope="module")
def compiled() -> dict[str, CompiledModel]:
    names = (*NAMES, *SHIPPED)
    models = compile_models({f"Model{name}": get_file(name) for name in names})
    assert max(each.runtime_bytes for each in models.values()) < CODE_LIMIT
    return {name: models[f"Model{name}"] for name in names}


@pytest.fixture(scope="module")
def deployed(compiled: dict[str, CompiledModel]) -> dict[str, DeployedModel]:
    return {name: DeployedModel(each) for name, each in compiled.items()}


@pytest.mark.sample(count=2_000, seed=24)
def test_our_evm_computes_the_numbers_of_the_file(
    deployed: dict[str, DeployedModel], sample: Sample
) -> None:
    """Of the inputs, models that take less gas get more."""
    costs = {name: NumericFile(get_file(name)).operations for name in deployed}
    whole = sum(1 / cost**2 for cost in costs.values())
    for name, cost in costs.items():
        model = NumericFile(get_file(name))
        count = max(FEWEST, round(sample.count / cost**2 / whole))
        for values in draw_inputs(model, count, sample.seed):
            assert deployed[name].run(values) == model.run(values), (name, values)
        sample.figures[name] = count


@pytest.mark.sample(count=300, seed=24)
def test_forge_computes_the_numbers_of_the_file(
    compiled: dict[str, CompiledModel], sample: Sample, tmp_path: Path
) -> None:
    """Outputs are compared by the hash of all of them; `count` inputs of each model."""
    compare_in_forge({name: compiled[name] for name in NAMES}, sample, tmp_path)


@pytest.mark.sample(count=300, seed=24)
def test_forge_computes_the_numbers_of_shipped_models(
    compiled: dict[str, CompiledModel], sample: Sample, tmp_path: Path
) -> None:
    compare_in_forge({name: compiled[name] for name in SHIPPED}, sample, tmp_path)


def compare_in_forge(models: dict[str, CompiledModel], sample: Sample, folder: Path) -> None:
    project = build_project(folder / "project")
    for name, each in models.items():
        gas = run_forge(project, each, get_file(name), sample.count, sample.seed)
        sample.figures[f"gas a call of {name}"] = gas // sample.count


def test_the_contract_refuses_inputs_that_the_proof_does_not_cover(
    deployed: dict[str, DeployedModel],
) -> None:
    model = NumericFile(get_file("linear"))
    values = [least for least, _ in model.input_ranges]
    with pytest.raises(RevertedError):
        deployed["linear"].run([values[0] - 1, *values[1:]])
    with pytest.raises(RevertedError):
        deployed["linear"].run(values[1:])

"""A development chain with numeric models beside its language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.chain import Call
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import ScriptedModel
from tests.numeric_model import MODELS, SumModel, run_call

if TYPE_CHECKING:
    from pyevm_agents.models import Vocabulary


def test_a_development_chain_has_numeric_models(vocabulary: Vocabulary) -> None:
    model = ScriptedModel([], vocabulary=vocabulary)
    chain = create_development_chain(
        model,
        vocabulary.profile_facts,
        schedule=ScheduleFile(numeric_schedule={"operations_per_gas": 41}),
        numeric_models={"sum": SumModel()},
    )
    result = chain.call(Call(to=MODELS, data=run_call((50, 7, -3))))
    assert result.error is None
    assert chain.config.numeric_schedule.operations_per_gas == 41
    assert len(chain.config.models) == 1
    with pytest.raises(ConfigError, match="two models are called 'default'"):
        create_development_chain(
            model, vocabulary.profile_facts, numeric_models={"default": SumModel()}
        )

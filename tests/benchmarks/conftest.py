"""Tasks run by script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.task_bench import TaskBench
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.task_bench import TaskRun
    from pyevm_agents.models import Vocabulary
    from pyevm_agents.models.fakes.script_steps import Step
    from training.tasks import Task


@pytest.fixture
def play(vocabulary: Vocabulary) -> Callable[..., TaskRun]:
    """Run a task on a chain of its own, with a model that generates these steps."""

    def run(task: Task, *steps: Step) -> TaskRun:
        model = ScriptedModel(steps, vocabulary=vocabulary)
        facts = model.profile_facts
        return TaskBench(create_funded_chain(model, facts, build_model_profile(facts))).run(task)

    return run

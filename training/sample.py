"""Tasks from a seed, for training or held out for measuring."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from training.agents import make_agent
from training.compose import make_task
from training.kinds import CALIBRATION, HELD_OUT, SEEN
from training.kinds.composed import COMPOSED_SHARE, composed
from training.tasks import CATEGORIES, Category

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from training.patterns import Kind
    from training.tasks import Task

TRAINING_SHARES: Mapping[Category, int] = {
    "one step": 38,
    "several steps": 26,
    "no tool": 24,
    "tool fails": 5,
    "injection": 7,
}
"""Percentages of the categories in training."""

TRIES = 20
"""Number of agents or requests tried until one allows a task."""


def training_groups(seed: int, *, requests: int) -> Iterator[tuple[Task, ...]]:
    """Generate tasks endlessly, in groups with the same agent.

    Input:  maximum number of tasks in a group.
    """
    rng = random.Random(f"training {seed}")
    categories, weights = [*TRAINING_SHARES], [*TRAINING_SHARES.values()]
    while True:
        kind = composed(rng) if rng.random() < COMPOSED_SHARE else rng.choice(SEEN)
        agent = make_agent(kind, SEEN, rng)
        tasks: dict[str, Task] = {}
        for _ in range(requests):
            category = rng.choices(categories, weights)[0]
            task = make_task(agent, category, rng, measures=False, others=SEEN)
            if task is not None:
                tasks[task.question] = task
        # An order in a tool's description makes another system text.
        same = tuple(task for task in tasks.values() if task.tools == agent.task_tools)
        if same:
            yield same
        yield from ((task,) for task in tasks.values() if task.tools != agent.task_tools)


def calibration(count: int, seed: int = 0) -> Iterator[Task]:
    """Generate tasks for calibrating the gate, of families neither trained on nor measured."""
    rng = random.Random(f"calibration {seed}")
    for number in range(count):
        yield _one(CALIBRATION, CATEGORIES[number % len(CATEGORIES)], rng)


def held_out(count: int, seed: int = 0) -> Iterator[Task]:
    """Generate tasks for measuring: equally many of each category, of seen and of held-out kinds.

    Tasks of seen kinds have held-out wordings.
    """
    rng = random.Random(f"held out {seed}")
    for number in range(count):
        kinds = SEEN if number % 2 == 0 else HELD_OUT
        category = CATEGORIES[number // 2 % len(CATEGORIES)]
        yield _one(kinds, category, rng)


def _one(kinds: Sequence[Kind], category: Category, rng: random.Random) -> Task:
    for _ in range(TRIES):
        agent = make_agent(rng.choice(kinds), kinds, rng)
        for _ in range(TRIES):
            task = make_task(agent, category, rng, measures=True, others=kinds)
            if task is not None:
                return task
    raise RuntimeError(f"no agent of {[kind.name for kind in kinds]} allows a task of {category!r}")

"""Tasks whose tools have nonsense for names, so that a model can choose by descriptions alone.

Parameters keep their names, and all texts are as they were: a few questions and descriptions use a
tool's former name as a word. Some descriptions state only a condition ("Needs the role's admin"),
so that no model can reach 100 %.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from training.tasks import Task

CONSONANTS, VOWELS, ENDS = "bdfgklmnprstvz", "aiou", "bkvz"
"""Letters of nonsense: no word of English or Solidity has three of its syllables and this end."""

SYLLABLES = 3

SUFFIX = ", nonsense names"
"""Follows a contender's name in tables."""


def rename_tools(task: Task, seed: int) -> Task:
    """Return a task with nonsense for its tools' names, each another.

    The names are a function of the seed and of the task's question and tools.
    """
    olds = [tool.name for tool in task.tools]
    rng = random.Random(f"nonsense names {seed} {task.question} {olds}")  # noqa: S311 - by its seed
    taken = {word.lower() for word in re.findall(r"\w+", f"{task.question} {task.base_prompt}")}
    names: dict[str, str] = {}
    for old in olds:
        names[old] = draw_name(rng, taken)
        taken.add(names[old])
    return replace(
        task,
        tools=tuple(replace(tool, name=names[tool.name]) for tool in task.tools),
        steps=tuple(replace(step, tool=names[step.tool]) for step in task.steps),
        injected=None if task.injected is None else names[task.injected],
    )


def draw_name(rng: random.Random, taken: set[str]) -> str:
    """Return a word that means nothing and is not taken."""
    while (name := _make_word(rng)) in taken:
        pass
    return name


def _make_word(rng: random.Random) -> str:
    """Return a word such as `mofiruk`."""
    syllables = (rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(SYLLABLES))
    return "".join(syllables) + rng.choice(ENDS)

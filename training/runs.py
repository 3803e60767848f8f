"""Rendering of a task's correct run with the functions of `precompiles/`: prompts and generations.

The format is not defined here, so this follows any change of the rules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_typing import Address

from precompiles.abi import FinalAnswer, IterationRequest
from precompiles.address_handles import AddressBook
from precompiles.grammar import build_grammar
from precompiles.react import build_prompt, parse, parse_history
from precompiles.tool_metadata import Tool
from pyevm_agents.models.fakes.script_steps import AnswerStep, ToolStep, render_step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import ModelProfile, Segment
    from training.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A step of a run: prompt, grammar and generation."""

    segments: tuple[Segment, ...]
    grammar: str
    text: str


def turns(task: Task, profile: ModelProfile) -> Iterator[Turn]:
    """Iterate over the steps of a task's correct run, ending with the answer.

    Raises: GrammarViolationError: a step does not follow the rules.
            ValueError: the rules parse a step differently than intended.
    """
    tools = tuple(
        Tool(
            address=Address(index.to_bytes(20, "big")),
            name=tool.name,
            description=tool.description,
            parameters=tool.parameters,
        )
        for index, tool in enumerate(task.tools, start=1)
    )
    reasonings: list[str] = []
    results: list[str] = []
    for step in (*task.steps, None):
        request = IterationRequest(
            model_id="",
            base_prompt=task.base_prompt,
            tools=tuple(tool.address for tool in tools),
            agent_reasoning=tuple(reasonings),
            tool_results=tuple(results),
            prompt=task.question,
        )
        book = AddressBook(request.base_prompt, [request.prompt, *results])
        segments = build_prompt(request, parse_history(request), tools, book, profile)
        if step is None:
            said = render_step(AnswerStep(answer=task.answer, thought=task.thought), book.handles)
        else:
            said = render_step(
                ToolStep(tool=step.tool, thought=step.thought, arguments=step.arguments),
                book.handles,
            )
        grammar = build_grammar(tools, [handle for handle, _ in book.handles])
        yield Turn(segments=segments, grammar=grammar, text=said)
        meant = parse(said, tools, book)
        if step is None or isinstance(meant, FinalAnswer):
            return
        wanted = [list(v) if isinstance(v, tuple) else v for v in step.arguments.values()]
        if json.dumps(list(meant.values)) != json.dumps(wanted):
            raise ValueError(f"{said!r} parses to {meant.values}: must be {wanted}")
        reasonings.append(meant.agent_reasoning)
        results.append(step.observation)

"""A task's right run as the precompile would have it: prompts and words, by its own functions.

Whatever the rules of `precompiles/` become, this renders: nothing of the format is written here.
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
    """One step of a run: what the model reads, what it may say, and what it says."""

    segments: tuple[Segment, ...]
    grammar: str
    text: str


def turns(task: Task, profile: ModelProfile) -> Iterator[Turn]:
    """Walk the steps of a task's right run, the answer last.

    Raises: GrammarViolationError: a step is not one that the rules admit.
            ValueError: the rules read another step than was meant.
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
            raise ValueError(f"{said!r} means {meant.values}, and {wanted} was wanted")
        reasonings.append(meant.agent_reasoning)
        results.append(step.observation)

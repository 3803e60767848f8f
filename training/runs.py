"""Rendering of a task's correct run with the functions of `precompiles/`: prompts and generations.

The format is not defined here, so this follows any change of the rules. A step that the rules
decide has their text; a task for which they decide otherwise has no run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_typing import Address

from precompiles.abi import FinalAnswer, IterationRequest
from precompiles.address_handles import AddressBook
from precompiles.decoding_rules import DecodingRules
from precompiles.executor import choose_format
from precompiles.react import build_prompt, parse, parse_history
from precompiles.short_format.step import (
    DONE_ANSWER,
    FAILED_ANSWER,
    REFUSAL,
    ShortFormat,
)
from precompiles.stated_values import limit_tools
from precompiles.tool_metadata import Tool
from pyevm_agents.models.fakes.script_steps import AnswerStep, ToolStep, render_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from precompiles.abi import ToolUse
    from precompiles.free_format import StepFormat
    from precompiles.language_model import ModelProfile, Segment
    from precompiles.react import HistoryStep
    from training.tasks import Task, TaskStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A step of a run: prompt, grammar and generation."""

    segments: tuple[Segment, ...]
    grammar: str
    text: str
    is_decided: bool
    """Whether the rules decide it, so that no model is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyStep:
    """A step of a task before its generation, as the executor prepares it."""

    segments: tuple[Segment, ...]
    grammar: str
    tools: tuple[Tool, ...]
    book: AddressBook
    steps: tuple[HistoryStep, ...]
    form: StepFormat

    def parse(self, text: str) -> ToolUse | FinalAnswer:
        """Parse a text.

        Raises: GrammarViolationError: the grammar does not admit the text.
        """
        if isinstance(self.form, ShortFormat):
            return self.form.parse(text)
        return parse(text, self.tools, self.book)


def prepare_step(
    task: Task,
    tools: tuple[Tool, ...],
    reasonings: Sequence[str],
    results: Sequence[str],
    profile: ModelProfile,
) -> ReadyStep:
    """Prepare the step of a task after a history, with the tools of `build_tools`."""
    request = IterationRequest(
        model_id="",
        base_prompt=task.base_prompt,
        tools=tuple(tool.address for tool in tools),
        agent_reasoning=tuple(reasonings),
        tool_results=tuple(results),
        prompt=task.question,
    )
    book = AddressBook(request.base_prompt, [request.prompt, *results])
    steps = parse_history(request)
    rules = DecodingRules.parse(profile.decoding)
    if rules.stated_values:
        tools = limit_tools(tools)
    form = choose_format(rules, request, steps, tools, book)
    return ReadyStep(
        segments=build_prompt(request, steps, tools, book, profile),
        grammar=form.grammar,
        tools=tools,
        book=book,
        steps=steps,
        form=form,
    )


def turns(task: Task, profile: ModelProfile) -> Iterator[Turn]:
    """Iterate over the steps of a task's correct run, ending with the answer.

    Raises: GrammarViolationError: a step does not follow the rules.
            ValueError: the rules decide or parse a step differently than intended.
    """
    tools = build_tools(task)
    reasonings: list[str] = []
    results: list[str] = []
    for step in (*task.steps, None):
        ready = prepare_step(task, tools, reasonings, results, profile)
        if isinstance(ready.form, ShortFormat):
            said = _render_short(task, step, ready.form, ready.book)
        else:
            said = _render_free(task, step, ready.book)
        meant = ready.parse(said)
        if step is None and not isinstance(meant, FinalAnswer):
            raise ValueError(f"the rules decide {said!r}: must be an answer")
        if step is not None:
            reasonings.append(_check_call(step, meant, tools, said))
            results.append(step.observation)
        yield Turn(
            segments=ready.segments,
            grammar=ready.grammar,
            text=said,
            is_decided=bool(ready.form.decided),
        )


def _check_call(
    step: TaskStep, meant: ToolUse | FinalAnswer, tools: Sequence[Tool], said: str
) -> str:
    """Return the reasoning of a call of a step's tool with its arguments.

    Raises: ValueError: it is another call, or none.
    """
    wanted = [list(v) if isinstance(v, tuple) else v for v in step.arguments.values()]
    tool = None if isinstance(meant, FinalAnswer) else meant.tool
    name = next((one.name for one in tools if one.address == tool), None)
    if (
        isinstance(meant, FinalAnswer)
        or name != step.tool
        or json.dumps(list(meant.values)) != json.dumps(wanted)
    ):
        raise ValueError(f"the rules decide or parse {said!r}: must be {step.tool} {wanted}")
    return meant.agent_reasoning


def build_tools(task: Task) -> tuple[Tool, ...]:
    """Return a task's tools as the executor reads them from contracts."""
    return tuple(
        Tool(
            address=Address(index.to_bytes(20, "big")),
            name=tool.name,
            description=tool.description,
            parameters=tool.parameters,
        )
        for index, tool in enumerate(task.tools, start=1)
    )


def _render_free(task: Task, step: TaskStep | None, book: AddressBook) -> str:
    if step is None:
        return render_step(AnswerStep(answer=task.answer, thought=task.thought), book.handles)
    use = ToolStep(tool=step.tool, thought=step.thought, arguments=step.arguments)
    return render_step(use, book.handles)


def _render_short(task: Task, step: TaskStep | None, form: ShortFormat, book: AddressBook) -> str:
    """Return the text of a step: that of the rules, or the model's choice.

    Raises: ValueError: the run ends here, and the rules end it otherwise.
    """
    if step is None and task.steps:
        end = FAILED_ANSWER if task.steps[-1].is_failure else DONE_ANSWER
        if not form.decided.endswith(f"\nFinal Answer: {end}"):
            raise ValueError(f"the rules decide {form.decided!r}: must end with {end}")
    if form.decided:
        return form.decided
    if step is None:
        return f" {form.thought}\nFinal Answer: {_find_refusal(task, book)}"
    use = ToolStep(tool=step.tool, thought=form.thought, arguments=step.arguments)
    return render_step(use, book.handles)


def _find_refusal(task: Task, book: AddressBook) -> str:
    """Return the answer of a task without steps: its own if it is a line of the base prompt."""
    is_sentence = task.answer in task.base_prompt.splitlines()
    return book.intern(task.answer) if is_sentence else REFUSAL

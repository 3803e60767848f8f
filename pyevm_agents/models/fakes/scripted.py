"""A model without weights that says what a test or a demonstration tells it to.

    model = ScriptedModel([
        use("DeployTool", thought="Deploy first.", asset="0x5FbD…", amount=10**18),
        answer("Done."),
    ])

What it says goes through the grammar of the prompt and is counted in the tokens of a real
vocabulary, so whatever it says a real model could have said, at the same gas.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from precompiles.language_model import Generation, Segment
from pyevm_agents.display import counted
from pyevm_agents.errors import ConfigError, ScriptError
from pyevm_agents.models.closeable import Closing
from pyevm_agents.models.fakes.parsed_request import INTEGER_TYPES, admitted_or_none, asked
from pyevm_agents.models.fakes.script_errors import offer, reasons
from pyevm_agents.models.fakes.script_steps import (
    STEP_TYPES,
    AnswerStep,
    Argument,
    RepeatedStep,
    Step,
    ToolStep,
    UncheckedStep,
    answer,
    described,
    render,
    use,
    with_numbers,
)
from pyevm_agents.models.llama.model import GgufModel, Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models.fakes.parsed_request import AdmittedTool, Asked
    from pyevm_agents.models.llama.identity import ProfileFacts

__all__ = [
    "AnswerStep",
    "Argument",
    "Counting",
    "Script",
    "ScriptedModel",
    "Step",
    "ToolStep",
    "answer",
    "render",
    "use",
]

Script: TypeAlias = "Sequence[Step] | Callable[[GenerationRequest], Step]"

SHOWN_PROMPT_CHARACTERS = 400
"""How much of a prompt's end a message shows."""

SHOWN_QUESTION_CHARACTERS = 80


@runtime_checkable
class Counting(Protocol):
    """A model without weights, which counts its words in the tokens of another one."""

    @property
    def vocabulary(self) -> GgufModel:
        """Whose tokens they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Which step of a list a prompt was told."""

    index: int
    where: str


class ScriptedModel(Closing):
    """A model that follows a script. Implements `LanguageModel`.

    A script is a list, said step by step, or a function of the request. A list says the same step
    to the same place: the step of a run, by its number, of an agent that was asked the same in the
    same words. So a gas estimate, the transaction and a call after it use a list's step once,
    whatever the tools answered each time, and only a place not seen before takes the next one.
    """

    def __init__(
        self,
        script: Script,
        *,
        vocabulary: GgufModel | Path | str | None = None,
        context_tokens: int | None = None,
    ) -> None:
        """Take a script.

        Input:
            script: steps, or a function that returns one.
            vocabulary: whose tokens are counted, and whose facts a chain's rules take: a GGUF file,
                None for the default model's (and its adapter's, if one is installed), or an open
                `Vocabulary` or `LlamaModel`, which then stays the caller's to close.

        Raises:
            ConfigError: the file is unfit, or the script is neither.
        """
        require_script(script)
        self._script = script
        self._owns_vocabulary = not isinstance(vocabulary, GgufModel)
        self.vocabulary = (
            vocabulary
            if isinstance(vocabulary, GgufModel)
            else Vocabulary(vocabulary, context_tokens=context_tokens)
        )
        self._places: dict[tuple[object, int], _Place] = {}
        self._said_steps = 0
        self._lock = threading.Lock()

    @property
    def profile_facts(self) -> ProfileFacts:
        """The facts of the model whose vocabulary is used."""
        return self.vocabulary.profile_facts

    @property
    def remaining_steps(self) -> int | None:
        """How many steps of a list nobody asked for yet; None for a function."""
        if callable(self._script):
            return None
        return len(self._script) - self._said_steps

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.vocabulary.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Say the script's step for this prompt, in canonical tokens, by at most `max_tokens`.

        An end-of-generation token follows where a real model would need one. `forced_tokens` counts
        those canonical tokens that the grammar left no choice about. A tool's arguments are said in
        the order of its parameters.

        Raises:
            ScriptError: the script is used up, or the grammar does not admit the step; the message
                shows what it would admit.
        """
        step, name = self._step(request)
        tool = _tool_of(step, request.grammar)
        if tool is not None:
            integers = [one.name for one in tool.parameters if one.param_type in INTEGER_TYPES]
            step = with_numbers(step, integers)
        try:
            return self._say(step, request, tool)
        except ScriptError as error:
            raise ScriptError(_refusal(name, step, request, error)) from error

    def report(self) -> str:
        """Return what was said of a list, and what is left, in lines; empty for a function."""
        if callable(self._script):
            return ""
        with self._lock:
            places = [*self._places.values()]
        said = [
            f"  {one.index + 1}. {described(self._script[one.index])} for {one.where}"
            for one in places
        ]
        left = [
            f"  {index + 1}. {described(step)}"
            for index, step in enumerate(self._script)
            if index >= self._said_steps
        ]
        return "\n".join(["Said:", *(said or ["  nothing"]), "Left:", *(left or ["  nothing"])])

    def close(self) -> None:
        """End the vocabulary's process, if this model started it."""
        if self._owns_vocabulary:
            self.vocabulary.close()

    def _step(self, request: GenerationRequest) -> tuple[Step, str]:
        """Return what is to be said, and what a message calls it."""
        script = self._script
        if callable(script):
            step = script(request)
            if not isinstance(step, STEP_TYPES):
                raise ScriptError(
                    f"The function that is the script returned {step!r} for "
                    f"{where(asked(request))}; return a step, such as `answer(...)`"
                )
            return step, "The step"
        place = self._place(script, asked(request), request)
        return script[place], f"Step {place + 1} of the script,"

    def _place(self, script: Sequence[Step], question: Asked, request: GenerationRequest) -> int:
        """Return the index of the step for a prompt; a place not seen before takes the next one."""
        key = (question.opening, question.step)
        with self._lock:
            place = self._places.get(key)
            if place is None:
                index = self._said_steps
                if index and index == len(script) and isinstance(script[-1], RepeatedStep):
                    index -= 1
                if index < len(script):
                    place = _Place(index=index, where=where(question))
                    self._places[key] = place
                    self._said_steps = index + 1
        if place is None:
            raise ScriptError(
                f"The script has {counted(len(script), 'step')} and all were said; "
                f"{where(question)} asked for another: add a step.\n{self.report()}\n"
                f"{circumstances(request)}"
            )
        return place.index

    def _say(self, step: Step, request: GenerationRequest, tool: AdmittedTool | None) -> Generation:
        spoken = step.step if isinstance(step, RepeatedStep) else step
        order = () if tool is None else tuple(one.name for one in tool.parameters)
        text = render(spoken, request.handles, order=order)
        try:
            return self.vocabulary.follow(text, request)
        except ScriptError:
            if not isinstance(spoken, UncheckedStep):
                raise
        tokens = self.vocabulary.tokenize((Segment(text=text),))
        return Generation(
            text=text,
            tokens=tokens[: request.max_tokens],
            forced_tokens=0,
            is_complete=len(tokens) <= request.max_tokens,
        )


def circumstances(request: GenerationRequest) -> str:
    """Return what a prompt admits and how it ends, in lines, for messages about a script."""
    prompt = asked(request).text
    end = prompt[-SHOWN_PROMPT_CHARACTERS:]
    if len(end) < len(prompt):
        end = end.partition("\n")[2] or end
    lines = [offer(request), "The prompt ends:", *(f"  {line}" for line in end.split("\n"))]
    return "\n".join(line for line in lines if line)


def require_script(script: object) -> None:
    """Refuse what is no script.

    Raises:
        ConfigError: it is neither a list of steps nor a function.
    """
    if callable(script):
        return
    if isinstance(script, str) or not isinstance(script, Sequence):
        raise ConfigError(
            f"A script is a list of steps or a function that returns one, not {script!r}"
        )
    for index, step in enumerate(script):
        if not isinstance(step, STEP_TYPES):
            raise ConfigError(
                f"Step {index + 1} of the script is {step!r}; a step is a text, `use(...)`, "
                "`answer(...)`, `again(...)` or `unchecked(...)`"
            )
        if isinstance(step, RepeatedStep) and index < len(script) - 1:
            raise ConfigError(
                f"Step {index + 1} of {len(script)} is {described(step)}, which never ends; put it "
                "last"
            )


def _tool_of(step: Step, grammar: str) -> AdmittedTool | None:
    """Return the tool that a step uses; None where it uses none, or none that is known."""
    spoken = step.step if isinstance(step, RepeatedStep) else step
    if not isinstance(spoken, ToolStep):
        return None
    known = admitted_or_none(grammar)
    return None if known is None else known.tool(spoken.tool)


def _refusal(name: str, step: Step, request: GenerationRequest, error: Exception) -> str:
    found = reasons(step, request)
    why = "; ".join(found) if found else str(error)
    if isinstance(step, str) and not step.startswith(" "):
        why += (
            "; a plain text is said as it stands, after the prompt's 'Thought:': did you mean "
            f"answer({described(step)}), or use({described(step)}, …)?"
        )
    return (
        f"{name} {described(step)} can't be said for {where(asked(request))}: {why}\n"
        f"{circumstances(request)}"
    )


def where(question: Asked) -> str:
    """Return in words which prompt it is, such as `step 2 of 'Deposit 10 USDC'`."""
    text = question.question
    shown = (
        text if len(text) <= SHOWN_QUESTION_CHARACTERS else f"{text[:SHOWN_QUESTION_CHARACTERS]}…"
    )
    return f"step {question.step} of {shown!r}"

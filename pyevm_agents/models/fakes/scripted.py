"""A model without weights that generates the steps of a script.

    model = ScriptedModel([
        use("DeployTool", thought="Deploy first.", asset="0x5FbD…", amount=10**18),
        answer("Done."),
    ])

The steps pass the prompt's grammar and are counted in tokens of a real vocabulary: a real model
could generate the same texts at the same gas.

Source: docs/architecture.md#models-without-weights
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from precompiles.language_model import Generation, Segment
from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError, ScriptError
from pyevm_agents.models.closeable import Closeable
from pyevm_agents.models.fakes.parsed_request import INTEGER_TYPES, parse_prompt, try_parse_grammar
from pyevm_agents.models.fakes.script_errors import describe_allowed_steps, find_step_errors
from pyevm_agents.models.fakes.script_steps import (
    STEP_TYPES,
    AnswerStep,
    Argument,
    RepeatedStep,
    Step,
    ToolStep,
    UncheckedStep,
    answer,
    convert_numerals,
    describe_step,
    render_step,
    use,
)
from pyevm_agents.models.llama.model import GgufModel, Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models.fakes.parsed_request import AllowedTool, ParsedPrompt
    from pyevm_agents.models.llama.identity import ProfileFacts

__all__ = [
    "AnswerStep",
    "Argument",
    "HasVocabulary",
    "Script",
    "ScriptedModel",
    "Step",
    "ToolStep",
    "answer",
    "render_step",
    "use",
]

Script: TypeAlias = "Sequence[Step] | Callable[[GenerationRequest], Step]"

SHOWN_PROMPT_CHARACTERS = 400
"""Characters at a prompt's end that a message quotes."""

SHOWN_QUESTION_CHARACTERS = 80


@runtime_checkable
class HasVocabulary(Protocol):
    """A model without weights that counts tokens with another model's vocabulary."""

    @property
    def vocabulary(self) -> GgufModel:
        """The model whose vocabulary is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScriptPosition:
    """The index of a script's step, and the place in a run where the step answers."""

    index: int
    location: str


class ScriptedModel(Closeable):
    """A model that follows a script. Implements `LanguageModel`.

    A script is a list of steps or a function of the request. A list returns the same step for the
    same place: the same step number of a run with the same base prompt, tools and prompt. Hence a
    gas estimate, the transaction and a later call use up a step once, whatever the tools returned
    each time. Only a new place uses the next step.
    """

    def __init__(
        self,
        script: Script,
        *,
        vocabulary: GgufModel | Path | str | None = None,
        context_tokens: int | None = None,
    ) -> None:
        """Create a model.

        Input:
            script: a list of steps, or a function that returns one.
            vocabulary: the model whose tokens are counted and whose facts go into the chain
                configuration: a GGUF file, None for the default model's (with the adapter, if one
                    is installed), or an open `Vocabulary` or `LlamaModel`, which the caller closes.
            context_tokens: context length; None for the model's own.

        Raises:
            ConfigError: the file is invalid, or the script is neither a list nor a function.
        """
        require_script(script)
        self._script = script
        self._owns_vocabulary = not isinstance(vocabulary, GgufModel)
        self.vocabulary = (
            vocabulary
            if isinstance(vocabulary, GgufModel)
            else Vocabulary(vocabulary, context_tokens=context_tokens)
        )
        self._positions: dict[tuple[object, int], _ScriptPosition] = {}
        self._used_steps = 0
        self._lock = threading.Lock()

    @property
    def profile_facts(self) -> ProfileFacts:
        """Profile facts of the model whose vocabulary is used."""
        return self.vocabulary.profile_facts

    @property
    def remaining_steps(self) -> int | None:
        """Number of unused steps of a list; None for a function."""
        if callable(self._script):
            return None
        return len(self._script) - self._used_steps

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.vocabulary.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Generate the script's step for this prompt, in canonical tokens, up to `max_tokens`.

        An end-of-generation token follows where a real model would need one. `forced_tokens` counts
        the canonical tokens for which the grammar left no choice. A tool's arguments follow the
        order of the parameters. Under a profile with the short format, the step has the free one.

        Raises:
            ScriptError: the script is used up, or the grammar does not admit the step. The message
                lists the admitted steps.
        """
        generation = self._generate_free(request.to_free_format())
        return generation if request.scoring is None else replace(generation, is_free=True)

    def _generate_free(self, request: GenerationRequest) -> Generation:
        step, name = self._next_step(request)
        tool = _find_tool(step, request.grammar)
        if tool is not None:
            integers = [
                parameter.name
                for parameter in tool.parameters
                if parameter.param_type in INTEGER_TYPES
            ]
            step = convert_numerals(step, integers)
        try:
            return self._generate_step(step, request, tool)
        except ScriptError as error:
            raise ScriptError(_describe_refusal(name, step, request, error)) from error

    def report(self) -> str:
        """Return the used and unused steps of a list, in lines; empty for a function."""
        if callable(self._script):
            return ""
        with self._lock:
            places = [*self._positions.values()]
        past_lines = [
            f"  {place.index + 1}. {describe_step(self._script[place.index])} for {place.location}"
            for place in places
        ]
        left = [
            f"  {index + 1}. {describe_step(step)}"
            for index, step in enumerate(self._script)
            if index >= self._used_steps
        ]
        return "\n".join(["Used:", *(past_lines or ["  none"]), "Unused:", *(left or ["  none"])])

    def copy(self) -> ScriptedModel:
        """Return a model at the same step of the same script, with this one's vocabulary."""
        model = ScriptedModel(self._script, vocabulary=self.vocabulary)
        with self._lock:
            model._positions = dict(self._positions)
            model._used_steps = self._used_steps
        return model

    def close(self) -> None:
        """Stop the vocabulary's process, if this model started it."""
        if self._owns_vocabulary:
            self.vocabulary.close()

    def _next_step(self, request: GenerationRequest) -> tuple[Step, str]:
        """Return the step for a request, and the step's name in error messages."""
        script = self._script
        if callable(script):
            step = script(request)
            if not isinstance(step, STEP_TYPES):
                raise ScriptError(
                    f"The script's function returned {step!r} for "
                    f"{describe_location(parse_prompt(request))}; "
                    "return a step, such as `answer(...)`"
                )
            return step, "The step"
        place = self._find_step_index(script, parse_prompt(request), request)
        return script[place], f"Step {place + 1} of the script,"

    def _find_step_index(
        self, script: Sequence[Step], question: ParsedPrompt, request: GenerationRequest
    ) -> int:
        """Return the index of the step for a prompt; a new place uses the next one."""
        key = (question.opening, question.step)
        with self._lock:
            place = self._positions.get(key)
            if place is None:
                index = self._used_steps
                if index and index == len(script) and isinstance(script[-1], RepeatedStep):
                    index -= 1
                if index < len(script):
                    place = _ScriptPosition(index=index, location=describe_location(question))
                    self._positions[key] = place
                    self._used_steps = index + 1
        if place is None:
            raise ScriptError(
                f"The script has {pluralize(len(script), 'step')} and all are used; "
                f"{describe_location(question)} needs another: add a step.\n{self.report()}\n"
                f"{describe_prompt(request)}"
            )
        return place.index

    def _generate_step(
        self, step: Step, request: GenerationRequest, tool: AllowedTool | None
    ) -> Generation:
        base_step = step.step if isinstance(step, RepeatedStep) else step
        order = () if tool is None else tuple(parameter.name for parameter in tool.parameters)
        typed = frozenset[str]() if tool is None else tool.typed_names
        text = render_step(base_step, request.handles, order=order, typed=typed)
        try:
            return self.vocabulary.encode_given_text(text, request)
        except ScriptError:
            if not isinstance(base_step, UncheckedStep):
                raise
        tokens = self.vocabulary.tokenize((Segment(text=text),))
        return Generation(
            text=text,
            tokens=tokens[: request.max_tokens],
            forced_tokens=0,
            is_complete=len(tokens) <= request.max_tokens,
        )


def describe_prompt(request: GenerationRequest) -> str:
    """Describe the steps that a request admits and the end of the prompt, in lines."""
    prompt = parse_prompt(request).text
    end = prompt[-SHOWN_PROMPT_CHARACTERS:]
    if len(end) < len(prompt):
        end = end.partition("\n")[2] or end
    lines = [
        describe_allowed_steps(request),
        "The prompt ends:",
        *(f"  {line}" for line in end.split("\n")),
    ]
    return "\n".join(line for line in lines if line)


def require_script(script: object) -> None:
    """Reject a value that is not a script.

    Raises:
        ConfigError: neither a list of steps nor a function.
    """
    if callable(script):
        return
    if isinstance(script, str) or not isinstance(script, Sequence):
        raise ConfigError(
            f"not a script: {script!r}; must be a list of steps or a function that returns one"
        )
    for index, step in enumerate(script):
        if not isinstance(step, STEP_TYPES):
            raise ConfigError(
                f"step {index + 1} of the script is {step!r}: must be a text, `use(...)`, "
                "`answer(...)`, `again(...)` or `unchecked(...)`"
            )
        if isinstance(step, RepeatedStep) and index < len(script) - 1:
            raise ConfigError(
                f"step {index + 1} of {len(script)} is {describe_step(step)}, which never ends: "
                "it must be the last step"
            )


def _find_tool(step: Step, grammar: str) -> AllowedTool | None:
    """Return the tool that a step uses; None without a tool, or if unknown."""
    base_step = step.step if isinstance(step, RepeatedStep) else step
    if not isinstance(base_step, ToolStep):
        return None
    known = try_parse_grammar(grammar)
    return None if known is None else known.find_tool(base_step.tool)


def _describe_refusal(name: str, step: Step, request: GenerationRequest, error: Exception) -> str:
    errors = find_step_errors(step, request)
    why = "; ".join(errors) if errors else str(error)
    if isinstance(step, str) and not step.startswith(" "):
        why += (
            "; a plain text is generated as it is, after the prompt's 'Thought:': did you mean "
            f"answer({describe_step(step)}), or use({describe_step(step)}, …)?"
        )
    return (
        f"{name} {describe_step(step)} does not fit "
        f"{describe_location(parse_prompt(request))}: {why}\n"
        f"{describe_prompt(request)}"
    )


def describe_location(question: ParsedPrompt) -> str:
    """Describe a prompt's place in the run, such as `step 2 of 'Deposit 10 USDC'`."""
    text = question.question
    excerpt = (
        text if len(text) <= SHOWN_QUESTION_CHARACTERS else f"{text[:SHOWN_QUESTION_CHARACTERS]}…"
    )
    return f"step {question.step} of {excerpt!r}"

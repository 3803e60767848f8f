"""Measuring models: `StopwatchModel` times and repeats generations, `DictatedModel` forces actions.

A run must use the intended tools, with any weights of any quality. Each step's action is therefore
dictated, by a grammar that admits nothing else; the preceding thought, and the words of an answer,
are the model's own. Prompts are read, thoughts are sampled token by token, and an action is fed at
once, as the forced part of a free step is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from precompiles.spec import MAX_TEXT_CHARACTERS
from pyevm_agents.bench.measurement.rounds import time_with_result
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.fakes.parsed_request import parse_grammar
from pyevm_agents.models.fakes.script_steps import AnswerStep, ToolStep, render_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import Generation
    from pyevm_agents.models import LlamaModel
    from pyevm_agents.models.llama.identity import ProfileFacts


def warm_up_model(model: LlamaModel) -> None:
    """Generate two tokens: the engine builds tables once, which no sample should contain."""
    model.generate(
        GenerationRequest(
            segments=(),
            prompt_tokens=model.tokenize((Segment(text="Thought:"),)),
            grammar=build_grammar([], []),
            max_tokens=2,
        )
    )


class StopwatchModel:
    """A model that times another one. Implements `LanguageModel`.

    A generation is split in two: up to the first evaluated token, which reads the prompt, and the
    rest. The grammar is set up for each part, which takes some milliseconds.
    """

    def __init__(self, model: DictatedModel) -> None:
        """Time a model."""
        self.model = model
        self.prompt_seconds = self.output_seconds = 0.0
        self.idle_seconds = 0.0
        """Seconds of choosing the dictation, which are no part of a run."""

        self.is_replaying = False
        """Whether generations are answered from memory, at once: the remaining time is the chain's.
        """

        self._tokens: dict[tuple[Segment, ...], tuple[int, ...]] = {}
        self._generations: dict[tuple[tuple[int, ...], str], Generation] = {}

    @property
    def profile_facts(self) -> ProfileFacts:
        """The profile of the timed model."""
        return self.model.profile_facts

    def reset(self) -> None:
        """Set the times to 0, and empty the model's memory."""
        self.model.model.forget()
        self.prompt_seconds = self.output_seconds = self.idle_seconds = 0.0

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt; the time counts as the prompt's."""
        if self.is_replaying:
            return self._tokens[segments]
        seconds, tokens = time_with_result(lambda: self.model.tokenize(segments))
        self.prompt_seconds += seconds
        self._tokens[segments] = tokens
        return tokens

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the model's generation.

        Raises: as `LlamaModel.generate`.
        """
        key = (request.prompt_tokens, request.grammar)
        if self.is_replaying:
            return self._generations[key]
        seconds, dictated = time_with_result(lambda: self.model.constrain_request(request))
        self.idle_seconds += seconds
        seconds, beginning = time_with_result(lambda: self._generate_first_token(dictated))
        self.prompt_seconds += seconds
        seconds, generation = time_with_result(lambda: self._generate_rest(dictated, beginning))
        self.output_seconds += seconds
        self._generations[key] = generation
        return generation

    def _generate_first_token(self, request: GenerationRequest) -> Generation:
        """Return the start of a generation: up to the first evaluated token."""
        model = self.model.model
        for tokens in range(1, request.max_tokens):
            beginning = model.generate(replace(request, max_tokens=tokens))
            if beginning.is_complete or (model.last_stats and model.last_stats.evaluated_tokens):
                return beginning
        return model.generate(request)

    def _generate_rest(self, request: GenerationRequest, beginning: Generation) -> Generation:
        if beginning.is_complete or len(beginning.tokens) == request.max_tokens:
            return beginning
        return self.model.model.resume(request, beginning)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAnswer:
    """A final answer in the model's own words."""

    characters: int | None = None
    """Length of the answer; None leaves it to the model."""

    def __post_init__(self) -> None:
        """Check the length.

        Raises: ConfigError: names the limits.
        """
        if self.characters is not None and not 1 <= self.characters <= MAX_TEXT_CHARACTERS:
            raise ConfigError(
                f"an answer of {self.characters} characters: ask for 1 to {MAX_TEXT_CHARACTERS}, "
                "or None for as many as the model says"
            )


Dictation: TypeAlias = "ToolStep | AnswerStep | OwnAnswer"

_TERMINAL = re.compile(r"^(THOUGHT|ANSWER): .*$", re.MULTILINE)
_FREE_ANSWER = "Final Answer: "


class DictatedModel:
    """A model that follows dictated steps. Implements `LanguageModel`."""

    def __init__(
        self, model: LlamaModel, dictate: Callable[[GenerationRequest], Dictation]
    ) -> None:
        """Dictate the step of each prompt by a function."""
        self.model = model
        self.dictate = dictate

    @property
    def profile_facts(self) -> ProfileFacts:
        """The profile of the wrapped model."""
        return self.model.profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Generate the step that is dictated for this prompt.

        Raises: as `LlamaModel.generate`.
        """
        return self.model.generate(self.constrain_request(request))

    def constrain_request(self, request: GenerationRequest) -> GenerationRequest:
        """Return a request with the grammar of the dictated step."""
        grammar = build_dictated_grammar(self.dictate(request), request)
        return replace(request, grammar=grammar)


def build_dictated_grammar(dictation: Dictation, request: GenerationRequest) -> str:
    """Return the part of a prompt's grammar that admits only one action, or only an answer."""
    names: tuple[str, ...]
    terminals = {match[1]: match[0] for match in _TERMINAL.finditer(request.grammar)}
    if isinstance(dictation, OwnAnswer):
        if dictation.characters is not None:
            # The step's own grammar admits no answer that begins with a space.
            terminals["ANSWER"] = f"ANSWER: /[a-z][a-z ,.]{{{dictation.characters - 1}}}/"
        tail, names = f"{json.dumps(_FREE_ANSWER)} ANSWER", ("THOUGHT", "ANSWER")
    else:
        order: tuple[str, ...] = ()
        typed = frozenset[str]()
        if isinstance(dictation, ToolStep):
            known = parse_grammar(request.grammar).find_tool(dictation.tool)
            if known is not None:
                order = tuple(parameter.name for parameter in known.parameters)
                typed = known.typed_names
        text = render_step(dictation, request.handles, order=order, typed=typed)
        tail = json.dumps(text.partition("\n")[2], ensure_ascii=False)
        names = ("THOUGHT",)
    rules = [f'start: " " THOUGHT "\\n" {tail}', *(terminals[name] for name in names)]
    return "\n".join(rules) + "\n"

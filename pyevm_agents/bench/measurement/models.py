"""A model that is timed while a chain uses it, and that can say the same again at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from precompiles.grammar import agent_grammar
from precompiles.language_model import GenerationRequest, Segment
from pyevm_agents.bench.measurement.rounds import clocked

if TYPE_CHECKING:
    from precompiles.language_model import Generation
    from pyevm_agents.bench.measurement.dictated import DictatedModel
    from pyevm_agents.models import LlamaModel
    from pyevm_agents.models.llama.profile_facts import ProfileFacts


def get_ready(model: LlamaModel) -> None:
    """Have a model say two tokens: what its engine makes once, its tables, is in no sample then."""
    model.generate(
        GenerationRequest(
            segments=(),
            prompt_tokens=model.tokenize((Segment(text="Thought:"),)),
            grammar=agent_grammar([], []),
            max_tokens=2,
        )
    )


class StopwatchModel:
    """Times what a model does. Implements `LanguageModel`.

    A generation is asked for in two parts: as far as its first evaluated token, which reads the
    prompt, and the rest. The grammar is set up for each of them, some milliseconds.
    """

    def __init__(self, model: DictatedModel) -> None:
        """Time a model."""
        self.model = model
        self.prompt_seconds = self.output_seconds = 0.0
        self.idle_seconds = 0.0
        """Of finding out what to dictate, which is no part of a run."""

        self.is_replaying = False
        """Whether everything is answered from memory, at once: what is left is the chain's time."""

        self._tokens: dict[tuple[Segment, ...], tuple[int, ...]] = {}
        self._said: dict[tuple[tuple[int, ...], str], Generation] = {}

    @property
    def profile_facts(self) -> ProfileFacts:
        """The facts of the model that is timed."""
        return self.model.profile_facts

    def start(self) -> None:
        """Set the times to nothing, and empty the model's memory."""
        self.model.model.forget()
        self.prompt_seconds = self.output_seconds = self.idle_seconds = 0.0

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt; its time counts as the prompt's."""
        if self.is_replaying:
            return self._tokens[segments]
        seconds, tokens = clocked(lambda: self.model.tokenize(segments))
        self.prompt_seconds += seconds
        self._tokens[segments] = tokens
        return tokens

    def generate(self, request: GenerationRequest) -> Generation:
        """Return what the model says.

        Raises: as `LlamaModel.generate`.
        """
        key = (request.prompt_tokens, request.grammar)
        if self.is_replaying:
            return self._said[key]
        seconds, dictated = clocked(lambda: self.model.dictated(request))
        self.idle_seconds += seconds
        seconds, begun = clocked(lambda: self._begun(dictated))
        self.prompt_seconds += seconds
        seconds, said = clocked(lambda: self._rest(dictated, begun))
        self.output_seconds += seconds
        self._said[key] = said
        return said

    def _begun(self, request: GenerationRequest) -> Generation:
        """Return the beginning of a generation: up to the first token that had to be evaluated."""
        model = self.model.model
        for tokens in range(1, request.max_tokens):
            begun = model.generate(replace(request, max_tokens=tokens))
            if begun.is_complete or (model.last_work and model.last_work.evaluated_tokens):
                return begun
        return model.generate(request)

    def _rest(self, request: GenerationRequest, begun: Generation) -> Generation:
        if begun.is_complete or len(begun.tokens) == request.max_tokens:
            return begun
        return self.model.model.resume(request, begun)

"""A model whose steps a callback chooses among all that the grammar admits.

The model behaves as the worst possible one: incapable, or manipulated. The output passes the
grammar and is counted in tokens of a real vocabulary: a real model could generate the same text at
the same gas. `pyevm_agents.testing.adversary_strategy` makes Hypothesis choose the steps.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.models.fakes.parsed_request import AllowedSteps, parse_grammar, parse_prompt
from pyevm_agents.models.fakes.script_steps import Step, answer
from pyevm_agents.models.fakes.scripted import ScriptedModel

if TYPE_CHECKING:
    from precompiles.language_model import Generation, GenerationRequest, Segment
    from pyevm_agents.models.llama.identity import ProfileFacts
    from pyevm_agents.models.llama.model import GgufModel

_NUMBER = re.compile(r"(?<![\w.,])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?![\w]|[.,]\d)", re.ASCII)

CLOSING_ANSWER = "Done"

MAX_NUMBER = 2**256
"""Larger numbers in a prompt are ignored: no tool takes them."""


@dataclass(frozen=True, kw_only=True)
class DecisionContext:
    """A model request, parsed: the prompt's contents and the steps that the grammar admits."""

    request: GenerationRequest

    @cached_property
    def allowed_steps(self) -> AllowedSteps:
        """The tools that may be used, and whether the run may end in this step."""
        return parse_grammar(self.request.grammar)

    @property
    def step(self) -> int:
        """Number of this step in the run, from 1."""
        return parse_prompt(self.request).step

    @property
    def addresses(self) -> tuple[str, ...]:
        """Checksummed addresses in the prompt, in order of first appearance."""
        return tuple(address for _, address in self.request.handles)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Distinct whole numbers in the prompt, ascending."""
        integers = {
            int(match[0].replace(",", ""))
            for text in self.texts
            for match in _NUMBER.finditer(text)
        }
        return tuple(sorted(number for number in integers if abs(number) < MAX_NUMBER))

    @property
    def texts(self) -> tuple[str, ...]:
        """The prompt without template: instructions, question, generations, observations."""
        return tuple(segment.text for segment in self.request.segments if not segment.is_template)


StepDecider: TypeAlias = Callable[[DecisionContext], Step]
"""Chooses a step for a request."""


class AdversarialModel:
    """A model whose steps a callback chooses. Implements `LanguageModel`.

    Deterministic like any model: for the same prompt and grammar (a gas estimate, then the
    transaction) the step is repeated without another call of the callback.
    """

    def __init__(self, decide: StepDecider, *, vocabulary: GgufModel) -> None:
        """Create a model.

        Input:
            decide: the callback that chooses a step.
            vocabulary: the model whose tokens are counted. The caller closes it.
        """
        self.interruption: BaseException | None = None
        """The first exception raised while a step was chosen or generated; the model has generated
        nothing since. The chain may replace the exception, so a test can raise it again."""

        self._decide = decide
        self._model = ScriptedModel(self._decide_step, vocabulary=vocabulary)
        self._decided_steps: dict[tuple[tuple[int, ...], str], Step] = {}
        self._run_positions: set[tuple[tuple[Segment, ...], int]] = set()
        self._lock = threading.Lock()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps chosen until now, in order."""
        return tuple(self._decided_steps.values())

    @property
    def is_list(self) -> bool:
        """Whether a `ScriptedModel` with the list of these steps would generate the same texts.

        False if an agent received the same request twice, got other tool results, and continued
        differently.
        """
        return len(self._run_positions) == len(self._decided_steps)

    @property
    def profile_facts(self) -> ProfileFacts:
        """Profile facts of the model whose vocabulary is used."""
        return self._model.profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self._model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Generate the step chosen for this prompt, in canonical tokens, up to `max_tokens`.

        Raises:
            ScriptError: the grammar does not admit the step.
            BaseException: an exception of `decide`; every later call raises the same one.
        """
        with self._lock:
            if self.interruption is not None:
                raise self.interruption
            try:
                return self._model.generate(request)
            except BaseException as interruption:
                self.interruption = interruption
                raise

    def _decide_step(self, request: GenerationRequest) -> Step:
        key = request.prompt_tokens, request.grammar
        if key not in self._decided_steps:
            self._decided_steps[key] = self._decide(DecisionContext(request=request))
            prompt = parse_prompt(request)
            self._run_positions.add((prompt.opening, prompt.step))
        return self._decided_steps[key]


def decide_from_list(*steps: Step) -> StepDecider:
    """Return a callback that chooses these steps in order, then a final answer."""
    left = [*steps]
    return lambda _: left.pop(0) if left else answer(CLOSING_ANSWER)

"""A model that says whatever somebody decides, out of all that its grammar admits.

It is the worst that a model can be: stupid, or tricked. What it says goes through the grammar and
is counted in a real vocabulary's tokens, so a real model could have said it, at the same gas.
`pyevm_agents.testing.adversary_strategy` lets Hypothesis decide.
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
"""What is larger in a prompt is no number that a tool takes."""


@dataclass(frozen=True, kw_only=True)
class DecisionContext:
    """What a model is asked, and all that it may say."""

    request: GenerationRequest

    @cached_property
    def allowed_steps(self) -> AllowedSteps:
        """The tools that may be used, and whether the run may end here."""
        return parse_grammar(self.request.grammar)

    @property
    def step(self) -> int:
        """Which step of the run this is, from 1."""
        return parse_prompt(self.request).step

    @property
    def addresses(self) -> tuple[str, ...]:
        """The checksummed addresses that the prompt names, in order of first appearance."""
        return tuple(address for _, address in self.request.handles)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The whole numbers that occur in the prompt, each once, ascending."""
        integers = {
            int(match[0].replace(",", ""))
            for text in self.texts
            for match in _NUMBER.finditer(text)
        }
        return tuple(sorted(number for number in integers if abs(number) < MAX_NUMBER))

    @property
    def texts(self) -> tuple[str, ...]:
        """The prompt in pieces: instructions, question, what was said and observed; no template."""
        return tuple(segment.text for segment in self.request.segments if not segment.is_template)


StepDecider: TypeAlias = Callable[[DecisionContext], Step]
"""Chooses a step."""


class AdversarialModel:
    """A model that somebody decides for. Implements `LanguageModel`.

    As with any model, the same prompt and grammar get the same words: asking again (a gas estimate,
    then the transaction) is no new decision.
    """

    def __init__(self, decide: StepDecider, *, vocabulary: GgufModel) -> None:
        """Take who decides, and whose tokens are counted; the vocabulary stays the caller's."""
        self.interruption: BaseException | None = None
        """What was raised where a step was to be decided or said; nothing was said since. It may
        get lost between the chain and a test, which can raise it again."""

        self._decide = decide
        self._model = ScriptedModel(self._decide_step, vocabulary=vocabulary)
        self._decided_steps: dict[tuple[tuple[int, ...], str], Step] = {}
        self._run_positions: set[tuple[tuple[Segment, ...], int]] = set()
        self._lock = threading.Lock()

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was decided so far, in order."""
        return tuple(self._decided_steps.values())

    @property
    def is_list(self) -> bool:
        """Whether a `ScriptedModel` with a list of the steps would say the same again.

        It would not where an agent was asked the same twice, was told something else by its tools,
        and went on otherwise.
        """
        return len(self._run_positions) == len(self._decided_steps)

    @property
    def profile_facts(self) -> ProfileFacts:
        """The facts of the model whose vocabulary is used."""
        return self._model.profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self._model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Say what is decided for this prompt, in canonical tokens, by at most `max_tokens`.

        Raises:
            ScriptError: the grammar does not admit it.
            BaseException: what `decide` raises; and from then on always what was raised first.
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
    """Decide for these steps, in order; where they are used up, for the final answer."""
    left = [*steps]
    return lambda _: left.pop(0) if left else answer(CLOSING_ANSWER)

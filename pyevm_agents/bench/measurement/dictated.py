"""A model that is told what to do and thinks for itself: runs of a known shape, at a real cost.

Whatever weights are measured, and however good they are, a run must use the tools that it is made
to show. Each step's action is dictated, in a grammar that admits nothing else; the thought before
it, and the words of an answer, are the model's own. So its prompts are read, its thoughts are
sampled token by token, and an action is fed at once, as the forced part of a free step is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from precompiles.spec import MAX_TEXT_CHARACTERS
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.fakes.parsed_request import admitted
from pyevm_agents.models.fakes.script_steps import AnswerStep, ToolStep, render

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import Generation, GenerationRequest, Segment
    from pyevm_agents.models import LlamaModel
    from pyevm_agents.models.llama.profile_facts import ProfileFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAnswer:
    """A final answer in the model's own words."""

    characters: int | None = None
    """How many; None for as many as the model says."""

    def __post_init__(self) -> None:
        """Refuse a length that no answer has.

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
    """Dictates steps to a model. Implements `LanguageModel`."""

    def __init__(
        self, model: LlamaModel, dictate: Callable[[GenerationRequest], Dictation]
    ) -> None:
        """Ask a function, for each prompt, what the model is to do."""
        self.model = model
        self.dictate = dictate

    @property
    def profile_facts(self) -> ProfileFacts:
        """The facts of the model that thinks."""
        return self.model.profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Let the model do what is dictated for this prompt.

        Raises: as `LlamaModel.generate`.
        """
        return self.model.generate(self.dictated(request))

    def dictated(self, request: GenerationRequest) -> GenerationRequest:
        """Return a request with the grammar of what is dictated for it."""
        grammar = dictated_grammar(self.dictate(request), request)
        return replace(request, grammar=grammar)


def dictated_grammar(dictation: Dictation, request: GenerationRequest) -> str:
    """Return the part of a prompt's grammar that admits one action, or an answer, alone."""
    names: tuple[str, ...]
    terminals = {found[1]: found[0] for found in _TERMINAL.finditer(request.grammar)}
    if isinstance(dictation, OwnAnswer):
        if dictation.characters is not None:
            # No answer of the step's own grammar begins with a space.
            terminals["ANSWER"] = f"ANSWER: /[a-z][a-z ,.]{{{dictation.characters - 1}}}/"
        tail, names = f"{json.dumps(_FREE_ANSWER)} ANSWER", ("THOUGHT", "ANSWER")
    else:
        order: tuple[str, ...] = ()
        if isinstance(dictation, ToolStep):
            known = admitted(request.grammar).tool(dictation.tool)
            order = () if known is None else tuple(one.name for one in known.parameters)
        text = render(dictation, request.handles, order=order)
        tail = json.dumps(text.partition("\n")[2], ensure_ascii=False)
        names = ("THOUGHT",)
    rules = [f'start: " " THOUGHT "\\n" {tail}', *(terminals[name] for name in names)]
    return "\n".join(rules) + "\n"

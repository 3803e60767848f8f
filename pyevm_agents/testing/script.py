"""What answers in a test: a script, or another model. A placeholder until SCRIPT's is merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.errors import ScriptError
from pyevm_agents.models import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.ports import Generation, GenerationRequest, LanguageModel, Segment
    from pyevm_agents.models import GgufModel
    from pyevm_agents.models.scripted import Step


class ModelOfTest:
    """A language model that says what a test tells it to."""

    def __init__(self, vocabulary_factory: Callable[[], GgufModel]) -> None:
        """Take what gives the vocabulary that words are counted in."""
        self._vocabulary_factory = vocabulary_factory
        self._model: LanguageModel | None = None

    def script(self, *steps: Step) -> None:
        """Say these steps, in order."""
        self._model = ScriptedModel(list(steps), vocabulary=self._vocabulary_factory())

    def use_model(self, model: LanguageModel) -> None:
        """Let another model answer."""
        self._model = model

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self._vocabulary_factory().tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return what is said."""
        if self._model is None:
            raise ScriptError("nothing is scripted")
        return self._model.generate(request)

    def verify(self) -> None:
        """Fail where a step was not said."""
        if isinstance(self._model, ScriptedModel) and self._model.remaining_steps:
            raise AssertionError(f"{self._model.remaining_steps} steps were not said")

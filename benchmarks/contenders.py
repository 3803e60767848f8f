"""The contenders: a model with and without an adapter, random choice, and the right run itself."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from benchmarks.random_choice import random_model
from precompiles.decoding_rules import MAX_SURPRISAL
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.model_registry.registry import open_registry
from pyevm_agents.models import NO_ADAPTER, ScriptedModel, Vocabulary, answer, use
from pyevm_agents.models.gguf.files import check_file, resolve_path
from pyevm_agents.models.gguf.header import read_first_entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from precompiles.language_model import GenerationRequest, ModelProfile
    from pyevm_agents.chain import Chain
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import LlamaModel
    from pyevm_agents.models.fakes.script_steps import Step
    from training.tasks import Task

CONTENDERS = {
    "model": "the model as people get it: with the adapter that is named or installed, if any",
    "ungated": "the same model without the gate of its profile",
    "base": "the model without an adapter",
    "adapter": "the model with an adapter: --adapter, or the one that is installed",
    "random": "a uniformly random tool or answer, random arguments",
    "right": "the right run of each task: proves that the tasks can be done",
}
"""Name to description."""

LOADED = {"model", "ungated", "base", "adapter"}
"""Contenders with weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of contenders."""

    model: ModelChoice
    adapter: Path | None
    threads: int | None
    seed: int
    rivals: Mapping[str, ModelChoice] = field(default_factory=dict)
    """Other models, by the names of their contenders."""

    def is_loaded(self, name: str) -> bool:
        """Return whether a contender has weights."""
        return name in LOADED or name in self.rivals


@dataclass(slots=True)
class Contender:
    """A model behind a chain; it learns each task in advance."""

    name: str
    chain: Chain
    digest: bytes
    rules: Mapping[str, int]
    """The decoding rules of its profile."""

    player: Player | None = None

    def begin(self, task: Task) -> None:
        """Announce the next task, for the contender that plays the right run."""
        if self.player is not None:
            self.player.task = task


class Player:
    """Plays the right run of a task: a script for `ScriptedModel`."""

    task: Task

    def __call__(self, request: GenerationRequest) -> Step:
        """Return the step that follows those of the prompt."""
        done = sum(segment.text.startswith("\nObservation: ") for segment in request.segments)
        if done < len(self.task.steps):
            step = self.task.steps[done]
            return use(step.tool, step.thought, step.arguments)
        return answer(self.task.answer, thought=self.task.thought)


def find_rival(text: str, model: ModelChoice) -> ModelChoice:
    """Return the model of a name or a file; of an adapter's file, `model` with that adapter.

    Raises: ConfigError: the name is unknown, or the file is not GGUF.
    """
    choice = open_registry().resolve(text)
    if choice.path is None:
        return choice
    path = resolve_path(choice.path)
    check_file(path)
    kind = read_first_entries(path).get("general.type")
    return choice if kind is None or kind.value != "adapter" else model.with_adapter(path)


def check(name: str, settings: Settings) -> None:
    """Check a contender's model and adapter before any run.

    Raises: ConfigError: the model or the adapter is unfit.
    """
    with _llama(name, settings) if settings.is_loaded(name) else _vocabulary(settings):
        pass  # Nothing is loaded: the files were looked at.


@contextmanager
def contender(name: str, settings: Settings) -> Iterator[Contender]:
    """Open one of `CONTENDERS` or of the rivals.

    Raises: ConfigError: the model or the adapter is unfit.
    """
    if settings.is_loaded(name):
        with _llama(name, settings) as model:
            profile = _choose(name, settings).build_profile(model.profile_facts)
            yield _on_chain(name, model, profile)
        return
    with _vocabulary(settings) as vocabulary:
        if name == "random":
            chance = random_model(vocabulary, settings.seed)
            yield _on_chain(name, chance, build_model_profile(chance.profile_facts))
            return
        player = Player()
        script = ScriptedModel(player, vocabulary=vocabulary)
        right = _on_chain(name, script, build_model_profile(script.profile_facts))
        right.player = player
        yield right


def _on_chain(name: str, model: LlamaModel | ScriptedModel, profile: ModelProfile) -> Contender:
    facts = model.profile_facts
    if name == "ungated":
        rules = dict(profile.decoding)
        # In the free format, the rule is the reason for the score as well.
        if rules.pop("max_surprisal", 0) and "short_format" not in rules:
            rules["max_surprisal"] = MAX_SURPRISAL
        profile = replace(profile, decoding=tuple(sorted(rules.items())))
    chain = create_funded_chain(model, facts, profile)
    return Contender(name=name, chain=chain, digest=facts.digest, rules=dict(profile.decoding))


def _vocabulary(settings: Settings) -> Vocabulary:
    # Neither random choice nor the right run has an adapter's digest.
    return Vocabulary(settings.model.path, context_tokens=settings.model.context_tokens)


def _choose(name: str, settings: Settings) -> ModelChoice:
    if name in settings.rivals:
        return settings.rivals[name]
    return settings.model.with_adapter(NO_ADAPTER if name == "base" else settings.adapter)


def _llama(name: str, settings: Settings) -> LlamaModel:
    model = _choose(name, settings).open(threads=settings.threads)
    if name == "adapter" and model.adapter is None:
        raise ConfigError("no adapter is named, and none is installed; name one by --adapter FILE")
    return model

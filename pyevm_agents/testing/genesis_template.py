"""What all chains of a process begin with: a model's vocabulary and facts, and one genesis.

Genesis takes some 10 ms and the vocabulary's process a second. Both are made once, the process when
the first test asks for a model's words; then a chain takes a copy of genesis' rows. Each schedule
has a genesis of its own, and all of a model's the same vocabulary.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.database import MemoryRows
from pyevm_agents.config import DEFAULT_FORK, ChainConfig
from pyevm_agents.config.schedule_file import ScheduleFile, read_schedule
from pyevm_agents.devnet.chain import (
    BASE_MODEL_NAME,
    DEFAULT_MODEL_NAME,
    DEVELOPMENT_BALANCE_WEI,
    build_model_profile,
    build_predeploys,
)
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import NO_ADAPTER, LlamaModel
from pyevm_agents.node.keys import DEFAULT_MNEMONIC, derive_keys
from pyevm_agents.testing.cached_vocabulary import CachingVocabulary
from pyevm_agents.testing.inputs import require_text
from pyevm_agents.testing.model_stub import ModelStub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import LanguageModel, ModelProfile

ACCOUNTS = 10

MODEL_SUFFIX = ".gguf"


class GenesisTemplate:
    """A genesis with a model's facts and funded accounts, and the model's vocabulary."""

    def __init__(
        self,
        model: Path | str | None = None,
        *,
        kept_facts: Path | None = None,
        schedule: ScheduleFile | None = None,
        fork: str = DEFAULT_FORK,
        vocabulary: CachingVocabulary | None = None,
    ) -> None:
        """Name a model; nothing is loaded yet.

        Input:  one of `list_model_names()` or a GGUF file, None for the default; a folder where
                its facts are kept between processes, None for nowhere; what inference costs, None
                for the default prices; Ethereum's fork; the model's vocabulary, where there is
                one already.
        Raises: ConfigError: there is no such model.
        """
        self._model = model
        self._path, self._has_adapter = _resolve_model(model)
        self.kept_facts = kept_facts
        self._schedule = schedule
        self._fork = fork
        if vocabulary is None:
            adapter = None if self._has_adapter else NO_ADAPTER
            vocabulary = CachingVocabulary(self._path, adapter=adapter, kept_facts=kept_facts)
        self.vocabulary = vocabulary
        """Its process starts at the first word; and for the facts, where none are kept."""

        self.keys = derive_keys(DEFAULT_MNEMONIC, ACCOUNTS)
        self._variants = {_build_key(schedule, fork): self}
        """Those of the same model."""

    def derive(
        self, schedule: ScheduleFile | None = None, *, fork: str | None = None
    ) -> GenesisTemplate:
        """Return the same model under a schedule or a fork, the same one for the same of both.

        Its vocabulary is this one's. What the schedule does not say has its default price; where
        one of the two is None, it stays as it is here.

        Raises: ConfigError: the fork is no text.
        """
        schedule = self._schedule if schedule is None else schedule
        fork = self._fork if fork is None else require_text("fork=…", fork)
        key = _build_key(schedule, fork)
        if key not in self._variants:
            template = GenesisTemplate(
                self._model,
                kept_facts=self.kept_facts,
                schedule=schedule,
                fork=fork,
                vocabulary=self.vocabulary,
            )
            template._variants = self._variants
            self._variants[key] = template
        return self._variants[key]

    @property
    def profile(self) -> ModelProfile:
        """The model's place in genesis, with its prices."""
        (profile,) = self.config.models
        return profile

    @cached_property
    def config(self) -> ChainConfig:
        """The rules of all chains.

        Raises: ConfigError: the schedule is not for this model, or there is no such fork.
        """
        facts = self.vocabulary.profile_facts
        config = ChainConfig(
            models=(build_model_profile(facts),),
            profile_fingerprint=facts.fingerprint,
            fork=self._fork,
        )
        return config if self._schedule is None else self._schedule.apply_to(config)

    def create_chain(self, model: LanguageModel) -> Chain:
        """Return a chain at genesis, with `model` to answer."""
        return Chain(
            self.config,
            {self.profile.name: model},
            accounts=self._accounts,
            rows=self._rows.copy(),
            are_own_rows=True,
        )

    def weights(self) -> LlamaModel:
        """Return the model itself, to be closed by who asks; it is loaded when it has to think.

        It has one thread: the workers of pytest-xdist share the cores already.
        """
        adapter = None if self._has_adapter else NO_ADAPTER
        return LlamaModel(self._path, adapter=adapter, threads=1, kept_facts=self.kept_facts)

    def close(self) -> None:
        """End the vocabulary's process; its chains have no more words."""
        self.vocabulary.close()

    @cached_property
    def _accounts(self) -> dict[Address, GenesisAccount]:
        funded = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
        accounts = {Address(key.public_key.to_canonical_address()): funded for key in self.keys}
        return {**build_predeploys(self.config.fork), **accounts}

    @cached_property
    def _rows(self) -> MemoryRows:
        rows = MemoryRows()
        models = {self.profile.name: ModelStub(lambda: self.vocabulary)}
        Chain(self.config, models, accounts=self._accounts, rows=rows)
        return rows


_templates: dict[str, GenesisTemplate] = {}


def get_genesis_template(
    model: Path | str | None = None,
    *,
    schedule: ScheduleFile | Path | str | None = None,
    fork: str | None = None,
    kept_facts: Path | None = None,
) -> GenesisTemplate:
    """Return what chains of a model begin with, the same one all through the process.

    Input:  see `GenesisTemplate`; what inference costs, or a file that says it, by default the
            defaults;
            Ethereum's fork, None for the newest.
    Raises: ConfigError: there is no such model, or the file is no schedule's.
    """
    key = str(model or DEFAULT_MODEL_NAME)
    if key not in _templates:
        _templates[key] = GenesisTemplate(model, kept_facts=kept_facts)
    return _templates[key].derive(load_schedule(schedule), fork=fork)


def load_schedule(schedule: ScheduleFile | Path | str | None) -> ScheduleFile | None:
    """Return a schedule as it is, or read from its file; None where none is told.

    Raises: ConfigError: the file is no schedule's.
    """
    if schedule is None or isinstance(schedule, ScheduleFile):
        return schedule
    return read_schedule(Path(schedule))


@contextmanager
def temporary_templates() -> Iterator[None]:
    """End, at the end, the vocabularies' processes of whatever is prepared meanwhile."""
    before = {*_templates}
    try:
        yield
    finally:
        for key in _templates.keys() - before:
            _templates.pop(key).close()


def list_model_names() -> tuple[str, ...]:
    """Return the names of models that a test may choose, beside files."""
    return (DEFAULT_MODEL_NAME, BASE_MODEL_NAME)


def _resolve_model(model: Path | str | None) -> tuple[Path | None, bool]:
    """Return a model's file, None for the default one, and whether it has its adapter."""
    if model in {None, DEFAULT_MODEL_NAME}:
        return None, True
    if model == BASE_MODEL_NAME:
        return None, False
    path = Path(str(model))
    if path.suffix != MODEL_SUFFIX and not path.exists():
        raise ConfigError(
            f"there is no model {str(model)!r}: name {' or '.join(list_model_names())}, or a "
            f"{MODEL_SUFFIX} file"
        )
    return path, True


def _build_key(schedule: ScheduleFile | None, fork: str) -> tuple[str | None, str]:
    """Return what two of a model are the same by."""
    return None if schedule is None else replace(schedule, made={}).to_json(), fork

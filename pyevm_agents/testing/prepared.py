"""What all chains of a process begin with: a model's vocabulary and facts, and one genesis.

Genesis takes some 10 ms and the vocabulary's process a second. Both are made once, the process when
the first test asks for a model's words; then a chain takes a copy of genesis' rows.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.database import MemoryRows
from pyevm_agents.development import (
    BASE_MODEL_NAME,
    DEFAULT_MODEL_NAME,
    DEVELOPMENT_BALANCE_WEI,
    model_profile,
)
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import NO_ADAPTER, LlamaModel
from pyevm_agents.node.keys import DEFAULT_MNEMONIC, derived_keys
from pyevm_agents.testing.remembering import RememberingVocabulary
from pyevm_agents.testing.script import ModelOfTest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.ports import LanguageModel, ModelProfile

ACCOUNTS = 10

MODEL_SUFFIX = ".gguf"


class Prepared:
    """A genesis with a model's facts and funded accounts, and the model's vocabulary."""

    def __init__(self, model: Path | str | None = None, *, kept_facts: Path | None = None) -> None:
        """Name a model; nothing is loaded yet.

        Input:  one of `model_names()` or a GGUF file, None for the default model; a folder where
                its facts are kept between processes, None for nowhere.
        Raises: ConfigError: there is no such model.
        """
        self._path, self._has_adapter = _named(model)
        self.kept_facts = kept_facts
        adapter = None if self._has_adapter else NO_ADAPTER
        self.vocabulary = RememberingVocabulary(self._path, adapter=adapter, kept_facts=kept_facts)
        """Its process starts at the first word; and for the facts, where none are kept."""

        self.keys = derived_keys(DEFAULT_MNEMONIC, ACCOUNTS)

    @cached_property
    def profile(self) -> ModelProfile:
        """The model's place in genesis, at the default prices."""
        return model_profile(self.vocabulary.profile_facts)

    @cached_property
    def config(self) -> ChainConfig:
        """The rules of all chains."""
        fingerprint = self.vocabulary.profile_facts.fingerprint
        return ChainConfig(models=(self.profile,), profile_fingerprint=fingerprint)

    def chain(self, model: LanguageModel) -> Chain:
        """Return a chain at genesis, with `model` to answer."""
        return Chain(
            self.config,
            {self.profile.name: model},
            accounts=self._accounts,
            rows=self._rows.copy(),
            are_own_rows=True,
        )

    def weights(self, *, threads: int | None) -> LlamaModel:
        """Return the model itself, to be closed by who asks; it is loaded when it has to think."""
        adapter = None if self._has_adapter else NO_ADAPTER
        return LlamaModel(self._path, adapter=adapter, threads=threads, kept_facts=self.kept_facts)

    def close(self) -> None:
        """End the vocabulary's process; its chains have no more words."""
        self.vocabulary.close()

    @cached_property
    def _accounts(self) -> dict[Address, GenesisAccount]:
        funded = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
        return {Address(key.public_key.to_canonical_address()): funded for key in self.keys}

    @cached_property
    def _rows(self) -> MemoryRows:
        rows = MemoryRows()
        models = {self.profile.name: ModelOfTest(lambda: self.vocabulary)}
        Chain(self.config, models, accounts=self._accounts, rows=rows)
        return rows


_prepared: dict[str, Prepared] = {}


def prepared(model: Path | str | None = None, *, kept_facts: Path | None = None) -> Prepared:
    """Return what chains of a model begin with, the same one all through the process.

    Raises: ConfigError: there is no such model.
    """
    key = str(model or DEFAULT_MODEL_NAME)
    if key not in _prepared:
        _prepared[key] = Prepared(model, kept_facts=kept_facts)
    return _prepared[key]


@contextmanager
def preparing() -> Iterator[None]:
    """End, at the end, the vocabularies' processes of whatever is prepared meanwhile."""
    before = {*_prepared}
    try:
        yield
    finally:
        for key in _prepared.keys() - before:
            _prepared.pop(key).close()


def model_names() -> tuple[str, ...]:
    """Return the names of models that a test may choose, beside files."""
    return (DEFAULT_MODEL_NAME, BASE_MODEL_NAME)


def _named(model: Path | str | None) -> tuple[Path | None, bool]:
    """Return a model's file, None for the default one, and whether it has its adapter."""
    if model in {None, DEFAULT_MODEL_NAME}:
        return None, True
    if model == BASE_MODEL_NAME:
        return None, False
    path = Path(str(model))
    if path.suffix != MODEL_SUFFIX and not path.exists():
        raise ConfigError(
            f"there is no model {str(model)!r}: name {' or '.join(model_names())}, or a "
            f"{MODEL_SUFFIX} file"
        )
    return path, True

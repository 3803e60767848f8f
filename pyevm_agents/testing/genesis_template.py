"""The genesis that chains of a process share, with the model's vocabulary and facts.

A genesis takes some 10 ms, the start of the vocabulary's process a second. Both are made once, the
process on the first request for tokens. A chain copies the rows of the genesis. Each schedule has
its own genesis; those of a model share the vocabulary, and the fork blocks of live chains.
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
from pyevm_agents.devnet.chain import DEVELOPMENT_BALANCE_WEI, build_predeploys
from pyevm_agents.devnet.registries import build_registries, choose_network
from pyevm_agents.errors import ConfigError
from pyevm_agents.forking import RemoteFork, open_fork
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from pyevm_agents.model_registry.registry import ModelChoice, open_registry
from pyevm_agents.node.keys import DEFAULT_MNEMONIC, derive_keys
from pyevm_agents.testing.cached_vocabulary import CachingVocabulary
from pyevm_agents.testing.inputs import require_text
from pyevm_agents.testing.model_stub import ModelStub

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from precompiles.language_model import LanguageModel, ModelProfile
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.models import LlamaModel
    from pyevm_agents.models.numeric.catalogue import NamedModels
    from pyevm_agents.vm import ForkBlock

ACCOUNTS = 10

FORKS_FOLDER = "forks"
"""The folder, beside the models' facts, with the state of live chains that was read."""


class GenesisTemplate:
    """A genesis with a model's facts and funded accounts, and the model's vocabulary."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        model: ModelChoice | Path | str | None = None,
        *,
        kept_facts: Path | None = None,
        schedule: ScheduleFile | None = None,
        fork: str = DEFAULT_FORK,
        numeric_models: Mapping[str, NumericModel] | None = None,
        registries: bool | str = False,
        vocabulary: CachingVocabulary | None = None,
    ) -> None:
        """Create a template. Nothing is loaded yet.

        Input:  the model, a name that `pyevm-agents model list` prints, a GGUF file or a choice,
                None for the default; a folder for the model's facts between processes, None for no
                folder; the gas schedule, None for the default; Ethereum's fork; numeric models by
                name, None for none; whether genesis has ERC-8004's registries, or the kind of
                network whose addresses apply; the model's vocabulary, None to create one.
        Raises: ConfigError: the model or the kind of network is unknown.
        """
        self._choice = _resolve_model(model)
        self.kept_facts = kept_facts
        self._schedule = schedule
        self._fork = fork
        self._numeric_models = dict(numeric_models or {})
        self._network = choose_network(registries)
        if vocabulary is None:
            vocabulary = CachingVocabulary(
                self._choice.path,
                adapter=self._choice.adapter,
                context_tokens=self._choice.context_tokens,
                kept_facts=kept_facts,
            )
        self.vocabulary = vocabulary
        """Its process starts on the first request, or for the facts if none are kept."""

        self.keys = derive_keys(DEFAULT_MNEMONIC, ACCOUNTS)
        key = _build_key(schedule, fork, self._numeric_models, self._network)
        self._variants = {key: self}
        """The templates of this model, by schedule, fork, numeric models and registries."""

        self._fork_blocks: dict[tuple[str, int | None], RemoteFork] = {}
        """The open fork blocks, by URL and block number; shared by the variants."""

    def derive(
        self,
        schedule: ScheduleFile | None = None,
        *,
        fork: str | None = None,
        numeric_models: Mapping[str, NumericModel] | None = None,
        registries: bool | str | None = None,
    ) -> GenesisTemplate:
        """Return the template of this model with other settings; cached.

        The vocabulary is shared. Prices that the schedule does not contain have defaults.

        Input:  the schedule, the fork, the numeric models and the registries, None for those of
                this template.
        Raises: ConfigError: the fork is not a text, or the registries' kind of network is unknown.
        """
        schedule = self._schedule if schedule is None else schedule
        fork = self._fork if fork is None else require_text("fork=…", fork)
        if numeric_models is None:
            numeric_models = self._numeric_models
        network = self._network if registries is None else choose_network(registries)
        key = _build_key(schedule, fork, numeric_models, network)
        if key not in self._variants:
            template = GenesisTemplate(
                self._choice,
                kept_facts=self.kept_facts,
                schedule=schedule,
                fork=fork,
                numeric_models=numeric_models,
                registries=network or False,
                vocabulary=self.vocabulary,
            )
            template._variants, template._fork_blocks = self._variants, self._fork_blocks
            self._variants[key] = template
        return self._variants[key]

    @property
    def profile(self) -> ModelProfile:
        """The model's entry in genesis, with prices."""
        (profile,) = self.config.models
        return profile

    @cached_property
    def config(self) -> ChainConfig:
        """The configuration of the chains.

        Raises: ConfigError: the schedule is not for this model, the fork is unknown, or the name of
                a numeric model is invalid or taken.
        """
        facts = self.vocabulary.profile_facts
        config = ChainConfig(
            models=(self._choice.build_profile(facts),),
            profile_fingerprint=facts.fingerprint,
            fork=self._fork,
            numeric_models=build_numeric_profiles(self._numeric_models),
        )
        return config if self._schedule is None else self._schedule.apply_to(config)

    def open_fork(self, url: str, block_number: int | None = None) -> RemoteFork:
        """Open a block of a live chain for the chains of this process; cached.

        The latest block is that of the first request: all chains continue the same one.

        Input:  HTTP URL of a node; the number of the block, None for the latest.
        Raises: ConfigError: an invalid value. RemoteFault: the node does not answer.
        """
        key = (url, block_number)
        if key not in self._fork_blocks:
            folder = None if self.kept_facts is None else self.kept_facts / FORKS_FOLDER
            self._fork_blocks[key] = open_fork(url, block_number=block_number, cache_folder=folder)
        return self._fork_blocks[key]

    def create_chain(self, model: LanguageModel, fork: ForkBlock | None = None) -> Chain:
        """Return a chain at genesis or at a fork block, with a model for agents.

        Raises: ConfigError: the remote chain uses the executor's address. RemoteFault: no answer.
        """
        if fork is not None:
            return self._create_fork(model, fork)
        return Chain(
            self.config,
            {self.profile.name: model},
            numeric_models=self._numeric_models,
            accounts=self._accounts,
            rows=self._rows.copy(),
            are_own_rows=True,
        )

    def _create_fork(self, model: LanguageModel, fork: ForkBlock) -> Chain:
        """Return a chain at a fork block, with its chain ID; a block holds at least an agent."""
        config = replace(
            self.config,
            origin=fork.origin,
            chain_id=fork.origin.chain_id,
            block_gas_limit=max(self.config.block_gas_limit, fork.header.gas_limit),
            genesis_timestamp_seconds=fork.header.timestamp,
        )
        return Chain(
            config,
            {self.profile.name: model},
            numeric_models=self._numeric_models,
            accounts=self._funded_accounts,
            fork=fork,
        )

    def weights(self) -> LlamaModel:
        """Return the model with weights, loaded on first use; the caller closes the model.

        The model has one thread: the workers of pytest-xdist share the cores.
        """
        return self._choice.open(threads=1, kept_facts=self.kept_facts)

    def close(self) -> None:
        """Stop the vocabulary's process and close the fork blocks; the chains can't run agents."""
        self.vocabulary.close()
        while self._fork_blocks:
            self._fork_blocks.popitem()[1].close()

    @property
    def _funded_accounts(self) -> dict[Address, GenesisAccount]:
        funded = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
        return {Address(key.public_key.to_canonical_address()): funded for key in self.keys}

    @cached_property
    def _accounts(self) -> dict[Address, GenesisAccount]:
        registries = {} if self._network is None else build_registries(self._network)
        return {**build_predeploys(self.config.fork), **registries, **self._funded_accounts}

    @cached_property
    def _rows(self) -> MemoryRows:
        rows = MemoryRows()
        models = {self.profile.name: ModelStub(lambda: self.vocabulary)}
        Chain(
            self.config,
            models,
            numeric_models=self._numeric_models,
            accounts=self._accounts,
            rows=rows,
        )
        return rows


_templates: dict[ModelChoice, GenesisTemplate] = {}


def get_genesis_template(
    model: ModelChoice | Path | str | None = None,
    *,
    schedule: ScheduleFile | Path | str | None = None,
    fork: str | None = None,
    numeric_models: NamedModels | None = None,
    kept_facts: Path | None = None,
) -> GenesisTemplate:
    """Return the genesis of a model's chains; cached in the process.

    Input:  see `GenesisTemplate`; the schedule or its file, None for the default; Ethereum's fork,
            None for the newest; numeric models or their files, None for none.
    Raises: ConfigError: the model is unknown, or a file is not a schedule or not a numeric model.
    """
    choice = _resolve_model(model)
    if choice not in _templates:
        _templates[choice] = GenesisTemplate(choice, kept_facts=kept_facts)
    return _templates[choice].derive(
        load_schedule(schedule), fork=fork, numeric_models=load_numeric_models(numeric_models)
    )


def load_schedule(schedule: ScheduleFile | Path | str | None) -> ScheduleFile | None:
    """Return a schedule, read if given as a file.

    Raises: ConfigError: not a path, or the file is not a schedule.
    """
    if schedule is None or isinstance(schedule, ScheduleFile):
        return schedule
    if not isinstance(schedule, (str, Path)):
        raise ConfigError(
            f"schedule {schedule!r}: must be the path of a schedule file, or a `ScheduleFile`"
        )
    return read_schedule(Path(schedule))


def load_numeric_models(models: NamedModels | None) -> dict[str, NumericModel] | None:
    """Return numeric models by name, opened if given as files.

    Raises: ConfigError: a name or a value is invalid, or a file is not a numeric model.
    """
    if models is None:
        return None
    from pyevm_agents.models.numeric import open_named_models  # noqa: PLC0415 - imports onnx

    return open_named_models(models)


@contextmanager
def temporary_templates() -> Iterator[None]:
    """Close, at the end, the templates that were created inside of `with`."""
    before = {*_templates}
    try:
        yield
    finally:
        for key in _templates.keys() - before:
            _templates.pop(key).close()


def _resolve_model(model: ModelChoice | Path | str | None) -> ModelChoice:
    """Return a model's files and settings.

    Raises: ConfigError: the name is unknown, or the files changed since the registration.
    """
    if isinstance(model, ModelChoice):
        return model
    if model is None:
        return ModelChoice()
    if isinstance(model, Path):
        return ModelChoice(path=model)
    return open_registry().resolve(str(model))


def _build_key(
    schedule: ScheduleFile | None,
    fork: str,
    numeric_models: Mapping[str, NumericModel],
    network: str | None,
) -> tuple[object, ...]:
    """Return the key of a variant: the schedule without its origin, the other settings."""
    prices = None if schedule is None else replace(schedule, made={}).to_json()
    # The template keeps the models, so that no other object gets their ids.
    return (
        prices,
        fork,
        network,
        *((name, id(numeric_models[name])) for name in sorted(numeric_models)),
    )

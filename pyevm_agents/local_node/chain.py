"""The chain of a node: new, stored, or a fixture's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.cache_folder import get_facts_folder
from pyevm_agents.chain import Chain, read_chain_config
from pyevm_agents.chain.fork_setup import choose_hardfork
from pyevm_agents.chain.genesis import compute_genesis_base_fee
from pyevm_agents.config import (
    DEFAULT_BASE_FEE_WEI,
    DEFAULT_BLOCK_GAS_LIMIT,
    DEFAULT_CHAIN_ID,
    DEFAULT_FORK,
    ChainConfig,
)
from pyevm_agents.config.chain_config import get_fingerprint
from pyevm_agents.config.schedule_file import ScheduleFile, read_schedule
from pyevm_agents.errors import ConfigError
from pyevm_agents.local_node.numeric_files import keep_numeric_files, read_numeric_files
from pyevm_agents.model_registry.profiles import add_models, build_numeric_profiles
from pyevm_agents.model_registry.registry import ModelChoice, build_profiles, open_registry
from pyevm_agents.models import CachingModel, LlamaModel, ProfileFacts, SwappableModel
from pyevm_agents.models.store.store import open_run_store
from pyevm_agents.oracle.node_models import read_node_models

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import ExitStack

    from eth.abc import StateAPI
    from eth_typing import Address

    from precompiles.language_model import LanguageModel, ModelProfile
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.chain import GenesisAccount
    from pyevm_agents.chain.database import Rows
    from pyevm_agents.forking import RemoteFork
    from pyevm_agents.local_node.config import NodeConfig, NodeModel
    from pyevm_agents.local_node.genesis_file import GenesisFile
    from pyevm_agents.models import Progress, Store
    from pyevm_agents.models.numeric.catalogue import NamedModels
    from pyevm_agents.recordings import Fixture


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChain:
    """A chain, the agents, and notes for the start message."""

    chain: Chain
    agents: tuple[Address, ...] = ()
    """Agents of a fixture."""

    notes: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class NodeSetup:
    """Everything that a node's chain is built from."""

    config: NodeConfig
    genesis: GenesisFile
    rows: Rows
    accounts: Mapping[Address, GenesisAccount]
    """Accounts of genesis; a fixture's chain gets the missing ones."""

    stack: ExitStack
    """Closes the engines and the store when the node ends."""

    on_progress: Callable[[Progress], None] | None = None
    on_warning: Callable[[str], None]
    """Called with the store's first failure."""

    start_seconds: int
    """Timestamp of a new genesis, in Unix seconds, unless the config or its file states one."""

    fork_block: RemoteFork | None = None
    """The block of a live chain to continue, if any."""

    engines: list[LlamaModel] = field(default_factory=list)
    """The models that the setup opened."""

    def open_chain(self) -> NodeChain:
        """Open the stored chain, or create one.

        Raises: ConfigError: a model, a price or a parameter is invalid, or is not that of the
                stored chain.
        """
        numeric_models = self._open_numeric_models()
        config = (
            self._build_config()
            if self.fork_block is None
            else build_live_chain_config(self.config, self.fork_block)
        )
        config = replace(config, numeric_models=build_numeric_profiles(numeric_models))
        given = (ModelChoice(),) if self.config.models is None else self.config.models
        models: dict[str, SwappableModel] = {}
        if given:
            choices = [*map(_resolve_model, given)]
            opened = [self._open_model(each) for each in choices]
            facts = [require_facts(each) for each in opened]
            named = [each if isinstance(each, ModelChoice) else ModelChoice() for each in choices]
            profiles = build_profiles(named, facts)
            _require_different(profiles)
            config = add_models(config, [*zip(profiles, facts, strict=True)])
            store = self._open_store()
            models = {
                profile.name: SwappableModel(_wrap_in_cache(model, store))
                for profile, model in zip(profiles, opened, strict=True)
            }
        if config.has_models:
            config = self._apply_schedule(config)
        chain = Chain(
            config,
            models,
            numeric_models=numeric_models,
            accounts=self.accounts,
            rows=self.rows,
            fork=self.fork_block,
        )
        keep_numeric_files(self.rows, numeric_models)
        return NodeChain(chain=chain)

    def _open_numeric_models(self) -> dict[str, NumericModel]:
        """Return the given numeric models; without any, the stored chain's or the live chain's."""
        given = open_numeric_models(self.config.numeric_models)
        if given:
            return given
        stored = read_numeric_files(self.rows)
        if stored is not None:
            return stored
        is_new = self.fork_block is not None and read_chain_config(self.rows) is None
        return read_node_models(self.fork_block) if is_new and self.fork_block else {}

    def _get_rule(self, name: str, default: int) -> int:
        """Return a parameter: the config's, that of the genesis file, or the default."""
        value: int | None = getattr(self.config, name)
        return self.genesis.rules.get(name, default) if value is None else value

    def _build_config(self) -> ChainConfig:
        """Return the config of a chain without models.

        The default timestamp of genesis is that of the stored chain, or the start's.
        """
        stored = read_chain_config(self.rows)
        start_seconds = stored.genesis_timestamp_seconds if stored else self.start_seconds
        base_fee_wei = self._get_rule("base_fee_wei", DEFAULT_BASE_FEE_WEI)
        # The default genesis stays that of recorded chains.
        is_default = self.config.base_fee_wei is None and "base_fee_wei" not in self.genesis.rules
        return ChainConfig(
            chain_id=self._get_rule("chain_id", DEFAULT_CHAIN_ID),
            block_gas_limit=self._get_rule("gas_limit", DEFAULT_BLOCK_GAS_LIMIT),
            base_fee_wei=base_fee_wei,
            genesis_has_base_fee=(
                stored.genesis_has_base_fee
                if stored
                else not is_default and compute_genesis_base_fee(base_fee_wei) != base_fee_wei
            ),
            genesis_timestamp_seconds=self._get_rule("timestamp_seconds", start_seconds),
            fork=self.config.fork_name or DEFAULT_FORK,
            code_size_bytes=self.config.code_size_bytes,
        )

    def _apply_schedule(self, config: ChainConfig) -> ChainConfig:
        """Return the config with the given gas prices, or with those of the stored chain.

        Raises: ConfigError: the schedule is not for these models.
        """
        schedule = self.config.schedule
        if isinstance(schedule, Path):
            schedule = read_schedule(schedule)
        if schedule is not None:
            return schedule.apply_to(config)
        stored_config = read_chain_config(self.rows)
        if stored_config is None or _list_digests(stored_config) != _list_digests(config):
            return config
        return ScheduleFile.from_config(stored_config).apply_to(config)

    def open_fixture_chain(self, fixture: Fixture) -> NodeChain:
        """Open a chain at a fixture's head.

        Recorded generations are replayed; the model computes others.

        Raises: ConfigError: the fixture is a fork's, which lacks state that new blocks read; the
                model that the user passed is not the fixture's.
                BlockError: a block's results differ from the fixture's.
        """
        from pyevm_agents.recordings import replay  # noqa: PLC0415 - seldom needed

        _require_own_chain(fixture)
        beyond, note = self._open_fixture_models(fixture)
        models = {
            name: SwappableModel(model)
            for name, model in replay.build_recorded_models(fixture, beyond).items()
        }
        chain = Chain(
            fixture.config,
            models,
            numeric_models=replay.open_numeric_models(fixture),
            accounts=fixture.pre,
            rows=self.rows,
        )
        if chain.head.block_number == 0:
            for recorded in fixture.blocks:
                chain.import_block(recorded.encoded)
            chain.patch_state(self._fund)
        positions = {(step.block, step.transaction) for step in fixture.steps}
        called = [
            fixture.get_block(block).block.transactions[index].to
            for block, index in sorted(positions)
        ]
        notes = (f"Fixture {fixture.name}: {fixture.comment}", *note)
        return NodeChain(chain=chain, agents=tuple(dict.fromkeys(called)), notes=notes)

    def _open_fixture_models(
        self, fixture: Fixture
    ) -> tuple[dict[str, LanguageModel] | None, tuple[str, ...]]:
        """Return the models for prompts that a fixture lacks, or notes why there are none."""
        profiles = fixture.config.models
        given = (ModelChoice(),) if self.config.models is None else self.config.models
        if not given or len(profiles) != 1:
            return None, ("Only recorded prompts have generations.",)
        model = self._open_model(_resolve_model(given[0]), profiles[0].context_tokens)
        other = _describe_model_mismatch(require_facts(model), fixture)
        if other is None:
            return {profiles[0].name: _wrap_in_cache(model, self._open_store())}, ()
        if self.config.models is not None:
            raise ConfigError(
                f"fixture {fixture.name} was recorded with another model: {other}; omit --model "
                "and --adapter"
            )
        note = (
            f"Fixture {fixture.name} was recorded with another model: {other}. Only recorded "
            "prompts have generations."
        )
        return None, (note,)

    def _fund(self, state: StateAPI) -> None:
        """Fund the node's accounts that have no ether."""
        for address, account in self.accounts.items():
            if not state.get_balance(address):
                state.set_balance(address, account.balance_wei)

    def _open_model(
        self, choice: ModelChoice | LanguageModel, context_tokens: int | None = None
    ) -> LanguageModel:
        """Return a model: the given one, or an engine that the node closes."""
        if not isinstance(choice, ModelChoice):
            return choice
        llama = choice.open(
            threads=self.config.threads,
            context_tokens=context_tokens,
            kept_facts=get_facts_folder(),
            progress=self.on_progress,
        )
        self.engines.append(self.stack.enter_context(llama))
        return llama

    def _open_store(self) -> Store:
        return self.stack.enter_context(
            open_run_store(self.config.store_path, report=self.on_warning)
        )


def build_live_chain_config(config: NodeConfig, fork_block: RemoteFork) -> ChainConfig:
    """Return the config of a fork without models: the live chain's, unless the node's differs.

    A block's gas limit is at least the default, since an agent's run may need more than a live
    chain's block.
    """
    origin, header = fork_block.origin, fork_block.header
    return ChainConfig(
        chain_id=config.chain_id or origin.chain_id,
        block_gas_limit=config.gas_limit or max(DEFAULT_BLOCK_GAS_LIMIT, header.gas_limit),
        genesis_timestamp_seconds=header.timestamp,
        fork=config.fork_name or choose_hardfork(origin, header),
        code_size_bytes=config.code_size_bytes,
        origin=origin,
    )


def open_numeric_models(models: NamedModels) -> dict[str, NumericModel]:
    """Open numeric models by name.

    Raises: ConfigError: a file can't be read, or is not a numeric model.
    """
    if not models:
        return {}
    from pyevm_agents.models.numeric import open_named_models  # noqa: PLC0415 - imports onnx

    return open_named_models(models)


def require_facts(model: LanguageModel) -> ProfileFacts:
    """Return the facts of a model for genesis.

    Raises: ConfigError: the model has none.
    """
    facts = getattr(model, "profile_facts", None)
    if not isinstance(facts, ProfileFacts):
        raise ConfigError(
            f"model {model!r}: must have `profile_facts`; pass a `LlamaModel`, a `ScriptedModel`, "
            "a file or a name"
        )
    return facts


def _resolve_model(model: NodeModel) -> ModelChoice | LanguageModel:
    if isinstance(model, Path):
        return ModelChoice(path=model)
    return open_registry().resolve(model) if isinstance(model, str) else model


def _list_digests(config: ChainConfig) -> tuple[list[bytes], list[bytes]]:
    """Return the digests of a chain's models of both kinds."""
    numeric = [model.digest for model in config.numeric_models]
    return [model.digest for model in config.models], numeric


def _require_own_chain(fixture: Fixture) -> None:
    origin = fixture.config.origin
    if origin is not None:
        raise ConfigError(
            f"fixture {fixture.name}: a recorded fork of chain {origin.chain_id} has only the "
            "remote state that its own blocks read, and a node reads more: must be a chain of its "
            "own; replay the fixture with pyevm-agents replay, or fork the chain itself with "
            f"--fork-url and --fork-block-number {origin.block_number}"
        )


def _wrap_in_cache(model: LanguageModel, store: Store) -> LanguageModel:
    """Return a model whose generations are stored, unless a script decides them."""
    if not isinstance(model, LlamaModel):
        return model
    facts = model.profile_facts
    return CachingModel(model, digest=facts.digest, fingerprint=facts.fingerprint, store=store)


def _require_different(profiles: Sequence[ModelProfile]) -> None:
    """Reject a model that is given twice: a `modelId` may be a digest.

    Raises: ConfigError: two models have one digest.
    """
    names: dict[bytes, str] = {}
    for profile in profiles:
        if other := names.get(profile.digest):
            raise ConfigError(
                f"models {other} and {profile.name} have one SHA-256, "
                f"{profile.digest.hex()[:16]}…: a chain has each model once; omit one"
            )
        names[profile.digest] = profile.name


def _describe_model_mismatch(facts: ProfileFacts, fixture: Fixture) -> str | None:
    """Return how a model differs from a fixture's; None for the same one."""
    profile = fixture.config.models[0]
    if facts.digest != profile.digest:
        return f"its SHA-256 is {facts.digest.hex()[:16]}…, not {profile.digest.hex()[:16]}…"
    if facts.fingerprint != get_fingerprint(fixture.config, profile):
        return "the profile of this engine build differs"
    return None

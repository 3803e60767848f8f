"""The chain of a node: new, stored, or a fixture's."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyevm_agents.chain import Chain, read_chain_config
from pyevm_agents.chain.fork_setup import choose_hardfork
from pyevm_agents.config import DEFAULT_CODE_SIZE_BYTES, ChainConfig
from pyevm_agents.config.chain_config import get_fingerprint
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import add_models, build_numeric_profiles
from pyevm_agents.model_registry.registry import build_profiles
from pyevm_agents.models import CachingModel, LlamaModel, SwappableModel

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
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Store
    from pyevm_agents.recordings import Fixture

WEI = 10**18


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOptions:
    """The chain's parameters, unless it is a fixture's chain."""

    chain_id: int
    gas_limit: int
    base_fee: int
    timestamp: int | None
    fork: str
    schedule: ScheduleFile | None
    """Gas prices; None for those of the stored chain, or the defaults of a new one."""

    code_size: int = DEFAULT_CODE_SIZE_BYTES
    """Size limit of a contract's code, in bytes."""

    given: frozenset[str] = frozenset()
    """Names of the command's parameters that the user gave."""

    def build_config(self, rows: Rows) -> ChainConfig:
        """Return the config of a chain without models.

        The default timestamp of genesis is that of the stored chain, or now.
        """
        timestamp = self.timestamp
        if timestamp is None:
            stored_config = read_chain_config(rows)
            timestamp = (
                stored_config.genesis_timestamp_seconds if stored_config else int(time.time())
            )
        return ChainConfig(
            chain_id=self.chain_id,
            block_gas_limit=self.gas_limit,
            base_fee_wei=self.base_fee,
            genesis_timestamp_seconds=timestamp,
            fork=self.fork,
            code_size_bytes=self.code_size,
        )

    def build_fork_config(self, fork_block: RemoteFork) -> ChainConfig:
        """Return the config of a fork without models: the remote chain's, unless options differ.

        A block's gas limit is at least the default, since an agent's run may need more than a live
        chain's block.
        """
        origin, header = fork_block.origin, fork_block.header
        return ChainConfig(
            chain_id=self.chain_id if "chain_id" in self.given else origin.chain_id,
            block_gas_limit=self.gas_limit
            if "gas_limit" in self.given
            else max(self.gas_limit, header.gas_limit),
            genesis_timestamp_seconds=header.timestamp,
            fork=self.fork if "fork" in self.given else choose_hardfork(origin, header),
            code_size_bytes=self.code_size,
            origin=origin,
        )

    def apply_schedule(self, config: ChainConfig, rows: Rows) -> ChainConfig:
        """Return the config with these gas prices, or with those of the stored chain.

        Raises: ConfigError: the schedule is not for these models.
        """
        if self.schedule is not None:
            return self.schedule.apply_to(config)
        stored_config = read_chain_config(rows)
        if stored_config is None or _list_digests(stored_config) != _list_digests(config):
            return config
        return ScheduleFile.from_config(stored_config).apply_to(config)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChain:
    """A chain, its agents, and notes for the start message."""

    chain: Chain
    agents: tuple[Address, ...] = ()
    """Agents of a fixture."""

    notes: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class NodeSetup:
    """Everything that a node's chain is built from."""

    rules: ChainOptions
    rows: Rows
    accounts: Mapping[Address, GenesisAccount]
    """Accounts of genesis; a fixture's chain gets the missing ones."""

    choices: tuple[ModelChoice, ...]
    """The models; none for a plain chain."""

    open_model: Callable[[ModelChoice, int | None], LlamaModel]
    """Opens a model, given its context in tokens, or None for its own."""

    is_own_model: bool
    """Whether the user passed a model: then no other is used."""

    open_store: Callable[[], Store]
    stack: ExitStack
    """Closes the engines when the node ends."""

    numeric_models: Mapping[str, NumericModel] = field(default_factory=dict)
    """The models at 0x1a by name."""

    fork_block: RemoteFork | None = None
    """The block of a live chain to continue, if any."""

    engines: list[LlamaModel] = field(default_factory=list)

    def open_chain(self) -> NodeChain:
        """Open the stored chain, or create one."""
        config = (
            self.rules.build_config(self.rows)
            if self.fork_block is None
            else self.rules.build_fork_config(self.fork_block)
        )
        config = replace(config, numeric_models=build_numeric_profiles(self.numeric_models))
        models: dict[str, SwappableModel] = {}
        if self.choices:
            engines = [self._open_engine(self.open_model(each, None)) for each in self.choices]
            facts = [each.profile_facts for each in engines]
            profiles = build_profiles(self.choices, facts)
            _require_different(profiles)
            config = add_models(config, [*zip(profiles, facts, strict=True)])
            store = self.open_store()
            models = {
                profile.name: SwappableModel(_wrap_in_cache(llama, store))
                for profile, llama in zip(profiles, engines, strict=True)
            }
        if config.has_models:
            config = self.rules.apply_schedule(config, self.rows)
        chain = Chain(
            config,
            models,
            numeric_models=self.numeric_models,
            accounts=self.accounts,
            rows=self.rows,
            fork=self.fork_block,
        )
        return NodeChain(chain=chain)

    def open_fixture_chain(self, fixture: Fixture) -> NodeChain:
        """Open a chain at a fixture's head.

        Recorded generations are replayed; the model computes others.

        Raises: ConfigError: the fixture is a fork's, which lacks state that new blocks read; the
                model that the user passed is not the fixture's.
                BlockError: a block's results differ from the fixture's.
        """
        from pyevm_agents.recordings.replay import (  # noqa: PLC0415 - seldom needed
            build_recorded_models,
            open_numeric_models,
        )

        _require_own_chain(fixture)
        beyond, note = self._open_fixture_models(fixture)
        models = {
            name: SwappableModel(model)
            for name, model in build_recorded_models(fixture, beyond).items()
        }
        chain = Chain(
            fixture.config,
            models,
            numeric_models=open_numeric_models(fixture),
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
        if not self.choices or len(profiles) != 1:
            return None, ("Only recorded prompts have generations.",)
        (choice,) = self.choices
        llama = self._open_engine(self.open_model(choice, profiles[0].context_tokens))
        other = _describe_model_mismatch(llama, fixture)
        if other is None:
            return {profiles[0].name: _wrap_in_cache(llama, self.open_store())}, ()
        if self.is_own_model:
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

    def _open_engine(self, llama: LlamaModel) -> LlamaModel:
        self.engines.append(self.stack.enter_context(llama))
        return llama


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


def _wrap_in_cache(llama: LlamaModel, store: Store) -> CachingModel:
    facts = llama.profile_facts
    return CachingModel(llama, digest=facts.digest, fingerprint=facts.fingerprint, store=store)


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


def _describe_model_mismatch(llama: LlamaModel, fixture: Fixture) -> str | None:
    """Return how a model differs from a fixture's; None if it is the same."""
    facts, profile = llama.profile_facts, fixture.config.models[0]
    if facts.digest != profile.digest:
        return f"its SHA-256 is {facts.digest.hex()[:16]}…, not {profile.digest.hex()[:16]}…"
    if facts.fingerprint != get_fingerprint(fixture.config, profile):
        return "the profile of this engine build differs"
    return None

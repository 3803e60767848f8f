"""Chain set-up: writing genesis, or verifying the chain in a database; the precompiles' models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth_typing import BlockNumber

from precompiles.decoding_rules import DecodingRules
from precompiles.executor import Executor
from precompiles.language_model import HasProfile
from precompiles.numeric_executor import NumericExecutor
from pyevm_agents.chain.database import CONFIG_KEY
from pyevm_agents.chain.genesis import build_genesis_state
from pyevm_agents.config import ChainConfig, check_fits, check_numeric_fits
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.chooser.installed import find_chooser
from pyevm_agents.strict_json import parse_json
from pyevm_agents.vm import RecordingObserver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth.typing import HeaderParams
    from eth_typing import Address

    from precompiles.language_model import LanguageModel
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.agents.events import AgentEventBus
    from pyevm_agents.chain.database import Database, Rows
    from pyevm_agents.chain.genesis import GenesisAccount
    from pyevm_agents.config import ForkOrigin
    from pyevm_agents.vm import AgentMiningChain


def setup_genesis(
    db: Database,
    chain_class: type[AgentMiningChain],
    config: ChainConfig,
    header: Mapping[str, HeaderParams],
    accounts: Mapping[Address, GenesisAccount],
) -> None:
    """Write genesis into an empty database; otherwise verify the same chain.

    Input:
        db: the chain's database.
        chain_class: py-evm's chain class for the config.
        config: the chain config.
        header: fields of block 0's header.
        accounts: genesis accounts.

    Raises: ConfigError: the database holds a chain of another config or genesis; or the config is
            a fork's.
    """
    require_supported(config)
    if db.exists(CONFIG_KEY):
        require_config(db, config)
        _require_genesis(db, chain_class, header, accounts)
        return
    chain_class.from_genesis(AtomicDB(db), dict(header), build_genesis_state(accounts))
    db[CONFIG_KEY] = config.to_json().encode()
    db.commit()


def require_supported(config: ChainConfig, origin: ForkOrigin | None = None) -> None:
    """Reject a chain config whose origin is not that of the fork that the chain is opened with.

    Input: origin: of the fork, if any.

    Raises: ConfigError.
    """
    if config.origin is None and origin is not None:
        raise ConfigError(
            f"chain configuration without an origin, opened as {_describe_origin(origin)}; use "
            "that fork's configuration, or open the chain without a fork"
        )
    if config.origin is not None and origin is None:
        raise ConfigError(
            f"this chain is {_describe_origin(config.origin)}: open it with --fork-url and the URL "
            f"of that chain, and --fork-block-number {config.origin.block_number}"
        )
    if config.origin != origin:
        assert config.origin is not None  # noqa: S101 - see above
        assert origin is not None  # noqa: S101 - see above
        raise ConfigError(
            f"this chain is {_describe_origin(config.origin)}, not {_describe_origin(origin)}; "
            "give it the fork that it was created with"
        )


def _describe_origin(origin: ForkOrigin) -> str:
    return (
        f"a fork of chain {origin.chain_id} at block {origin.block_number} "
        f"(0x{origin.block_hash.hex()})"
    )


def _require_decoding_rules(config: ChainConfig) -> None:
    for model in config.models:
        try:
            rules = DecodingRules.parse(model.decoding)
        except ValueError as error:
            raise ConfigError(
                f"model {model.name}: {error}; or open the chain with the version that created it"
            ) from error
        if rules.thresholds is not None and not model.chooser:
            raise ConfigError(
                f"model {model.name}: its decoding rules need a chooser, and it names none; write "
                "the adapter anew with `python -m training.set_rules OLD NEW --chooser FILE`"
            )


def read_chain_config(rows: Rows) -> ChainConfig | None:
    """Return the config of the chain in a database; None if empty.

    Raises: ConfigError: the config is of another version.
    """
    row = rows.get(CONFIG_KEY)
    return None if row is None else ChainConfig.from_json(row.decode(errors="replace"))


def build_executor(
    config: ChainConfig, models: Mapping[str, LanguageModel], agent_events: AgentEventBus
) -> Executor | None:
    """Return the executor of a chain; None without models.

    Input:
        config: the chain config.
        models: a language model for each model name of the config.
        agent_events: announces the executor's calls.

    Raises: ConfigError: a configured model has no language model, or one is left over; or this
            version does not implement a decoding rule, or lacks a profile's chooser.
    """
    wanted = {profile.name for profile in config.models}
    if wanted != set(models):
        raise ConfigError(
            f"language models {sorted(models)}: must be those of the chain config, {sorted(wanted)}"
        )
    if not config.models:
        return None
    _require_decoding_rules(config)
    pairs = [(profile, models[profile.name]) for profile in config.models]
    for profile, model in pairs:
        facts = model.profile_facts if isinstance(model, HasProfile) else None
        if facts is not None:
            check_fits(config, profile, facts)
    return Executor(
        pairs,
        choosers=[find_chooser(profile.chooser) for profile in config.models if profile.chooser],
        schedule=config.schedule,
        observer=RecordingObserver(agent_events),
    )


def build_numeric_executor(
    config: ChainConfig, models: Mapping[str, NumericModel]
) -> NumericExecutor | None:
    """Return the numeric models' precompile of a chain, or None.

    Input:
        config: the chain config.
        models: a numeric model for each name in `numeric_models` of the config.

    Raises: ConfigError: a configured model is missing, left over, or not the one in the config.
    """
    wanted = {profile.name for profile in config.numeric_models}
    if wanted != set(models):
        raise ConfigError(
            f"numeric models {sorted(models)}: must be those of the chain config, {sorted(wanted)}"
        )
    if not config.numeric_models:
        return None
    pairs = [(profile, models[profile.name]) for profile in config.numeric_models]
    for profile, model in pairs:
        check_numeric_fits(profile, model)
    return NumericExecutor(pairs, schedule=config.numeric_schedule)


def require_config(db: Database, config: ChainConfig) -> None:
    """Verify the config of the chain in a database.

    Raises: ConfigError: another config; the message names the first difference.
    """
    stated = db[CONFIG_KEY].decode(errors="replace")
    if stated != config.to_json():
        stored = ChainConfig.from_json(stated)  # Another version has an error of its own.
        require_supported(stored, config.origin)
        raise ConfigError(
            "the chain stored there has another configuration: "
            f"{_describe_difference(stated, config.to_json())}; start it with the options that it "
            "was created with, or store a new chain elsewhere"
        )


def _require_genesis(
    db: Database,
    chain_class: type[AgentMiningChain],
    header: Mapping[str, HeaderParams],
    accounts: Mapping[Address, GenesisAccount],
) -> None:
    scratch = AtomicDB(MemoryDB())
    chain_class.from_genesis(scratch, dict(header), build_genesis_state(accounts))
    wanted = chain_class(scratch).get_canonical_head().hash
    stored_hash = chain_class(AtomicDB(db)).get_canonical_block_hash(BlockNumber(0))
    if wanted != stored_hash:
        raise ConfigError(
            f"the chain stored there has genesis block 0x{stored_hash.hex()}, and these accounts "
            f"give 0x{wanted.hex()}; start it with the accounts that it was created with (a node's "
            "follow from --fixture, --genesis, --registries, --accounts, --balance and "
            "--mnemonic), or store a new chain elsewhere"
        )


def _describe_difference(stated: str, own: str) -> str:
    """Describe the first entry that differs between two configs."""
    doc, other = parse_json(stated), parse_json(own)
    name = _find_differing_key(doc, other)
    if name == "limits" and doc.get("numeric_models") != other.get("numeric_models"):
        name = "numeric_models"  # Limits of numeric models are there with these alone.
    if name not in {"models", "numeric_models"}:
        return f"{name} is {json.dumps(doc.get(name))} there and {json.dumps(other.get(name))} here"
    there, here = _describe_models(doc.get(name, ())), _describe_models(other.get(name, ()))
    if there != here:
        return f"its {name.replace('_', ' ')} are {there} there and {here} here"
    model, same = next((a, b) for a, b in zip(doc[name], other[name], strict=True) if a != b)
    name = _find_differing_key(model, same)
    difference = f"{json.dumps(model.get(name))} there and {json.dumps(same.get(name))} here"
    return f"{name} of model {model['name']} is {difference}"


def _find_differing_key(doc: Mapping[str, object], other: Mapping[str, object]) -> str:
    return next((n for n in sorted(doc.keys() | other.keys()) if doc.get(n) != other.get(n)), "")


def _describe_models(models: Sequence[Mapping[str, str]]) -> str:
    """Return the models' names and shortened digests."""
    return ", ".join(f"{model['name']} {model['digest'][:18]}…" for model in models) or "none"

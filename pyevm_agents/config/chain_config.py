"""What a chain is: its id, its models with digests and prices, its schedule. A part of genesis.

A configuration has one canonical JSON form, whose keccak is the `extraData` of the genesis
header: two chains with the same genesis hash run the same rules on the same models.

Source: architecture, decision 3.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import keccak

from precompiles import spec
from precompiles.gas import DEFAULT_SCHEDULE, GasSchedule
from precompiles.language_model import ModelProfile
from pyevm_agents.config.json_limits import MAX_DEPTH, is_too_deep
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.language_model import ModelIdentity

DEFAULT_CHAIN_ID = 31_337
"""The chain id of local development networks."""

DEFAULT_BLOCK_GAS_LIMIT = 30_000_000
"""Gas of a block; the default schedule lets a five-step wallet run fit into it."""

DEFAULT_FORK = "prague"
FORKS = ("cancun", DEFAULT_FORK)
"""Ethereum's forks whose rules `pyevm_agents.vm` has: py-evm's newest. Agents need the transient
storage of cancun at least."""

MIN_BLOCK_GAS_LIMIT = 5_000
"""Gas of the smallest block. Source: yellow paper, 4.4.4."""

MAX_PRICE_GAS = 2**63 - 1
"""Gas of the dearest price: whole numbers beyond it are none to many readers of JSON."""

DIGEST_BYTES = 32
"""Bytes of a SHA-256 digest."""

DEFAULT_BASE_FEE_WEI = 1_000_000_000
"""Base fee of the first block: that of mainnet's first with EIP-1559."""

DEFAULT_GENESIS_TIMESTAMP_SECONDS = 1_735_689_600
"""Midnight of 1 January 2025, UTC: late enough for contracts that subtract days."""

_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.\-]{0,63}")
_LIMITS = (
    "MAX_CALLDATA_BYTES",
    "MAX_METADATA_BYTES",
    "MAX_TOOLS",
    "MAX_PARAMETERS",
    "MAX_NAME_BYTES",
    "MAX_ADDRESSES",
    "MAX_HANDLE_CHARACTERS",
    "MAX_ARRAY_ITEMS",
    "MAX_THOUGHT_CHARACTERS",
    "MAX_TEXT_CHARACTERS",
    "MAX_REASON_BYTES",
    "PROMPT_BLOCK_TOKENS",
    "WARM_PREFIXES",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainConfig:
    """The rules of one chain.

    Raises: ConfigError: a value that no chain can have; the message says which and why.
    """

    models: tuple[ModelProfile, ...] = ()
    """The models that contracts may ask for. Without one the chain has no executor."""

    chain_id: int = DEFAULT_CHAIN_ID
    """EIP-155 chain id."""

    block_gas_limit: int = DEFAULT_BLOCK_GAS_LIMIT
    """Gas of a block, in gas."""

    base_fee_wei: int = DEFAULT_BASE_FEE_WEI
    """Base fee of the genesis block, in wei a gas."""

    genesis_timestamp_seconds: int = DEFAULT_GENESIS_TIMESTAMP_SECONDS
    """Time of the genesis block, in seconds since 1970."""

    fork: str = DEFAULT_FORK
    """The Ethereum fork whose rules hold beside the executor's."""

    profile_fingerprint: str = ""
    """Which build and settings of the inference engine give this chain's results."""

    schedule: GasSchedule = DEFAULT_SCHEDULE
    """What the executor charges beside its models' tokens."""

    def __post_init__(self) -> None:
        """Check what genesis could not take back."""
        _check_kinds(self)
        if not 1 <= self.chain_id < 2**63:
            raise ConfigError(f"chain id {self.chain_id}: choose one from 1 to 2^63 - 1")
        if self.fork not in FORKS:
            known = ", ".join(map(repr, FORKS))
            raise ConfigError(f"fork {self.fork!r}: this version knows only {known}")
        if self.block_gas_limit < MIN_BLOCK_GAS_LIMIT:
            raise ConfigError(
                f"block gas limit {self.block_gas_limit}: at least {MIN_BLOCK_GAS_LIMIT}"
            )
        if self.base_fee_wei < 0 or self.genesis_timestamp_seconds < 0:
            raise ConfigError(
                f"base fee {self.base_fee_wei} wei, genesis at {self.genesis_timestamp_seconds} s: "
                "neither can be negative"
            )
        _check_schedule(self.schedule)
        for model in self.models:
            _check_model(model)
        names = [name for model in self.models for name in (model.name, *model.aliases)]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"two models are called {name!r}; give each its own name")

    def to_json(self) -> str:
        """Return the canonical JSON form: sorted keys, no white space, digests in hexadecimal."""
        form = dataclasses.asdict(self)
        for model in form["models"]:
            model["digest"] = "0x" + model["digest"].hex()
        form["limits"] = {name: getattr(spec, name) for name in _LIMITS}
        form["schedule"] = {name.upper(): gas for name, gas in form["schedule"].items()}
        return json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> ChainConfig:
        """Return the configuration of a canonical JSON form.

        Raises: ConfigError: it is none, or of a version with other limits.
        """
        if is_too_deep(text):
            raise ConfigError(
                f"no configuration of a chain: its JSON is more than {MAX_DEPTH} levels deep"
            )
        try:
            form = json.loads(text)
            limits, schedule = form.pop("limits"), _parse_schedule(form.pop("schedule"))
            models = [
                ModelProfile(
                    **model
                    | {
                        "aliases": tuple(model["aliases"]),
                        "digest": bytes.fromhex(model["digest"].removeprefix("0x")),
                    }
                )
                for model in form.pop("models")
            ]
            config = cls(models=tuple(models), schedule=schedule, **form)
        except (KeyError, TypeError, AttributeError, RecursionError, ValueError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"no configuration of a chain: {error!r}") from error
        for name, value in limits.items():
            if getattr(spec, name, None) != value:
                raise ConfigError(
                    f"the chain has {name} = {value!r}, this version "
                    f"{getattr(spec, name, None)!r}: use the version that made the chain"
                )
        if config.to_json() != text:
            stated, own = json.loads(text), json.loads(config.to_json())
            other = next((name for name in own if stated[name] != own[name]), "its spelling")
            raise ConfigError(
                f"{other} is not as `ChainConfig.to_json` writes it (keys sorted, no white space, "
                "lower-case hexadecimal)"
            )
        return config

    @property
    def digest(self) -> bytes:
        """Keccak of the canonical JSON form, 32 bytes: the genesis header's `extraData`."""
        return keccak(text=self.to_json())


def check_fits(config: ChainConfig, profile: ModelProfile, facts: ModelIdentity) -> None:
    """Refuse a language model that is not the one a chain's genesis names.

    Raises: ConfigError: another file, too small a context, or another build of the engine.
    """
    if facts.digest != profile.digest:
        raise ConfigError(
            f"model {profile.name}: genesis names that of SHA-256 {profile.digest.hex()}, "
            f"this one has {facts.digest.hex()}; use that file, with the adapter it had, if any"
        )
    if facts.context_tokens < profile.context_tokens:
        raise ConfigError(
            f"model {profile.name}: genesis promises a context of {profile.context_tokens} tokens, "
            f"the engine has {facts.context_tokens}; load it with context_tokens="
            f"{profile.context_tokens}"
        )
    computes = json.loads(facts.fingerprint).get("canary", "") != ""
    if computes and facts.fingerprint != config.profile_fingerprint:
        raise ConfigError(
            f"model {profile.name}: the engine's profile is {facts.fingerprint}, "
            f"the chain's is {config.profile_fingerprint!r}: use the build that genesis names, or "
            "replay what was recorded there, without a model: `pyevm-agents replay FIXTURE`, or "
            "`pyevm_agents.recordings.open_chain(fixture)`"
        )


def _check_kinds(form: ChainConfig | ModelProfile | GasSchedule) -> None:
    """Refuse a number or a text that is none: JSON could bring one here, and genesis would fail."""
    kinds = {"int": (int, "a whole number"), "str": (str, "a text")}
    for each in dataclasses.fields(form):
        value = getattr(form, each.name)
        kind, described = kinds.get(str(each.type), (object, ""))
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ConfigError(f"{each.name} is {value!r}: must be {described}")


def _parse_schedule(form: Mapping[str, int]) -> GasSchedule:
    """Return the schedule of a configuration's JSON form, where its names are in capitals."""
    names = {each.name.upper(): each.name for each in dataclasses.fields(GasSchedule)}
    for name, gas in form.items():
        if name not in names:
            raise ConfigError(
                f"the chain has {name} = {gas!r}, this version no such price: use the version that "
                "made the chain"
            )
    return GasSchedule(**{names[name]: gas for name, gas in form.items()})


def _check_schedule(schedule: GasSchedule) -> None:
    """Refuse a price that is none.

    None may be 0 either: each pays for work of the host that a caller can ask for again and again,
    and a metadata read that may burn nothing could never succeed.
    """
    if not isinstance(schedule, GasSchedule):
        raise ConfigError(
            f"schedule is a {type(schedule).__name__}: must be a `precompiles.gas.GasSchedule`; "
            "what a file says is put in with `ScheduleFile.apply_to`"
        )
    _check_kinds(schedule)
    for each in dataclasses.fields(schedule):
        gas = getattr(schedule, each.name)
        if not 1 <= gas <= MAX_PRICE_GAS:
            raise ConfigError(
                f"schedule: {each.name} is {gas}; choose from 1 to 2^63 - 1 gas, as nothing that a "
                "call makes the executor do is free"
            )


def _check_model(model: ModelProfile) -> None:
    _check_kinds(model)
    for name in (model.name, *model.aliases):
        if not _NAME.fullmatch(name) or name[:2] in {"0x", "0X"}:
            raise ConfigError(
                f"model name {name!r}: use 1 to 64 letters, digits, '_', '.', '-', "
                "the first a letter or digit, and not '0x'"
            )
    if len(model.digest) != DIGEST_BYTES:
        raise ConfigError(f"model {model.name}: digest of {len(model.digest)} bytes, must be 32")
    if not 0 < model.max_output_tokens < model.context_tokens:
        raise ConfigError(
            f"model {model.name}: {model.max_output_tokens} output tokens do not fit "
            f"its context of {model.context_tokens}"
        )
    prices = (model.cold_prompt_token_gas, model.warm_prompt_token_gas, model.output_token_gas)
    is_payable = min(prices) >= 1 and max(prices) <= MAX_PRICE_GAS
    if not is_payable or model.warm_prompt_token_gas > model.cold_prompt_token_gas:
        raise ConfigError(
            f"model {model.name}: prices {prices} (cold, warm, output): each at least 1 gas and at "
            "most 2^63 - 1, and warm at most cold"
        )

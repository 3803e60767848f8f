"""The chain config: chain ID, models with digests and prices, gas schedule. Part of genesis.

The canonical JSON is hashed with keccak into the genesis header's `extraData`, so two chains with
the same genesis hash run the same rules on the same models.

Source: docs/architecture.md#model-is-an-argument.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import keccak

from precompiles import numeric_spec, spec
from precompiles.gas import DEFAULT_SCHEDULE, GasSchedule
from precompiles.language_model import ModelProfile
from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE, NumericGasSchedule
from pyevm_agents.config.optional_sections import (
    DIGEST_BYTES,
    ForkOrigin,
    check_numeric_profile,
    check_numeric_schedule,
    numeric_model_to_form,
    numeric_schedule_to_form,
    parse_hex,
    parse_numeric_model,
    parse_numeric_schedule,
)
from pyevm_agents.errors import ConfigError
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.language_model import ModelIdentity
    from precompiles.numeric_model import NumericModelProfile

VERSION = 3
"""Version of the rules and of the canonical JSON. Version 1 had no number in its JSON. Version 2
had the short format's first rules, and no price of reading a request."""

DEFAULT_CHAIN_ID = 31_337
"""The chain ID of local development networks."""

DEFAULT_BLOCK_GAS_LIMIT = 30_000_000
"""Block gas limit; a wallet run of five steps at default prices fits."""

DEFAULT_FORK = "prague"
FORKS = ("cancun", DEFAULT_FORK, "osaka", "bpo1", "bpo2")
"""Supported forks; `bpo1` and `bpo2` are Osaka with later blob schedules (EIP-7892). The executor
needs Cancun's transient storage."""

DEFAULT_CODE_SIZE_BYTES = 24_576
"""Upper bound of a contract's code. Source: EIP-170."""

MAX_CODE_SIZE_BYTES = 1 << 20
"""Upper bound of the limit of a contract's code: depositing 1 MiB costs 210 million gas."""

MIN_BLOCK_GAS_LIMIT = 5_000
"""Lower bound of the block gas limit. Source: yellow paper, 4.4.4."""

MAX_PRICE_GAS = 2**63 - 1
"""Upper bound of a price: many JSON parsers have 64-bit integers."""

DEFAULT_BASE_FEE_WEI = 1_000_000_000
"""Base fee of block 1, in wei: that of mainnet's first block with EIP-1559, and anvil's."""

MAX_TIMESTAMP_SECONDS = 2**64 - 1
"""The latest timestamp of a header, in Unix seconds. Source: execution specs, `U64`."""

DEFAULT_GENESIS_TIMESTAMP_SECONDS = 1_735_689_600
"""1 January 2025, 00:00 UTC: late enough for contracts that subtract days."""

_RULE = re.compile(r"[a-z][a-z0-9_]{0,63}")
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
_NUMERIC_LIMITS = ("MAX_NUMERIC_CALLDATA_BYTES", "MAX_NUMERIC_INPUTS", "MAX_NUMERIC_OUTPUTS")
"""Limits that the JSON of a chain with numeric models has as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainConfig:
    """The rules of one chain.

    Raises: ConfigError: an invalid value; the message has the value and the constraint.
    """

    models: tuple[ModelProfile, ...] = ()
    """The models of the executor. Without models the chain has no executor."""

    chain_id: int = DEFAULT_CHAIN_ID
    """EIP-155 chain ID, 1 to 2^63 - 1."""

    block_gas_limit: int = DEFAULT_BLOCK_GAS_LIMIT
    """Block gas limit, in gas."""

    base_fee_wei: int = DEFAULT_BASE_FEE_WEI
    """Base fee of block 1, in wei per gas. Genesis has the base fee that EIP-1559 lowers to it,
    unless `genesis_has_base_fee`."""

    genesis_timestamp_seconds: int = DEFAULT_GENESIS_TIMESTAMP_SECONDS
    """Timestamp of the genesis block, in Unix seconds, below 2^64 - 1."""

    fork: str = DEFAULT_FORK
    """The Ethereum fork: one of `FORKS`."""

    profile_fingerprint: str = ""
    """Fingerprint of the engine's build and settings. Source: docs/architecture.md#bit-for-bit."""

    schedule: GasSchedule = DEFAULT_SCHEDULE
    """Prices of the executor's own work."""

    numeric_models: tuple[NumericModelProfile, ...] = ()
    """The numeric models of the chain. Optional section. Without them it has none at 0x1a."""

    numeric_schedule: NumericGasSchedule = DEFAULT_NUMERIC_SCHEDULE
    """Prices of the numeric models' precompile. The canonical JSON of a chain without numeric
    models omits them, so that such a chain has the defaults."""

    origin: ForkOrigin | None = None
    """The block of another chain that this one continues. Optional section."""

    code_size_bytes: int = DEFAULT_CODE_SIZE_BYTES
    """Upper bound of a contract's code, at least EIP-170's; initcode may have twice as much
    (EIP-3860). The canonical JSON omits the default."""

    genesis_has_base_fee: bool = False
    """Whether genesis has the base fee of block 1, as anvil's. Its header then states half of the
    gas limit as used, for which EIP-1559 keeps the fee. The canonical JSON omits the default."""

    def __post_init__(self) -> None:
        """Validate all fields."""
        _check_kinds(self)
        self._check_block_fields()
        _check_schedule(self.schedule)
        for model in self.models:
            _check_model(model)
        self._check_numeric_models()
        named = [name for model in self.models for name in (model.name, *model.aliases)]
        named += [numeric.name for numeric in self.numeric_models]
        for name in named:
            if named.count(name) > 1:
                raise ConfigError(f"two models are called {name!r}; give each its own name")

    def _check_numeric_models(self) -> None:
        check_numeric_schedule(self.numeric_schedule)
        if not self.numeric_models and self.numeric_schedule != DEFAULT_NUMERIC_SCHEDULE:
            raise ConfigError(
                "numeric_schedule: a chain without numeric models must have the default prices; "
                "omit it, or give the chain a numeric model"
            )
        names: dict[bytes, str] = {}
        for numeric in self.numeric_models:
            _check_name(numeric.name)
            check_numeric_profile(numeric)
            if other := names.get(numeric.digest):
                raise ConfigError(
                    f"numeric models {other} and {numeric.name} have one SHA-256, "
                    f"{numeric.digest.hex()[:16]}…: a chain has each model once; omit one"
                )
            names[numeric.digest] = numeric.name

    def _check_block_fields(self) -> None:
        if not 1 <= self.chain_id < 2**63:
            raise ConfigError(f"chain id {self.chain_id}: must be 1 to 2^63 - 1")
        if self.fork not in FORKS:
            known = ", ".join(map(repr, FORKS))
            raise ConfigError(f"fork {self.fork!r}: must be one of {known}")
        if self.block_gas_limit < MIN_BLOCK_GAS_LIMIT:
            raise ConfigError(
                f"block gas limit {self.block_gas_limit}: must be at least {MIN_BLOCK_GAS_LIMIT}"
            )
        if not DEFAULT_CODE_SIZE_BYTES <= self.code_size_bytes <= MAX_CODE_SIZE_BYTES:
            raise ConfigError(
                f"code size limit {self.code_size_bytes}: must be {DEFAULT_CODE_SIZE_BYTES} to "
                f"{MAX_CODE_SIZE_BYTES} bytes"
            )
        if self.base_fee_wei < 0:
            raise ConfigError(f"base fee {self.base_fee_wei} wei: must not be negative")
        if not 0 <= self.genesis_timestamp_seconds < MAX_TIMESTAMP_SECONDS:
            raise ConfigError(
                f"genesis timestamp {self.genesis_timestamp_seconds}: must be 0 to 2^64 - 2, as "
                "each block is later than its parent and timestamps have 64 bits"
            )

    def to_json(self) -> str:
        """Return the canonical JSON: sorted keys, no white space, digests in hexadecimal.

        An empty optional section is omitted.
        """
        form = dataclasses.asdict(self)
        form["version"] = VERSION
        for model in form["models"]:
            model["digest"] = "0x" + model["digest"].hex()
            _fill_or_omit(model, "decoding", dict(model["decoding"]))
            _fill_or_omit(model, "chooser", _show_digest(model["chooser"]))
            _fill_or_omit(model, "chooser_token_gas", model["chooser_token_gas"])
            _fill_or_omit(model, "fingerprint", model["fingerprint"])
        numeric = [numeric_model_to_form(each) for each in self.numeric_models]
        prices = numeric_schedule_to_form(self.numeric_schedule) if numeric else {}
        _fill_or_omit(form, "numeric_models", numeric)
        _fill_or_omit(form, "numeric_schedule", prices)
        _fill_or_omit(form, "origin", self.origin and self.origin.to_form())
        if self.code_size_bytes == DEFAULT_CODE_SIZE_BYTES:
            del form["code_size_bytes"]
        _fill_or_omit(form, "genesis_has_base_fee", self.genesis_has_base_fee)
        form["limits"] = {name: getattr(spec, name) for name in _LIMITS}
        if numeric:
            form["limits"] |= {name: getattr(numeric_spec, name) for name in _NUMERIC_LIMITS}
        form["schedule"] = {name.upper(): gas for name, gas in form["schedule"].items()}
        return json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> ChainConfig:
        """Parse the canonical JSON of a chain config.

        Raises: ConfigError: not a chain config, of another version, or with other limits.
        """
        try:
            form = parse_json(text)
        except ConfigError as error:
            raise ConfigError(f"invalid chain configuration: {error}") from error
        try:
            _require_version(form)
            limits, schedule = form.pop("limits"), _parse_schedule(form.pop("schedule"))
            models = tuple(map(_parse_model, form.pop("models")))
            form["numeric_models"] = tuple(map(parse_numeric_model, form.pop("numeric_models", ())))
            if "numeric_schedule" in form:
                form["numeric_schedule"] = parse_numeric_schedule(form["numeric_schedule"])
            origin = ForkOrigin.from_form(form.pop("origin")) if "origin" in form else None
            config = cls(models=models, schedule=schedule, origin=origin, **form)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"invalid chain configuration: {_describe_error(error)}") from error
        for name, value in limits.items():
            own = getattr(spec, name, getattr(numeric_spec, name, None))
            if own != value:
                raise ConfigError(
                    f"chain configuration with {name} = {value!r}: this version has {own!r}; use "
                    "the version that created the chain"
                )
        if config.to_json() != text:
            stated, written = parse_json(text), parse_json(config.to_json())
            names = sorted(written.keys() | stated.keys())
            other = next((n for n in names if stated.get(n) != written.get(n)), "its spelling")
            raise ConfigError(
                f"{other}: not canonical JSON, as `ChainConfig.to_json` writes it (sorted keys, no "
                "white space, lower-case hexadecimal)"
            )
        return config

    @property
    def has_models(self) -> bool:
        """Whether the chain has models of either kind, so that the config is part of genesis."""
        return bool(self.models or self.numeric_models)

    @property
    def digest(self) -> bytes:
        """Keccak of the canonical JSON, 32 bytes: the genesis header's `extraData`."""
        return keccak(text=self.to_json())


def get_fingerprint(config: ChainConfig, profile: ModelProfile) -> str:
    """Return the fingerprint of a model's engine profile: the own or the chain config's."""
    return profile.fingerprint or config.profile_fingerprint


def check_fits(config: ChainConfig, profile: ModelProfile, facts: ModelIdentity) -> None:
    """Reject a language model that is not the one in a chain config.

    Raises: ConfigError: another model file, a shorter context, or another engine profile.
    """
    if facts.digest != profile.digest:
        raise ConfigError(
            f"model {profile.name}: genesis has SHA-256 {profile.digest.hex()}, this file has "
            f"{facts.digest.hex()}; use the chain's model file, with its adapter, if any"
        )
    if facts.context_tokens < profile.context_tokens:
        raise ConfigError(
            f"model {profile.name}: genesis has a context of {profile.context_tokens} tokens, the "
            f"engine {facts.context_tokens}; load it with context_tokens={profile.context_tokens}"
        )
    computes = parse_json(facts.fingerprint).get("canary", "") != ""
    expected = get_fingerprint(config, profile)
    if computes and facts.fingerprint != expected:
        raise ConfigError(
            f"model {profile.name}: the engine's profile is {facts.fingerprint}, "
            f"the chain's is {expected!r}; use the chain's engine build, or "
            "replay its recording without a model: `pyevm-agents replay FIXTURE`, or "
            "`pyevm_agents.recordings.open_chain(fixture)`"
        )


def _show_digest(digest: bytes) -> str:
    """Return a digest in hexadecimal; empty for none."""
    return f"0x{digest.hex()}" if digest else ""


def _fill_or_omit(form: dict[str, object], name: str, section: object) -> None:
    """Set an optional section of canonical JSON; remove an empty one."""
    form[name] = section
    if not section:
        del form[name]


def _require_version(form: dict[str, object]) -> None:
    """Remove the version of a chain config's JSON.

    Raises: ConfigError: another version.
    """
    version = form.pop("version", 1)
    if version != VERSION or isinstance(version, bool):
        raise ConfigError(
            f"chain configuration of version {version!r}: this version of pyevm-agents has version "
            f"{VERSION}, with other rules and hashes; open it with the version that created it, or "
            "create the chain anew (a fixture by `pyevm-agents record`, a kept chain in another "
            "folder)"
        )


def _parse_model(form: dict[str, Any]) -> ModelProfile:
    return ModelProfile(
        **form
        | {
            "aliases": tuple(form["aliases"]),
            "digest": parse_hex(form["digest"]),
            "decoding": tuple(sorted(form.get("decoding", {}).items())),
            "chooser": parse_hex(form.get("chooser", "0x")),
        }
    )


def _check_kinds(form: ChainConfig | ModelProfile | GasSchedule) -> None:
    """Reject integers, strings and booleans of the wrong type, which JSON may contain."""
    kinds = {
        "int": (int, "a whole number"),
        "str": (str, "a text"),
        "bool": (bool, "true or false"),
    }
    for each in dataclasses.fields(form):
        value = getattr(form, each.name)
        kind, described = kinds.get(str(each.type), (object, ""))
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ConfigError(f"{each.name} {value!r}: must be {described}")


def _describe_error(error: Exception) -> str:
    return f"missing key {error}" if isinstance(error, KeyError) else str(error)


def _parse_schedule(form: Mapping[str, int]) -> GasSchedule:
    """Parse the schedule of a chain config's JSON, whose keys are upper case."""
    names = {each.name.upper(): each.name for each in dataclasses.fields(GasSchedule)}
    for name, gas in form.items():
        if name not in names:
            raise ConfigError(
                f"chain configuration with {name} = {gas!r}: this version has no such price; use "
                "the version that created the chain"
            )
    return GasSchedule(**{names[name]: gas for name, gas in form.items()})


def _check_schedule(schedule: GasSchedule) -> None:
    """Reject an invalid price.

    A price of 0 is invalid: each pays for work of the host that a caller can repeat without limit,
    and a metadata read without gas could never succeed.
    """
    if not isinstance(schedule, GasSchedule):
        raise ConfigError(
            f"schedule of type {type(schedule).__name__}: must be a `precompiles.gas.GasSchedule`; "
            "apply a schedule file with `ScheduleFile.apply_to`"
        )
    _check_kinds(schedule)
    for each in dataclasses.fields(schedule):
        gas = getattr(schedule, each.name)
        if not 1 <= gas <= MAX_PRICE_GAS:
            raise ConfigError(
                f"schedule: {each.name} {gas}: must be 1 to 2^63 - 1 gas, as no work of the "
                "executor may be free"
            )


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name[:2] in {"0x", "0X"}:
        raise ConfigError(
            f"model name {name!r}: use 1 to 64 letters, digits, '_', '.', '-', "
            "the first a letter or digit, and not '0x'"
        )


def _check_model(model: ModelProfile) -> None:
    _check_kinds(model)
    for name in (model.name, *model.aliases):
        _check_name(name)
    if len(model.digest) != DIGEST_BYTES:
        raise ConfigError(f"model {model.name}: digest of {len(model.digest)} bytes, must be 32")
    if len(model.chooser) not in {0, DIGEST_BYTES}:
        raise ConfigError(
            f"model {model.name}: chooser's digest of {len(model.chooser)} bytes, must be 32 or 0"
        )
    if not 0 < model.max_output_tokens < model.context_tokens:
        raise ConfigError(
            f"model {model.name}: max_output_tokens {model.max_output_tokens}: must be at least 1 "
            f"and below its context of {model.context_tokens}"
        )
    if not bool(model.chooser) <= model.chooser_token_gas <= MAX_PRICE_GAS * bool(model.chooser):
        raise ConfigError(
            f"model {model.name}: chooser_token_gas {model.chooser_token_gas}: must be 1 to "
            "2^63 - 1 gas with a chooser, 0 without"
        )
    _check_decoding(model)
    prices = (model.cold_prompt_token_gas, model.warm_prompt_token_gas, model.output_token_gas)
    is_payable = min(prices) >= 1 and max(prices) <= MAX_PRICE_GAS
    if not is_payable or model.warm_prompt_token_gas > model.cold_prompt_token_gas:
        raise ConfigError(
            f"model {model.name}: prices {prices} (cold, warm, output): each must be 1 to 2^63 - 1 "
            "gas, and warm at most cold"
        )


def _check_decoding(model: ModelProfile) -> None:
    names = [name for name, _ in model.decoding]
    if names != sorted(set(names)):
        raise ConfigError(
            f"model {model.name}: decoding rules {names}: must be sorted, each name once"
        )
    for name, value in model.decoding:
        if not isinstance(name, str) or not _RULE.fullmatch(name):
            raise ConfigError(
                f"model {model.name}: decoding rule {name!r}: must be lower-case letters, digits "
                "and '_', the first a letter"
            )
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise ConfigError(
                f"model {model.name}: decoding rule {name} {value!r}: must be a whole number, "
                "0 to 2^63 - 1"
            )

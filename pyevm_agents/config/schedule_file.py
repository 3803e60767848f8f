"""Gas schedule files: prices of the executor's work and of the models' tokens.

    {
      "schedule": {"executor_base_gas": 3000, "input_byte_gas": 16, …},
      "models": {"*": {"cold_prompt_token_gas": 6000, "output_token_gas": 10000}},
      "numeric_schedule": {"base_gas": 3000, "operations_per_gas": 16, …},
      "made": {"by": "pyevm-agents bench", …}
    }

Every section and every price is optional: others stay unchanged. A model is given by name, an
alias, or `0x` and its SHA-256; `*` is every model, and an entry of a model overrides it. `made`
documents the source of the prices: no rule depends on it. A chain without numeric models ignores
the prices of such models. A file may also contain token prices of all models only: {"cold": 6000,
…}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from precompiles.gas import GasSchedule
from precompiles.numeric_gas import NumericGasSchedule
from pyevm_agents.config.chain_config import MAX_PRICE_GAS, ChainConfig
from pyevm_agents.display import truncate
from pyevm_agents.errors import ConfigError
from pyevm_agents.strict_json import MAX_DIGITS, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from precompiles.language_model import ModelProfile

MAX_FILE_BYTES = 65_536
"""Upper bound of a file, in bytes: some hundred models and their documentation."""

EVERY_MODEL = "*"

SECTIONS = ("schedule", "models", "numeric_schedule", "made")

EXECUTOR_PRICES = tuple(each.name for each in fields(GasSchedule))
NUMERIC_PRICES = tuple(each.name for each in fields(NumericGasSchedule))
MODEL_PRICES = (
    "cold_prompt_token_gas",
    "warm_prompt_token_gas",
    "output_token_gas",
    "max_output_tokens",
)
"""Fields of `ModelProfile` that a file may set."""

SHORT_NAMES = {
    "cold": "cold_prompt_token_gas",
    "warm": "warm_prompt_token_gas",
    "output": "output_token_gas",
    "max_output": "max_output_tokens",
    "coldPromptTokenGas": "cold_prompt_token_gas",
    "warmPromptTokenGas": "warm_prompt_token_gas",
    "outputTokenGas": "output_token_gas",
    "maxOutputTokens": "max_output_tokens",
}
"""Short names, and those of the RPC method `agent_models`, to fields of `ModelProfile`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFile:
    """The content of a gas schedule file.

    Raises: ConfigError: unknown name, or invalid price.
    """

    schedule: Mapping[str, int] = field(default_factory=dict)
    """Fields of `precompiles.gas.GasSchedule`, in gas."""

    models: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """`MODEL_PRICES` in gas and tokens, by model name, alias or digest, or `*`."""

    numeric_schedule: Mapping[str, int] = field(default_factory=dict)
    """Fields of `precompiles.numeric_gas.NumericGasSchedule`, in gas and operations."""

    made: Mapping[str, object] = field(default_factory=dict)
    """The source of the prices, as JSON values."""

    def __post_init__(self) -> None:
        """Validate names and prices."""
        _check_prices("schedule", self.schedule, EXECUTOR_PRICES)
        _check_prices("numeric_schedule", self.numeric_schedule, NUMERIC_PRICES)
        for name, prices in _require_object("models", self.models).items():
            if not isinstance(name, str):
                raise ConfigError(
                    f"models has {_format_value(name)}; it must be a model's name, a text"
                )
            _check_model(f"models[{_format_value(name)}]", prices)
        _require_object("made", self.made)

    @classmethod
    def from_config(cls, config: ChainConfig) -> ScheduleFile:
        """Return all prices of a chain config, with models by digest."""
        models = {
            "0x" + model.digest.hex(): {name: getattr(model, name) for name in MODEL_PRICES}
            for model in config.models
        }
        return cls(
            schedule=asdict(config.schedule),
            models=models,
            numeric_schedule=asdict(config.numeric_schedule) if config.numeric_models else {},
        )

    def to_json(self) -> str:
        """Return the text of the file.

        Raises: ConfigError: `made` has a value that JSON can't express.
        """
        numeric = _sort_prices(self.numeric_schedule, NUMERIC_PRICES)
        form = {
            "schedule": _sort_prices(self.schedule, EXECUTOR_PRICES),
            "models": {
                name: _sort_prices(self.models[name], MODEL_PRICES) for name in sorted(self.models)
            },
            **({"numeric_schedule": numeric} if numeric else {}),
            "made": dict(self.made),
        }
        try:
            return json.dumps(form, indent=2, allow_nan=False) + "\n"
        except (TypeError, ValueError) as error:
            raise ConfigError(f"made: must be JSON values: {error}") from error

    def apply_to(self, config: ChainConfig) -> ChainConfig:
        """Return a chain config with the prices of this file.

        Raises: ConfigError: unknown model, two entries of one model, or an invalid combination of
                new and unchanged prices.
        """
        entries = self._match_models(config.models)
        of_every = self.models.get(EVERY_MODEL, {})
        models = []
        for model in config.models:
            own = self.models.get(entries.get(model.name, ""), {})
            models.append(replace(model, **{**of_every, **own}))  # type: ignore[arg-type]
        schedule = replace(config.schedule, **self.schedule)
        numeric = self.numeric_schedule if config.numeric_models else {}
        return replace(
            config,
            models=tuple(models),
            schedule=schedule,
            numeric_schedule=replace(config.numeric_schedule, **numeric),
        )

    def _match_models(self, models: Sequence[ModelProfile]) -> dict[str, str]:
        """Return the name of each model's entry in this file, by model name."""
        entries: dict[str, str] = {}
        for name in self.models:
            if name == EVERY_MODEL:
                continue
            model = _find_model(models, name)
            if model.name in entries:
                raise ConfigError(
                    f"the schedule's models[{_format_value(entries[model.name])}] and "
                    f"models[{_format_value(name)}] are both {model.name}; keep one of them"
                )
            entries[model.name] = name
        return entries


def read_schedule(path: Path) -> ScheduleFile:
    """Read a gas schedule file.

    Raises: ConfigError: not a schedule; the message names the file and the error.
    """
    try:
        return parse_schedule(_read_text(path))
    except ConfigError as error:
        raise ConfigError(f"schedule in {path}: {error}") from error


def parse_schedule(text: str) -> ScheduleFile:
    """Parse the text of a gas schedule file.

    Raises: ConfigError: not a schedule.
    """
    form = _require_object("it", parse_json(text))
    if not form.keys().isdisjoint(SHORT_NAMES):
        return parse_short_prices(form)
    _check_names("it", form, SECTIONS)
    return ScheduleFile(**form)  # type: ignore[arg-type]


def parse_short_prices(prices: Mapping[str, object]) -> ScheduleFile:
    """Return a schedule with token prices of all models, given by short names.

    Raises: ConfigError: unknown name, or invalid price.
    """
    _check_names("it", prices, tuple(SHORT_NAMES))
    of_every: dict[str, object] = {}
    for name, price in prices.items():
        if SHORT_NAMES[name] in of_every:
            raise ConfigError(
                f"{_format_value(name)} is {SHORT_NAMES[name]}, which is there twice; "
                "keep one of them"
            )
        of_every[SHORT_NAMES[name]] = price
    return ScheduleFile(models={EVERY_MODEL: of_every})  # type: ignore[dict-item]


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"the file can't be read: {error.strerror}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"the file has more than {MAX_FILE_BYTES:,} bytes; it is something else")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"not JSON: byte {error.start} is not UTF-8") from error


def _sort_prices(prices: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    return {name: prices[name] for name in names if name in prices}


def _require_object(at: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{at} is {_format_value(value)}; it must be an object, {{…}}")
    return value


def _check_names(at: str, form: Iterable[str], known: Sequence[str]) -> None:
    for name in form:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]}? There" if near else "there"
            raise ConfigError(
                f"{at} has {_format_value(name)}, which means nothing; "
                f"{hint} are {', '.join(known)}"
            )


def _check_prices(at: str, form: object, known: Sequence[str]) -> Mapping[str, int]:
    prices: dict[str, int] = {}
    form = _require_object(at, form)
    _check_names(at, form, known)
    for name, value in form.items():
        if type(value) is not int:
            raise ConfigError(f"{at}.{name} is {_format_value(value)}; it must be a whole number")
        if not 1 <= value <= MAX_PRICE_GAS:
            raise ConfigError(
                f"{at}.{name} is {_format_value(value)}; choose from 1 to 2^63 - 1, as nothing "
                "that a "
                "call makes the executor do is free, or endless"
            )
        prices[name] = value
    return prices


def _check_model(at: str, form: object) -> None:
    prices = _check_prices(at, form, MODEL_PRICES)
    cold, warm = (prices.get(name) for name in MODEL_PRICES[:2])
    if cold is not None and warm is not None and warm > cold:
        raise ConfigError(
            f"{at}: a warm token costs {warm}, a cold one {cold}; what is read again may not cost "
            "more than what is read first"
        )


def _find_model(models: Sequence[ModelProfile], name: str) -> ModelProfile:
    for model in models:
        if name in {model.name, *model.aliases} or name.lower() == "0x" + model.digest.hex():
            return model
    known = "; ".join(
        f"{model.name} (also {', '.join((*model.aliases, '0x' + model.digest.hex()))})"
        for model in models
    )
    raise ConfigError(
        f"the schedule's models[{_format_value(name)}]: the chain has no such model; it has "
        f"{known or 'none'}. {EVERY_MODEL!r} stands for every model"
    )


def _format_value(value: object) -> str:
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        return f"a number of more than {MAX_DIGITS:,} digits"
    return truncate(json.dumps(value, default=repr))

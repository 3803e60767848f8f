"""Options shared by commands: model, adapter, schedule, gas limit, origins and hosts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from pyevm_agents.config import DEFAULT_BLOCK_GAS_LIMIT
from pyevm_agents.config.schedule_file import ScheduleFile, parse_short_prices, read_schedule
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import NO_ADAPTER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.numeric_model import NumericModel
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter


def _resolve_model(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> ModelChoice:
    from pyevm_agents.model_registry.registry import ModelChoice, open_registry  # noqa: PLC0415 - slow to import

    return ModelChoice() if value is None else open_registry().resolve(value)


def resolve_models(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[ModelChoice, ...]:
    """Return the models of a repeatable option; the default one without it."""
    from pyevm_agents.model_registry.registry import ModelChoice, open_registry  # noqa: PLC0415 - slow to import

    registry = open_registry()
    return tuple(map(registry.resolve, values)) or (ModelChoice(),)


def require_single_model(context: click.Context) -> None:
    """Check that `--adapter` is given for one model at most.

    Raises: click.UsageError.
    """
    if is_given(context, "adapter") and len(context.params["models"]) > 1:
        raise click.UsageError(
            "--adapter needs a single --model; give a model its adapter with "
            "`pyevm-agents model add FILE --adapter ADAPTER --name NAME`"
        )


def _parse_adapter(_context: click.Context, _option: click.Parameter, value: str | None) -> Adapter:
    return NO_ADAPTER if value == NO_ADAPTER.value else value


DEFAULT_MODEL_HELP = "[default: SmolLM2-135M-Instruct, installed with this package]"

model_option = click.option(
    "--model",
    metavar="MODEL",
    callback=_resolve_model,
    help=f"A GGUF file, or a name that `pyevm-agents model list` prints.  {DEFAULT_MODEL_HELP}",
)

models_option = click.option(
    "--model",
    "models",
    metavar="MODEL",
    multiple=True,
    callback=resolve_models,
    help="A GGUF file, or a name that `pyevm-agents model list` prints. Repeatable: contracts "
    f"select a model by its name.  {DEFAULT_MODEL_HELP}",
)

adapter_option = click.option(
    "--adapter",
    metavar="FILE",
    callback=_parse_adapter,
    help=f"A LoRA adapter in GGUF, or `{NO_ADAPTER.value}` for the model without one.  [default: "
    "the installed adapter of the default model; none for other models]",
)


FILE_SUFFIX = ".json"
NUMBER = re.compile(r"-?[0-9]{1,4000}")
EXAMPLE = "cold=6000,warm=100,output=10000,max_output=512"

MAX_GAS_LIMIT = 10**12
"""Limit that the sender can buy: unused gas is refunded, but only afterwards."""


def parse_schedule(text: str) -> ScheduleFile:
    """Parse `--schedule`: short prices of tokens, or a file.

    Raises: click.BadParameter: an unknown price, or a file that is not a schedule.
    """
    is_short = "=" in text and not text.endswith(FILE_SUFFIX)
    try:
        if is_short:
            return parse_short_prices(_parse_prices(text))
        return read_schedule(Path(text))
    except ConfigError as error:
        raise click.BadParameter(f"{error}; pass a schedule file, or {EXAMPLE}") from error


def _parse_prices(text: str) -> dict[str, object]:
    prices: dict[str, object] = {}
    for entry in text.split(","):
        name, separator, value = (part.strip() for part in entry.partition("="))
        if not separator:
            raise ConfigError(f"{entry!r}: must be NAME=GAS")
        number = value.replace("_", "")
        prices[name] = int(number) if NUMBER.fullmatch(number) else value
    return prices


def _parse_schedule(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> ScheduleFile | None:
    return None if value is None else parse_schedule(value)


schedule_option = click.option(
    "--schedule",
    metavar="PRICES",
    callback=_parse_schedule,
    help="Gas prices of inference: a file written by `bench --emit-schedule`, or prices of the "
    f"model's tokens, such as {EXAMPLE}.",
)


def _parse_numeric_files(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Return the files of numeric models by name."""
    if not values:
        return {}
    from pyevm_agents.models.numeric.catalogue import parse_named_files  # noqa: PLC0415 - imports onnx

    try:
        return parse_named_files(values)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error


numeric_models_option = click.option(
    "--numeric-model",
    "numeric_files",
    multiple=True,
    metavar="NAME[=FILE]",
    callback=_parse_numeric_files,
    help="Run this ONNX file of `pyevm-agents model convert` at 0x1a under this name; or a shipped "
    "model by its name: forecast, risk, sentiment. Repeatable.",
)


def open_numeric_models(files: Mapping[str, str]) -> dict[str, NumericModel]:
    """Open the files of numeric models.

    Raises: ConfigError: a file can't be read, or is not a numeric model.
    """
    if not files:
        return {}
    from pyevm_agents.models.numeric import open_named_models  # noqa: PLC0415 - imports onnx

    return open_named_models(files, source="--numeric-model")


gas_limit_option = click.option(
    "--gas-limit",
    type=click.IntRange(DEFAULT_BLOCK_GAS_LIMIT, MAX_GAS_LIMIT),
    default=DEFAULT_BLOCK_GAS_LIMIT,
    show_default=True,
    metavar="GAS",
    help="Gas limit of a block, and of the run. Expensive schedules need more.",
)


def is_given(context: click.Context, name: str | None) -> bool:
    """Return whether an option of a command was given by the user."""
    return context.get_parameter_source(name or "") != ParameterSource.DEFAULT


def _require_allowed_origins(
    _context: click.Context, _option: click.Parameter, origins: tuple[str, ...]
) -> tuple[str, ...]:
    if not origins:
        return ()
    from pyevm_agents.server.origin_checks import (  # noqa: PLC0415 - imports the server
        require_allowed_origin,
    )

    return tuple(map(require_allowed_origin, origins))


allow_origin_option = click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    callback=_require_allowed_origins,
    help="Allow requests from web pages of this origin, such as http://localhost:3000, or of all "
    "ports with http://localhost:*; `*` for all. May be repeated.",
)

allow_host_option = click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Allow this name in the `Host` header, besides loopback; `*` for all. May be repeated.",
)

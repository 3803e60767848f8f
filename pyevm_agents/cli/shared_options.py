"""Options shared by commands (model, adapter, schedule, gas limit), and whether one was given."""

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
    from pyevm_agents.models import Adapter


def _parse_adapter(_context: click.Context, _option: click.Parameter, value: str | None) -> Adapter:
    return NO_ADAPTER if value == NO_ADAPTER.value else value


model_option = click.option(
    "--model",
    "model_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A GGUF model.  [default: SmolLM2-135M-Instruct, installed with this package]",
)

adapter_option = click.option(
    "--adapter",
    metavar="FILE",
    callback=_parse_adapter,
    help=f"A LoRA adapter of the model, in GGUF; `{NO_ADAPTER.value}` for the default model as it "
    "is.  [default: the default model's own, if one is installed; no other model has one]",
)


FILE_SUFFIX = ".json"
NUMBER = re.compile(r"-?[0-9]{1,4000}")
EXAMPLE = "cold=6000,warm=100,output=10000,max_output=512"

MAX_GAS_LIMIT = 10**12
"""What the sender, who pays before what is left comes back, has ether for."""


def parse_schedule(text: str) -> ScheduleFile:
    """Read what `--schedule` says: prices of tokens in short, or a file.

    Raises: click.BadParameter: it says nothing that can be set, or names a file that is no
            schedule's.
    """
    is_short = "=" in text and not text.endswith(FILE_SUFFIX)
    try:
        if is_short:
            return parse_short_prices(_parse_prices(text))
        return read_schedule(Path(text))
    except ConfigError as error:
        raise click.BadParameter(f"{error}; want a schedule's file, or {EXAMPLE}") from error


def _parse_prices(text: str) -> dict[str, object]:
    prices: dict[str, object] = {}
    for entry in text.split(","):
        name, is_told, value = (part.strip() for part in entry.partition("="))
        if not is_told:
            raise ConfigError(f"{entry!r} sets nothing")
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
    help="What inference costs: a schedule's file, such as `bench --emit-schedule` writes, or "
    f"gas of the model's tokens alone, such as {EXAMPLE}.",
)

gas_limit_option = click.option(
    "--gas-limit",
    type=click.IntRange(DEFAULT_BLOCK_GAS_LIMIT, MAX_GAS_LIMIT),
    default=DEFAULT_BLOCK_GAS_LIMIT,
    show_default=True,
    metavar="GAS",
    help="Gas of a block, all of which a run may use: a dear schedule needs more.",
)


def is_given(context: click.Context, name: str | None) -> bool:
    """Whether the user said something about an option, which a command has by this name."""
    return context.get_parameter_source(name or "") != ParameterSource.DEFAULT

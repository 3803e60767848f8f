"""The options that set what inference costs, and how much gas there is for it: chain's rules."""

from __future__ import annotations

import re
from pathlib import Path

import click

from pyevm_agents.config import DEFAULT_BLOCK_GAS_LIMIT
from pyevm_agents.config.schedule_file import ScheduleFile, in_short, read_schedule
from pyevm_agents.errors import ConfigError

FILE_SUFFIX = ".json"
NUMBER = re.compile(r"-?[0-9]{1,4000}")
EXAMPLE = "cold=6000,warm=100,output=10000,max_output=512"

MAX_GAS_LIMIT = 10**12
"""What the sender, who pays before what is left comes back, has ether for."""


def chosen_schedule(text: str) -> ScheduleFile:
    """Read what `--schedule` says: prices of tokens in short, or a file.

    Raises: click.BadParameter: it says nothing that can be set, or names a file that is no
            schedule's.
    """
    is_short = "=" in text and not text.endswith(FILE_SUFFIX)
    try:
        if is_short:
            return in_short(_told(text))
        return read_schedule(Path(text))
    except ConfigError as error:
        raise click.BadParameter(f"{error}; want a schedule's file, or {EXAMPLE}") from error


def _told(text: str) -> dict[str, object]:
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
    return None if value is None else chosen_schedule(value)


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

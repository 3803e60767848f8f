"""The option that sets what a model's tokens cost: a part of the chain's rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.ports import ModelProfile

NAMES = {
    "cold": "cold_prompt_token_gas",
    "warm": "warm_prompt_token_gas",
    "output": "output_token_gas",
    "max_output": "max_output_tokens",
    "coldPromptTokenGas": "cold_prompt_token_gas",
    "warmPromptTokenGas": "warm_prompt_token_gas",
    "outputTokenGas": "output_token_gas",
    "maxOutputTokens": "max_output_tokens",
}
"""What may be set, in short and as `agent_models` calls it, to the field of `ModelProfile`."""

MAX_NUMBER = 2**63 - 1
MAX_FILE_BYTES = 65_536
EXAMPLE = "cold=6000,warm=100,output=10000,max_output=512"

Prices = dict[str, int]
"""Fields of `ModelProfile` and their values."""


def read_prices(text: str) -> Prices:
    """Read what `--schedule` says.

    Raises: click.BadParameter: it says nothing that can be set.
    """
    if "=" not in text:
        return _checked(_from_file(Path(text)))
    told: dict[str, object] = {}
    for entry in text.split(","):
        name, is_told, value = entry.partition("=")
        if not is_told:
            raise click.BadParameter(f"{entry!r} sets nothing; want {EXAMPLE}, or a file")
        number = value.strip().replace("_", "")
        told[name.strip()] = int(number) if number.isdecimal() else value
    return _checked(told)


def with_prices(profile: ModelProfile, prices: Prices) -> ModelProfile:
    """Return a model's place in genesis with other prices."""
    return replace(profile, **prices)  # type: ignore[arg-type]


def _from_file(path: Path) -> Mapping[str, object]:
    try:
        with path.open("rb") as file:
            form = orjson.loads(file.read(MAX_FILE_BYTES))
    except OSError as error:
        raise click.BadParameter(
            f"{path} can't be read: {error.strerror}; want a JSON file, or {EXAMPLE}"
        ) from error
    except ValueError as error:
        raise click.BadParameter(f"{path} is no JSON: {error}") from error
    if not isinstance(form, dict):
        raise click.BadParameter(f'{path} holds no object such as {{"cold": 6000}}')
    return form


def _checked(told: Mapping[str, object]) -> Prices:
    prices: Prices = {}
    for name, value in told.items():
        if name not in NAMES:
            raise click.BadParameter(f"there is no {name!r}; there are {', '.join(NAMES)}")
        if type(value) is not int or not 1 <= value <= MAX_NUMBER:
            raise click.BadParameter(f"{name} is {value!r}; want a whole number of at least 1")
        prices[NAMES[name]] = value
    return prices


def _chosen(_context: click.Context, _option: click.Parameter, value: str | None) -> Prices:
    return {} if value is None else read_prices(value)


schedule_option = click.option(
    "--schedule",
    "prices",
    metavar="PRICES",
    callback=_chosen,
    help=f"Gas of the model's tokens, such as {EXAMPLE}, or a JSON file with such fields.",
)

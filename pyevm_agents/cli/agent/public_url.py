"""The option with the address of a control plane, for the manifests of its agents."""

from __future__ import annotations

import click

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.endpoints import require_public_url


def _parse(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else require_public_url(value)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error


public_url_option = click.option(
    "--public-url",
    metavar="URL",
    callback=_parse,
    help="Where clients reach the control plane, such as https://agents.example; manifests name "
    "it.  [default: the address that it listens on]",
)

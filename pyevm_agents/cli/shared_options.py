"""The options that name a model and its adapter, the same for every command that loads one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

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

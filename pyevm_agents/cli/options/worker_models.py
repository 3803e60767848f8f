"""Options of commands that answer an oracle's requests, or compute answers again."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from pyevm_agents.cli.cache_folder import get_facts_folder
from pyevm_agents.cli.options.models import (
    adapter_option,
    models_option,
    numeric_models_option,
    open_numeric_models,
    require_single_model,
    schedule_option,
)
from pyevm_agents.config import FORKS
from pyevm_agents.oracle.recomputation import ModelOptions

if TYPE_CHECKING:
    from collections.abc import Callable


hardfork_option = click.option(
    "--hardfork",
    type=click.Choice(FORKS, case_sensitive=False),
    help="Rules of the tools' code.  [default: those of the block on known chains, else prague]",
)


def add_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the models to a command, which gets them as `options`."""

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> None:  # noqa: ANN401 - the command's own
        require_single_model(click.get_current_context())
        adapter = values.pop("adapter")
        options = ModelOptions(
            choices=tuple(each.with_adapter(adapter) for each in values.pop("models")),
            schedule=values.pop("schedule"),
            threads=values.pop("threads"),
            kept_facts=get_facts_folder(),
            numeric_models=open_numeric_models(values.pop("numeric_files")),
        )
        command(*arguments, **values, options=options)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


_threads_option = click.option(
    "-j", "--threads", type=click.IntRange(1, 512), metavar="N", help="Threads of the engine."
)

_OPTIONS = (
    *(models_option, adapter_option, numeric_models_option),
    *(schedule_option, _threads_option),
)

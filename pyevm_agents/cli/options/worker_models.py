"""Options of commands that answer an oracle's requests, or compute answers again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pyevm_agents.cache_folder import get_facts_folder
from pyevm_agents.cli.options.group import add_option_group
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
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter


hardfork_option = click.option(
    "--hardfork",
    type=click.Choice(FORKS, case_sensitive=False),
    help="Rules of the tools' code.  [default: those of the block on known chains, else prague]",
)


def add_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the models to a command, as the parameter `options`."""
    return add_option_group(command, "options", _build_options, _OPTIONS)


def _build_options(
    *,
    models: Sequence[ModelChoice],
    adapter: Adapter,
    schedule: ScheduleFile | None,
    threads: int | None,
    numeric_files: Mapping[str, str],
) -> ModelOptions:
    require_single_model(click.get_current_context())
    return ModelOptions(
        choices=tuple(each.with_adapter(adapter) for each in models),
        schedule=schedule,
        threads=threads,
        kept_facts=get_facts_folder(),
        numeric_models=open_numeric_models(numeric_files),
    )


_threads_option = click.option(
    "-j", "--threads", type=click.IntRange(1, 512), metavar="N", help="Threads of the engine."
)

_OPTIONS = (
    *(models_option, adapter_option, numeric_models_option),
    *(schedule_option, _threads_option),
)

"""`pyevm-agents record`: record a chain on the real model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from pyevm_agents.cli.options.models import (
    adapter_option,
    gas_limit_option,
    is_given,
    model_option,
    schedule_option,
)
from pyevm_agents.cli.output import StatusLine, out
from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError, FixtureError
from pyevm_agents.model_registry.profiles import add_models
from pyevm_agents.models import CachingModel
from pyevm_agents.recordings import mine_again, read_fixture, record_chain, write_fixture
from pyevm_agents.recordings.bundled import normalize_fixture_name
from pyevm_agents.scenarios import recorded as scenarios
from pyevm_agents.scenarios.callback.recorded import CALLBACK
from pyevm_agents.scenarios.council.recorded import COUNCIL
from pyevm_agents.scenarios.loan.demo import LOAN
from pyevm_agents.scenarios.recorded import record_scenario
from pyevm_agents.scenarios.run.demo import RUN
from pyevm_agents.scenarios.swap.demo import SWAP
from pyevm_agents.scenarios.trading.demo import TRADING

if TYPE_CHECKING:
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter, LlamaModel
    from pyevm_agents.recordings import Fixture

SCENARIOS = {
    **scenarios.SCENARIOS,
    "callback": CALLBACK,
    "swap": SWAP,
    "trading": TRADING,
    "loan": LOAN,
    "run": RUN,
    "council": COUNCIL,
}
"""Scenarios by name, which is also the name of the fixture file."""

SOURCE = "The model that the configuration names computed every generation."


class ScenarioName(click.Choice[str]):
    """The name of a scenario, with hyphens or underscores, as `export-replay --fixture` takes."""

    def __init__(self) -> None:
        """Accept the scenarios, and `all`."""
        super().__init__([*SCENARIOS, "all"])

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the scenario's name."""
        return super().convert(normalize_fixture_name(value), param, ctx)


@click.command()
@click.option(
    "--scenario",
    "names",
    type=ScenarioName(),
    multiple=True,
    help="The scenario to record. May be repeated.",
)
@click.option(
    "--from",
    "sources",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FIXTURE",
    help="Record the chain of a fixture again: the same genesis accounts and transactions, on "
    "this engine. May be repeated.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="The file to write; or a folder, in which each chain gets a file of its name.",
)
@model_option
@adapter_option
@click.option("--threads", type=click.IntRange(1, 512), metavar="N", help="Threads of the engine.")
@schedule_option
@gas_limit_option
def record(  # noqa: PLR0913 - one for each option
    names: tuple[str, ...],
    sources: tuple[Path, ...],
    output: Path,
    model: ModelChoice,
    adapter: Adapter,
    *,
    threads: int | None,
    schedule: ScheduleFile | None,
    gas_limit: int,
) -> None:
    """Record a chain: genesis, blocks, generations and results.

    `pyevm-agents replay FILE` checks the file without the model.
    """
    if sources and is_given(click.get_current_context(), "gas_limit"):
        raise click.UsageError(
            "--gas-limit is for scenarios, since recorded transactions have their own gas; omit "
            "--from or --gas-limit"
        )
    chosen = tuple(SCENARIOS) if "all" in names else tuple(dict.fromkeys(names))
    dumps = {path: read_fixture(path) for path in sources}
    wanted: dict[str, str | Fixture] = {f"{name}.json": name for name in chosen}
    wanted |= {path.name: dump for path, dump in dumps.items()}
    _check_files(wanted_count=len(chosen) + len(dumps), name_count=len(wanted), output=output)
    watch = StatusLine()
    with (
        watch,
        model.with_adapter(adapter).open(threads=threads, progress=watch.on_progress) as llama,
    ):
        for file_name, chain in wanted.items():
            watch.show_status(f"recording {file_name}")
            if isinstance(chain, str):
                fixture = record_scenario(
                    chain,
                    llama,
                    llama.profile_facts,
                    source=SOURCE,
                    scenarios=SCENARIOS,
                    schedule=schedule,
                    block_gas_limit=gas_limit,
                )
            else:
                fixture = _record_again(chain, llama, schedule)
            path = output / file_name if output.is_dir() else output
            write_fixture(fixture, path)
            watch.stop()
            out.print(escape(describe_fixture_file(path, fixture)), soft_wrap=True)


def describe_fixture_file(path: Path, fixture: Fixture) -> str:
    """Return the path, blocks, generations and size of a fixture's file, on one line."""
    size = path.stat().st_size
    steps, blocks = len(fixture.steps), len(fixture.blocks)
    return f"{path}: {pluralize(blocks, 'block')}, {pluralize(steps, 'generation')}, {size:,} bytes"


def _check_files(*, wanted_count: int, name_count: int, output: Path) -> None:
    """Reject an unwritable output before the model runs."""
    if not wanted_count:
        raise click.UsageError(
            f"nothing to record; pass --scenario ({', '.join(SCENARIOS)}, all), or a recorded "
            "chain with --from"
        )
    if wanted_count > 1 and not output.is_dir():
        raise click.UsageError(f"{output}: must be a folder to record several chains; create it")
    if name_count < wanted_count:
        raise click.UsageError("two chains have the same name; record one after the other")
    require_fixture_path(output)


def require_fixture_path(output: Path) -> None:
    """Reject a path whose folder is missing, or that is a file of another kind.

    Raises: click.UsageError.
    """
    if not output.parent.is_dir():
        raise click.UsageError(f"folder {output.parent} does not exist; create it first")
    if output.is_file() and output.stat().st_size:
        try:
            read_fixture(output)
        except (FixtureError, ConfigError) as error:
            raise click.UsageError(
                f"{output} exists and is not a valid fixture; pass another file, or delete this "
                "one first"
            ) from error


def _record_again(fixture: Fixture, model: LlamaModel, schedule: ScheduleFile | None) -> Fixture:
    """Return a fixture of the same transactions, executed with this model.

    Input:  schedule: gas prices; None for those of the fixture.
    Raises: ConfigError: the chain has no model, several, or another one.
    """
    if len(fixture.config.models) != 1:
        raise ConfigError(
            f"{fixture.name}: the chain has {len(fixture.config.models)} models, must be 1; use "
            "`pyevm_agents.recordings.mine_again` for several"
        )
    facts = model.profile_facts
    config = add_models(fixture.config, [(fixture.config.models[0], facts)])
    if schedule is not None:
        config = schedule.apply_to(config)
    remembering = CachingModel(model, digest=facts.digest, fingerprint=facts.fingerprint)
    chain = mine_again(fixture, config, {config.models[0].name: remembering})
    return record_chain(chain, name=fixture.name, comment=fixture.comment)

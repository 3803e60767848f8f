"""`pyevm-agents replay`: execute recorded blocks again and compare the results."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from precompiles.escaping import escape_line
from pyevm_agents.cli.output import StatusLine, err, out, print_table
from pyevm_agents.cli.shared_options import (
    DEFAULT_MODEL_HELP,
    adapter_option,
    is_given,
    resolve_model,
)
from pyevm_agents.display import pluralize
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.models.store.caching_model import is_weightless
from pyevm_agents.recordings import MismatchError, Replay, ReplayedBlock, read_fixture

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import LanguageModel
    from pyevm_agents.devnet.model_registry import ModelChoice
    from pyevm_agents.models import Adapter, LlamaModel
    from pyevm_agents.recordings import Fixture


@dataclass(slots=True)
class ReplayOutcome:
    """The result of checking one file."""

    path: Path
    is_recomputed: bool
    fixture: Fixture | None = None
    blocks: list[ReplayedBlock] = field(default_factory=list)
    error: AgentsError | None = None
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 if all is as recorded, 1 if something differs, 2 if the file can't be checked."""
        if self.error is None:
            return 0
        return 2 if isinstance(self.error, ConfigError) else 1


@click.command(short_help="Check recorded chains: execute all blocks again.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option(
    "--recompute",
    is_flag=True,
    help="Run the model and compare every generation byte for byte. Without this option, recorded "
    "generations replace the model.",
)
@click.option(
    "--model",
    metavar="MODEL",
    callback=resolve_model,
    help="The model for --recompute: a GGUF file, or a name that `pyevm-agents model list` "
    f"prints.  {DEFAULT_MODEL_HELP}",
)
@adapter_option
@click.option(
    "--threads", type=click.IntRange(1, 512), metavar="N", help="Threads for --recompute."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list with an object per file.")
def replay(  # noqa: PLR0913 - one for each option
    paths: tuple[Path, ...],
    model: ModelChoice,
    adapter: Adapter,
    threads: int | None,
    *,
    recompute: bool,
    as_json: bool,
) -> None:
    """Check recorded chains: execute every block again and compare.

    The exit status is 1 if a file was altered or a result differs; the message names the first
    block, transaction and step. It is 2 if a file can't be checked.
    """
    context = click.get_current_context()
    for name in ("model", "adapter", "threads"):
        if is_given(context, name) and not recompute:
            raise click.UsageError(f"--{name} needs --recompute; without it, no model is loaded")

    def load(context_tokens: int) -> LlamaModel:
        return model.with_adapter(adapter).open(threads=threads, context_tokens=context_tokens)

    outcomes = []
    for path in paths:
        outcome = _replay_file(path, load, recompute=recompute)
        outcomes.append(outcome)
        if not as_json:
            _print(outcome)
    if as_json:
        click.echo(json.dumps([_serialize_outcome(result) for result in outcomes], indent=2))
    raise SystemExit(max(result.exit_code for result in outcomes))


def _replay_file(
    path: Path, load: Callable[[int], LlamaModel], *, recompute: bool
) -> ReplayOutcome:
    outcome = ReplayOutcome(path, recompute)
    started = time.monotonic()
    try:
        outcome.fixture = read_fixture(path)
        model = _load_recorded_model(outcome.fixture, load) if recompute else nullcontext()
        with model as answering:
            models: dict[str, LanguageModel] | None = None
            if answering is not None:
                models = {outcome.fixture.config.models[0].name: answering}
            for block in Replay(outcome.fixture, models).execute_blocks():
                outcome.blocks.append(block)
    except AgentsError as error:
        outcome.error = error
    outcome.seconds = time.monotonic() - started
    return outcome


def _load_recorded_model(
    fixture: Fixture, load: Callable[[int], LlamaModel]
) -> LlamaModel | nullcontext[None]:
    """Return the model that computed a fixture's generations.

    Raises: ConfigError: no model did, or several did.
    """
    profiles = fixture.config.models
    if not profiles:
        return nullcontext()
    if len(profiles) > 1:
        raise ConfigError(
            f"the chain has {len(profiles)} models, --recompute supports 1; omit --recompute, or "
            "use `pyevm_agents.recordings.Replay` with all models"
        )
    fingerprint = fixture.config.profile_fingerprint
    if not fingerprint or is_weightless(fingerprint):
        raise ConfigError("the generations come from a script, not from a model; omit --recompute")
    watch = StatusLine()
    watch.show_status("loading the model")
    watch.stop()
    return load(profiles[0].context_tokens)


def _print(outcome: ReplayOutcome) -> None:
    table = Table(box=None, padding=(0, 3, 0, 0), title_justify="left", header_style="bold")
    for heading in ("Block", "transactions", "generations", "gas", "state root", ""):
        table.add_column(heading, justify="left" if heading in {"state root", ""} else "right")
    for block in outcome.blocks:
        table.add_row(
            str(block.number),
            str(block.transactions),
            str(block.steps),
            f"{block.gas_used:,}",
            f"0x{block.state_root.hex()[:16]}…",
            "[green]as recorded[/]",
        )
    out.print(f"[bold]{escape(str(outcome.path))}[/]", soft_wrap=True)
    if outcome.blocks:
        print_table(table)
    if outcome.error is None:
        source = "computed again" if outcome.is_recomputed else "as recorded, without a model"
        count = sum(block.steps for block in outcome.blocks)
        out.print(
            f"[bold green]all as recorded[/]: {pluralize(len(outcome.blocks), 'block')}, "
            f"{pluralize(count, 'generation')} ({source}), {outcome.seconds:.1f} s"
        )
        return
    for line in str(outcome.error).removeprefix(f"{outcome.path}: ").split("\n"):
        err.print(f"[bold red]{escape(escape_line(line))}[/]", soft_wrap=True)


def _serialize_outcome(outcome: ReplayOutcome) -> dict[str, object]:
    error = outcome.error
    form: dict[str, object] = {
        "file": str(outcome.path),
        "name": None if outcome.fixture is None else outcome.fixture.name,
        "isAsRecorded": error is None,
        "recomputed": outcome.is_recomputed,
        "seconds": round(outcome.seconds, 3),
        "blocks": [
            {
                "number": block.number,
                "transactions": block.transactions,
                "generations": block.steps,
                "gasUsed": block.gas_used,
                "stateRoot": "0x" + block.state_root.hex(),
            }
            for block in outcome.blocks
        ],
        "error": None if error is None else {"kind": type(error).__name__, "message": str(error)},
    }
    if isinstance(error, MismatchError):
        place = dict(zip(("block", "transaction", "step"), error.place, strict=False))
        form["difference"] = {
            **place,
            "what": error.what,
            "recorded": error.expected,
            "now": error.actual,
        }
    return form

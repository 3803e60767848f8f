"""`pyevm-agents replay`: execute recorded blocks again and compare the results."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from precompiles.escaping import escape_line
from pyevm_agents.cli.options.models import (
    DEFAULT_MODEL_HELP,
    adapter_option,
    is_given,
    require_single_model,
    resolve_models,
)
from pyevm_agents.cli.output import err, out, print_table
from pyevm_agents.config.chain_config import get_fingerprint
from pyevm_agents.display import pluralize
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.models.store.caching_model import is_weightless
from pyevm_agents.recordings import MismatchError, Replay, ReplayedBlock, read_fixture

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from precompiles.language_model import LanguageModel, ModelProfile
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter
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


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option(
    "--recompute",
    is_flag=True,
    help="Run the model and compare every generation byte for byte. Without this option, recorded "
    "generations replace the model.",
)
@click.option(
    "--model",
    "models",
    metavar="MODEL",
    multiple=True,
    callback=resolve_models,
    help="The model for --recompute: a GGUF file, or a name that `pyevm-agents model list` "
    f"prints. Repeatable: a chain's models are found by digest.  {DEFAULT_MODEL_HELP}",
)
@adapter_option
@click.option(
    "--threads", type=click.IntRange(1, 512), metavar="N", help="Threads for --recompute."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list with an object per file.")
def replay(  # noqa: PLR0913 - one for each option
    paths: tuple[Path, ...],
    models: tuple[ModelChoice, ...],
    adapter: Adapter,
    threads: int | None,
    *,
    recompute: bool,
    as_json: bool,
) -> None:
    """Check recorded chains: execute every block again and compare.

    The exit status is 1 if a file was altered or a result differs; the message names the first
    block, transaction and step. The status is 2 if a file can't be checked.
    """
    context = click.get_current_context()
    for name, option in (("models", "--model"), ("adapter", "--adapter"), ("threads", "--threads")):
        if is_given(context, name) and not recompute:
            raise click.UsageError(f"{option} needs --recompute; without it, no model is loaded")
    require_single_model(context)
    choices = tuple(each.with_adapter(adapter) for each in models)

    def open_models(fixture: Fixture, stack: ExitStack) -> dict[str, LanguageModel]:
        return {
            profile.name: stack.enter_context(
                choice.open(threads=threads, context_tokens=profile.context_tokens)
            )
            for profile, choice in _match_models(fixture, choices)
        }

    outcomes = []
    for path in paths:
        outcome = _replay_file(path, open_models if recompute else None)
        outcomes.append(outcome)
        if not as_json:
            _print(outcome)
    if as_json:
        click.echo(json.dumps([_serialize_outcome(result) for result in outcomes], indent=2))
    raise SystemExit(max(result.exit_code for result in outcomes))


def _replay_file(
    path: Path, open_models: Callable[[Fixture, ExitStack], dict[str, LanguageModel]] | None
) -> ReplayOutcome:
    """Replay a file.

    Input:  open_models: opens the models that compute; None for the recorded generations.
    """
    outcome = ReplayOutcome(path, open_models is not None)
    started = time.monotonic()
    try:
        outcome.fixture = read_fixture(path)
        with ExitStack() as stack:
            models = None if open_models is None else open_models(outcome.fixture, stack)
            for block in Replay(outcome.fixture, models).execute_blocks():
                outcome.blocks.append(block)
    except AgentsError as error:
        outcome.error = error
    outcome.seconds = time.monotonic() - started
    return outcome


def _match_models(
    fixture: Fixture, choices: Sequence[ModelChoice]
) -> list[tuple[ModelProfile, ModelChoice]]:
    """Return each of a chain's models with the choice that has its digest.

    The only choice is the chain's only model: `Replay` compares the digests of both.

    Raises: ConfigError: a model is a script, or no choice has the model's digest.
    """
    config = fixture.config
    for profile in config.models:
        fingerprint = get_fingerprint(config, profile)
        if not fingerprint or is_weightless(fingerprint):
            raise ConfigError(
                "the generations come from a script, not from a model; omit --recompute"
            )
    if len(config.models) == len(choices) == 1:
        return [(config.models[0], choices[0])]
    by_digest = {choice.compute_digest(): choice for choice in choices} if config.models else {}
    for profile in config.models:
        if profile.digest not in by_digest:
            raise ConfigError(
                f"no --model is the chain's model {profile.name}, SHA-256 {profile.digest.hex()}; "
                "pass --model for each model of the chain"
            )
    return [(profile, by_digest[profile.digest]) for profile in config.models]


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

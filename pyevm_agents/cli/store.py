"""`pyevm-agents store`: statistics, verification and removal of cached generations."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from precompiles.language_model import GenerationRequest
from pyevm_agents.cache_folder import get_generations_path
from pyevm_agents.cli.options.models import adapter_option, model_option
from pyevm_agents.cli.output import StatusLine, err, out, print_table
from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import Store
from pyevm_agents.models.store.rows import DamagedRowError
from pyevm_agents.models.store.scored_grammar import split_scoring
from pyevm_agents.models.store.statistics import (
    StoredGeneration,
    StoreStatistics,
    compute_statistics,
    read_generation,
    sample_keys,
)
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from precompiles.language_model import Generation
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter, LlamaModel

DEFAULT_SAMPLE = 10
"""Generations that `verify` computes: some 10 s with the default model."""


def warn(trouble: str) -> None:
    """Print a warning about the store."""
    err.print(f"[bold yellow]Warning:[/] {escape(trouble)}", soft_wrap=True)


def warn_run(trouble: str) -> None:
    """Print a warning about the store during a run."""
    warn(f"{trouble}. The run continues and computes missing generations")


store_option = click.option(
    "--store",
    "store_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The generation store.  [default: generations.sqlite3 in the user's cache folder]",
)


@click.group()
def store() -> None:
    """Show, verify or clear the generation store.

    The store caches generations: repeated inferences are not computed again.
    """


@store.command(short_help="Show its size, models and hit rate.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def info(store_path: Path | None, *, as_json: bool) -> None:
    """Show the size, models and hit rate of the store."""
    with open_existing_store(store_path, warn) as opened:
        figures = compute_statistics(opened)
    if as_json:
        click.echo(json.dumps(serialize_figures(opened, figures), indent=2))
    else:
        print_figures(opened, figures)


@store.command()
@store_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def clear(store_path: Path | None, *, yes: bool) -> None:
    """Remove all generations and counts."""
    with open_existing_store(store_path) as opened:
        figures = compute_statistics(opened)
        count = figures.complete + figures.incomplete
        if not yes:
            if not is_interactive():
                raise ConfigError(
                    f"standard input is not a terminal; pass --yes to remove "
                    f"{pluralize(count, 'generation')} from {opened.path}"
                )
            click.confirm(
                f"Remove {pluralize(count, 'generation')} from {opened.path}?", abort=True
            )
        out.print(f"Removed {pluralize(opened.clear(), 'generation')}.")


@store.command(short_help="Compute a sample again and compare.")
@store_option
@click.option(
    "--sample",
    "count",
    type=click.IntRange(1),
    default=DEFAULT_SAMPLE,
    show_default=True,
    metavar="N",
    help="Number of generations to compute.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
@model_option
@adapter_option
def verify(
    store_path: Path | None, count: int, seed: int, model: ModelChoice, adapter: Adapter
) -> None:
    """Compute a sample of the generations again and compare byte for byte.

    The engine's prefix cache is empty for each. Generations of other models or engine profiles
    are skipped. The exit status is 1 if a generation differs or is damaged.
    """
    watch = StatusLine()
    with (
        open_existing_store(store_path, warn) as opened,
        watch,
        model.with_adapter(adapter).open() as llama,
    ):
        facts = llama.profile_facts
        keys = sample_keys(opened, facts.digest, facts.fingerprint, count=count, seed=seed)
        wrong = []
        for number, key in enumerate(keys, start=1):
            watch.show_status(f"{number} of {len(keys)}: computing {key.hex()[:16]} again")
            wrong += [f"{key.hex()}: {flaw}" for flaw in find_flaws(opened, key, llama)]
        watch.stop()
        left_out = [
            (profile.complete + profile.incomplete, profile.digest == facts.digest)
            for profile in compute_statistics(opened).profiles
            if (profile.digest, profile.fingerprint) != (facts.digest, facts.fingerprint)
        ]
    out.print(f"{len(keys) - len(wrong)} of {len(keys)} generations verified.")
    for reason, is_same_model in (("another model", False), ("another engine's profile", True)):
        skipped = sum(number for number, same in left_out if same is is_same_model)
        if skipped:
            out.print(f"Skipped: {skipped:,} of {reason}.")
    for line in wrong:
        out.print(f"[bold red]Differs:[/] {escape(line)}", soft_wrap=True)
    if wrong:
        out.print(
            "Damaged rows are computed again on their next use. `pyevm-agents store clear` "
            "removes all generations.",
            soft_wrap=True,
        )
    sys.exit(1 if wrong else 0)


def is_interactive() -> bool:
    """Return whether a user can answer a question."""
    return sys.stdin.isatty()


def open_existing_store(
    store_path: Path | None, report: Callable[[str], None] | None = None
) -> Store:
    """Open an existing store.

    Input:
        store_path: the file; None for the user's own store.
        report: callback for the first failure.

    Raises:
        ConfigError: no file, or not a store.
    """
    path = store_path or get_generations_path()
    if path is None:
        raise ConfigError("this user has no home folder; pass the store's file with --store")
    if not path.exists():
        raise ConfigError(
            f"generation store {path} does not exist; create one with `pyevm-agents demo`, or "
            "pass another with --store"
        )
    if path.is_file() and not path.stat().st_size:
        raise ConfigError(f"not a generation store: {path} is empty; pass another file")
    return Store(path, report=report)


def find_flaws(opened: Store, key: bytes, model: LlamaModel) -> Iterator[str]:
    """Compute a generation again; yield the errors of the stored one."""
    try:
        stored = read_generation(opened, key)
    except DamagedRowError as error:
        yield f"the row is damaged: {error}"
        return
    if stored is None:  # Another process evicted it meanwhile.
        return
    difference = describe_difference(stored.generation, recompute(stored, model))
    if difference is not None:
        yield difference


def recompute(stored: StoredGeneration, model: LlamaModel) -> Generation:
    """Return the model's generation for the same inputs, with an empty prefix cache."""
    model.forget()
    grammar, scoring = split_scoring(stored.question.grammar)
    return model.generate(
        GenerationRequest(
            segments=(),
            prompt_tokens=stored.question.prompt_tokens,
            grammar=grammar,
            max_tokens=max(1, len(stored.generation.tokens)),
            scoring=scoring,
        )
    )


def describe_difference(stored: Generation, computed: Generation) -> str | None:
    """Return the first difference of two generations; None if equal."""
    both = zip(stored.tokens, computed.tokens, strict=False)
    for index, (old, new) in enumerate(both):
        if old != new:
            return f"token {index} is {old} in the store and {new} from the model"
    for name in ("tokens", "text", "is_complete", "forced_tokens", "margin", "confidence"):
        old, new = getattr(stored, name), getattr(computed, name)
        if old != new:
            return f"{name} is {old!r} in the store and {new!r} from the model"
    return None


def serialize_figures(opened: Store, figures: StoreStatistics) -> dict[str, object]:
    """Return a store's statistics as a JSON object."""
    return {
        "path": str(opened.path),
        "fileBytes": figures.file_bytes,
        "freeBytes": figures.free_bytes,
        "maxBytes": opened.max_bytes,
        "generations": {"complete": figures.complete, "incomplete": figures.incomplete},
        "models": [
            {
                "sha256": profile.digest.hex(),
                "profile": _parse_fingerprint(profile.fingerprint),
                "complete": profile.complete,
                "incomplete": profile.incomplete,
            }
            for profile in figures.profiles
        ],
        "counts": figures.counts,
        "hitRate": figures.hit_rate,
        "oldest": _format_time(figures.oldest_us),
        "newest": _format_time(figures.newest_us),
    }


def print_figures(opened: Store, figures: StoreStatistics) -> None:
    """Print a store's statistics."""
    used_bytes = figures.file_bytes - figures.free_bytes
    out.print(f"[bold]{escape(str(opened.path))}[/]", soft_wrap=True)
    rows = [
        ("size", f"{_format_mib(figures.file_bytes)}, {_format_mib(used_bytes)} used"),
        ("limit", _format_mib(opened.max_bytes)),
        ("generations", f"{figures.complete:,} complete, {figures.incomplete:,} cut by a limit"),
        (
            "written",
            f"{_format_time(figures.oldest_us) or '-'} to {_format_time(figures.newest_us) or '-'}",
        ),
        ("hit rate", _format_hit_rate(figures)),
    ]
    rows += [
        (event, f"{figures.counts[event]:,}")
        for event in ("evicted", "damaged", "contradicted")
        if figures.counts.get(event)
    ]
    table = Table(box=None, padding=(0, 3, 0, 0), show_header=False)
    for row in rows:
        table.add_row(*row)
    print_table(table)
    for profile in figures.profiles:
        digest, canary = profile.digest.hex()[:16], _format_canary(profile.fingerprint)
        out.print(
            f"\n[bold]{profile.complete + profile.incomplete:,}[/] of model sha256 {digest}… "
            f"[dim]engine canary {escape(canary)}[/]",
            soft_wrap=True,
        )


def _format_hit_rate(figures: StoreStatistics) -> str:
    hits, misses, resumes = (
        figures.counts.get(event, 0) for event in ("hits", "misses", "resumes")
    )
    if figures.hit_rate is None:
        return "no requests yet"
    return f"{100 * figures.hit_rate:.1f} %: {hits:,} hits, {misses:,} misses, {resumes:,} resumed"


def _format_canary(fingerprint: str) -> str:
    profile = _parse_fingerprint(fingerprint)
    return str(profile.get("canary", "?"))[:16] + "…" if isinstance(profile, dict) else "?"


def _parse_fingerprint(fingerprint: str) -> object:
    """Return a fingerprint as JSON; unchanged if not JSON."""
    try:
        return parse_json(fingerprint)
    except ValueError:
        return fingerprint


def _format_mib(count: int) -> str:
    return f"{count / (1 << 20):,.2f} MiB"


def _format_time(time_us: int | None) -> str | None:
    if time_us is None:
        return None
    return datetime.fromtimestamp(time_us // 1_000_000, tz=UTC).isoformat()

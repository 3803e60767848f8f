"""`pyevm-agents bench`: measure the gas and time of inference on this machine and model."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from pyevm_agents.bench.measurement.budget import QUICK_BUDGET_S, TimeBudget, estimate_seconds
from pyevm_agents.bench.measurement.results import REFERENCES
from pyevm_agents.bench.measurement.results_json import read_report
from pyevm_agents.bench.measurement.rounds import BenchSettings
from pyevm_agents.bench.report.compare import compare
from pyevm_agents.bench.report.findings import BUSY_SHARE
from pyevm_agents.bench.suite import PARTS, BenchmarkSuite, get_skip_reasons, require_extras
from pyevm_agents.cli.bench.outputs import BenchOutputs
from pyevm_agents.cli.bench.progress import BenchProgress
from pyevm_agents.cli.bench.summary import print_comparison, print_summary
from pyevm_agents.cli.options.models import adapter_option, is_given, model_option
from pyevm_agents.cli.output import StatusLine, err, out
from pyevm_agents.devnet.node_process import AnvilError, find_anvil, read_version
from pyevm_agents.errors import ConfigError
from pyevm_agents.reports.number_format import format_seconds, join_names

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Report
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter

MEASURING = {
    "is_quick": "--quick",
    "model": "--model",
    "adapter": "--adapter",
    "threads": "--threads",
    "anvil": "--anvil",
    "only": "--only",
}
"""Options that only apply to a measurement."""

STOPPED = "stopped by Ctrl-C"

SIGNAL_STATUS = 128
"""Exit status of a command ended by a signal: this plus the signal's number, as in shells."""

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


class BenchCommand(click.Command):
    """A command that records the command line, for the report."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse and record the arguments."""
        ctx.meta["command"] = shlex.join(["pyevm-agents", "bench", *args])
        return super().parse_args(ctx, args)


@click.command(cls=BenchCommand)
@click.option(
    "--quick",
    "is_quick",
    is_flag=True,
    help="Fewer rounds and sizes: 90 s on two quiet cores. After 120 s it skips runs and attacks.",
)
@model_option
@adapter_option
@click.option("--threads", type=click.IntRange(1, 512), metavar="N", help="Threads of the engine.")
@click.option(
    "--only",
    type=click.Choice(PARTS),
    multiple=True,
    help="Measure this part alone. Repeatable.",
)
@click.option(
    "--anvil",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Program of anvil, measured as a comparison.  [default: anvil on the PATH]",
)
@click.option(
    "--from",
    "source",
    type=FILE,
    metavar="JSON",
    help="Write the reports of a `--json` file; measure nothing.",
)
@click.option("--html", type=FILE, metavar="FILE", help="Write a self-contained page.")
@click.option("--markdown", type=FOLDER, metavar="DIR", help="Write a README.md with plots.")
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="Write all samples.")
@click.option(
    "--compare",
    "old_path",
    type=FILE,
    metavar="JSON",
    help="Show the changes since a `--json` file.",
)
@click.option(
    "--emit-schedule",
    "schedule_path",
    type=FILE,
    metavar="FILE",
    help="Write a schedule at parity, for `node --schedule FILE`.",
)
@click.option(
    "--parity-with",
    type=click.Choice([*REFERENCES]),
    default="erc20",
    show_default=True,
    help="Reference of the emitted schedule.",
)
@click.pass_context
def bench(  # noqa: PLR0913 - one for each option
    context: click.Context,
    *,
    model: ModelChoice,
    adapter: Adapter,
    threads: int | None,
    only: tuple[str, ...],
    anvil: Path | None,
    source: Path | None,
    html: Path | None,
    markdown: Path | None,
    json_path: Path | None,
    old_path: Path | None,
    schedule_path: Path | None,
    parity_with: str,
    is_quick: bool,
) -> None:
    """Measure the time and gas of inference on this machine and model.

    Times the EVM's operations and each component of inference, and computes parity prices: at
    parity, a gas of inference takes as long as a gas of the EVM. Then times whole transactions,
    attacks, longer runs and larger models. A full run takes 15 minutes on two quiet cores.
    """
    if source is not None:
        _reject_measurement_options(context)
    outputs = BenchOutputs(
        html=html,
        markdown=markdown,
        json=json_path,
        schedule=schedule_path,
        parity_with=parity_with,
        old=None if old_path is None else read_report(old_path),
    )
    outputs.require_places()
    if source is not None:
        report = read_report(source)
        outputs.require_figures(report)
        _finish(report, outputs)
        return
    reasons = get_skip_reasons(only=only, is_quick=is_quick)
    outputs.require_parts(reasons)
    require_extras(reasons)
    program = _locate_anvil(anvil)
    signal.signal(signal.SIGTERM, _exit_on_signal)
    with (
        StatusLine() as watch,
        # The metronome is not shown: printing would be a part of the measurement.
        model.with_adapter(adapter).open(threads=threads) as llama,
    ):
        watch.show_status("loading the model")
        _ = llama.profile_facts  # Rejects a file that is not a model before measuring.
        watch.stop()
        with BenchProgress() as progress:
            setting = BenchSettings(
                model=llama,
                observer=progress,
                is_quick=is_quick,
                anvil=program,
                budget=TimeBudget(QUICK_BUDGET_S) if is_quick else TimeBudget(),
            )
            _warn_of_load()
            if not only:
                _print_estimate(is_quick=is_quick)
            whole = BenchmarkSuite(
                setting=setting, command=context.meta["command"], reasons=reasons
            )
            ending = _measure(whole)
        report = whole.build_report(why_ended="" if ending is None else _describe_ending(ending))
    if ending is not None and not whole.finished_parts:
        err.print("No part was finished: nothing is written.")
        raise ending
    _finish(report, outputs)
    if ending is not None:
        err.print(f"Ended before its end; kept: {join_names(whole.finished_parts)}.")
        raise ending


def _exit_on_signal(number: int, _frame: object) -> None:
    """Exit by an exception, which closes anvil, files and weights."""
    sys.exit(SIGNAL_STATUS + number)


def _locate_anvil(path: Path | None) -> Path | None:
    """Return the path of anvil; None if absent.

    Raises: ConfigError: `path` is not anvil.
    """
    try:
        program = find_anvil(path)
        if path is not None and program is not None:
            _ = read_version(program)  # Before anything is measured.
    except AnvilError as error:
        raise ConfigError(f"--anvil: {error}") from error
    return program


def _measure(whole: BenchmarkSuite) -> Exception | KeyboardInterrupt | None:
    """Measure everything; return the exception that ended the measurement early, of any type.

    The results of minutes must not be lost.
    """
    try:
        whole.measure()
    except (Exception, KeyboardInterrupt) as ending:  # noqa: BLE001 - raised again in the end
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # People press it twice; there is to write.
        return ending
    return None


def _describe_ending(ending: Exception | KeyboardInterrupt) -> str:
    return STOPPED if isinstance(ending, KeyboardInterrupt) else str(ending)


def _reject_measurement_options(context: click.Context) -> None:
    """Reject options that control a measurement if nothing is measured.

    Raises: click.UsageError.
    """
    for name, option in MEASURING.items():
        if is_given(context, name):
            raise click.UsageError(f"--from measures nothing: leave out {option}")


def _print_estimate(*, is_quick: bool) -> None:
    seconds = estimate_seconds(
        is_quick=is_quick, load_average=os.getloadavg()[0], cores=os.cpu_count() or 1
    )
    err.print(f"About {format_seconds(round(seconds, -1))} with the default model.")


def _warn_of_load() -> None:
    """Warn of a busy machine while there is still time to wait."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > BUSY_SHARE * cores:
        err.print(
            f"[yellow]Busy:[/] load average {load:.1f} on {cores} cores; times will be too long, "
            "intervals wide"
        )


def _finish(report: Report, outputs: BenchOutputs) -> None:
    """Write the files, then print the report: a closed pipe must not prevent the files."""
    written: list[str] = []
    try:
        written.extend(outputs.write(report))
    finally:
        print_summary(report, parity_with=outputs.parity_with)
        if outputs.old is not None:
            print_comparison(compare(outputs.old, report))
        for path in written:
            out.print(f"written: {escape(path)}", soft_wrap=True)
        if missing := outputs.explain_missing_schedule(report):
            err.print(escape(missing), soft_wrap=True)

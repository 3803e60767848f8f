"""How often does an agent do exactly its task? Tasks as transactions, marked by the final state.

    python -m benchmarks.agent_accuracy [--model MODEL] [--adapter FILE] [--compare NAME ...]
                                        [--rival NAME=MODEL ...] [--nonsense-names]
                                        [--count N | --tasks FILE] [--limit N] [--json FILE] ...

Each task is a `SimpleAgent` with its tools, run in one transaction, which is undone afterwards. Its
tools write to a ledger. Tables: by category and kinds of tools, counts with Wilson's 95 %
confidence intervals; the figures with bars, contenders side by side; and five scenarios on a swap
pool's own contracts. `benchmarks/task_marks.py` defines the marks.

    first tool            of tasks that need one, whether the first tool was the right one
    tools (and arguments) of all right steps, how many were made at their place in the run
    number of steps       as many tools used as in the right run
    stopped               it answered, and used no tool after the last right step
    answer                has the requested facts, each as a word of its own
    final state           the transaction succeeded and left the state of the right run; if that
                          is unchanged, the right calls were made and the answer has the facts
    obeyed                of tasks with an injection: the injected tool was used
    withheld              the gate ended the run: the answer asks back

The first contender is compared with each other one on the tasks that both did: counts that only one
got right, McNemar's exact p-value, and Newcombe's 95 % interval of the difference. After `model`,
`ungated` runs only the tasks that the gate ended: the other runs are the same. Contenders with
confidences and without a gate have tables of reliability (`benchmarks/reliability.py`); first calls
are marked by the method of the Berkeley Function Calling Leaderboard, too (`benchmarks/bfcl.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks import bfcl, reliability
from benchmarks.accuracy_comparison import pairs_as_json
from benchmarks.accuracy_page import write_page
from benchmarks.accuracy_report import tables_of
from benchmarks.accuracy_runs import Findings, Measurement
from benchmarks.accuracy_tables import (
    as_json,
    describe_run,
    figures_as_json,
    is_failure,
)
from benchmarks.contenders import CONTENDERS, Settings, check, find_rival
from benchmarks.task_files import read_tasks, write_tasks
from pyevm_agents.bench.heartbeat import Heartbeat, open_heartbeat
from pyevm_agents.bench.report.plots import require_matplotlib
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.model_registry.registry import NAME, ModelChoice, open_registry
from training.sample import held_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from training.tasks import Task

DEFAULT_COUNT, QUICK_COUNT = 1_000, 200
PARTS = ("tasks", "scenarios")
FAILED, BAD_USAGE, INTERRUPTED = 1, 2, 130

FILE_COLUMNS = 150
"""Width of the tables where the output is not a terminal."""


def main(arguments: Sequence[str] | None = None, *, heartbeat: Heartbeat | None = None) -> int:
    """Run tasks and scenarios for each contender; print the tables. Return the exit status."""
    options = _parser().parse_args(arguments)
    errors = Console(stderr=True)
    status, findings = 0, Findings()
    try:
        if options.html:
            require_matplotlib()
        settings = _settings(options)
        it = Measurement(settings, errors, processes=options.processes, heartbeat=heartbeat)
        findings = it.findings
        _measure(it, options, settings)
    except ConfigError as error:
        errors.print(f"{error}", markup=False)
        return BAD_USAGE
    except AgentsError as error:
        errors.print(f"A model failed: {error}", markup=False)
        status = FAILED
    except KeyboardInterrupt:
        errors.print("Interrupted: this is what was run so far.")
        status = INTERRUPTED
    console = Console()
    if not console.is_terminal:
        console.width = FILE_COLUMNS
    _print(findings, console, options.failures)
    if options.html:
        write_page(options.html, findings)
    if options.json:
        options.json.write_text(json.dumps(_form(findings, options), indent=1) + "\n")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.agent_accuracy",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--model",
        type=_model,
        default=ModelChoice(),
        help="a GGUF file, or a name that `pyevm-agents model list` prints",
    )
    parser.add_argument("--adapter", type=_file, help="a LoRA adapter for it, as GGUF")
    parser.add_argument(
        "--compare",
        nargs="+",
        choices=[*CONTENDERS],
        default=["model"],
        metavar="NAME",
        help="who is measured, side by side; model if nobody is named:\n"
        + "\n".join(f"  {name}: {words}" for name, words in CONTENDERS.items()),
    )
    parser.add_argument(
        "--rival",
        type=_rival,
        action="append",
        default=[],
        metavar="NAME=MODEL",
        help="another model as a contender, such as the one before: an adapter's GGUF file for\n"
        "--model, a model's GGUF file, or a name that `pyevm-agents model list` prints",
    )
    parser.add_argument(
        "--nonsense-names",
        action="store_true",
        help="run the tasks a second time, with nonsense for the tools' names, so that only their\n"
        "descriptions speak",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--tasks", type=_file, help="a file with one task as JSON on each line")
    source.add_argument(
        "--count",
        type=_count,
        default=DEFAULT_COUNT,
        help=f"tasks to generate; {DEFAULT_COUNT} if not said",
    )
    source.add_argument(
        "--quick",
        dest="count",
        action="store_const",
        const=QUICK_COUNT,
        help=f"the first {QUICK_COUNT} of them",
    )
    parser.add_argument("--seed", type=int, default=1, help="of generated tasks and of luck")
    parser.add_argument("--limit", type=_count, help="run the first so many tasks only")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument(
        "--processes", type=_count, default=1, help="engines that share the tasks; 1"
    )
    parser.add_argument("--threads", type=_count, help="threads of each engine")
    parser.add_argument(
        "--failures", type=int, default=50, help="list at most so many failures of each; 50"
    )
    parser.add_argument("--save-tasks", type=_target, help="write the tasks to this file")
    parser.add_argument("--json", type=_target, help="write every run to this file")
    parser.add_argument("--html", type=_target, help="write the tables and plots to this file")
    return parser


def _model(text: str) -> ModelChoice:
    try:
        choice = open_registry().resolve(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if choice.path is not None:
        _file(str(choice.path))
    return choice


def _rival(text: str) -> tuple[str, str]:
    name, _, model = text.partition("=")
    if not NAME.fullmatch(name) or not model:
        raise argparse.ArgumentTypeError(
            f"rival {text!r}: must be NAME=MODEL, NAME of letters, digits, '_', '.' and '-'"
        )
    if name in CONTENDERS:
        raise argparse.ArgumentTypeError(f"rival {name}: is a contender's name; pass another")
    return name, model


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path


def _target(text: str) -> Path:
    path = Path(text)
    if not path.parent.is_dir() or path.is_dir():
        raise argparse.ArgumentTypeError(f"can't write to {text}: no folder, or one itself")
    return path


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def _settings(options: argparse.Namespace) -> Settings:
    rivals = {name: find_rival(model, options.model) for name, model in options.rival}
    if len(rivals) < len(options.rival):
        raise ConfigError("two rivals have one name; pass another")
    return Settings(
        model=options.model,
        adapter=options.adapter,
        # Engines side by side take a core each.
        threads=options.threads or (None if options.processes == 1 else 1),
        seed=options.seed,
        rivals=rivals,
    )


def _tasks(options: argparse.Namespace) -> list[Task]:
    made = read_tasks(options.tasks) if options.tasks else held_out(options.count, options.seed)
    tasks = [*islice(made, options.limit)]
    if not tasks:
        raise ConfigError("there are no tasks; give a file that has some")
    if options.save_tasks:
        write_tasks(options.save_tasks, tasks)
    return tasks


def _measure(it: Measurement, options: argparse.Namespace, settings: Settings) -> None:
    tasks = _tasks(options) if options.only != "scenarios" else []
    names = [*options.compare, *settings.rivals]
    for name in names:
        check(name, settings)
    for name in names:
        if tasks:
            it.run_tasks(name, tasks)
            if options.nonsense_names:
                it.run_tasks(name, tasks, has_nonsense_names=True)
        if options.only != "tasks":
            it.run_scenarios(name)


def _print(findings: Findings, console: Console, most: int) -> None:
    for table in tables_of(findings):
        console.print(table)
    for name in findings.digests:
        results = findings.tasks.get(name, [])
        texts = [describe_run(it.task, it.done) for it in results if is_failure(it)]
        runs = findings.scenarios.get(name, [])
        texts += [describe_run(scenario.task, run) for scenario, run in runs if not run.is_right]
        if texts:
            console.print(f"\n{name}: {len(texts)} of {len(results) + len(runs)} runs were wrong")
        for text in texts[:most]:
            console.print(text, markup=False, soft_wrap=True, highlight=False)
        if len(texts) > most:
            console.print(f"… and {len(texts) - most} more: --json has them all")


def _form(findings: Findings, options: argparse.Namespace) -> dict[str, object]:
    reliable = reliability.measure_all(findings.tasks, findings.rules)
    return {
        "seed": options.seed,
        "tasks": str(options.tasks or options.count),
        "contenders": {
            name: {
                "model": digest,
                "rules": dict(findings.rules[name]),
                "figures": figures_as_json(findings.tasks.get(name, [])),
                "bfcl": bfcl.as_json(findings.tasks.get(name, [])),
                "reliability": (reliability.as_json(reliable[name]) if name in reliable else None),
                "tasks": [as_json(result) for result in findings.tasks.get(name, [])],
                "scenarios": [
                    {
                        "scenario": scenario.name,
                        "wording": scenario.wording,
                        "is_right": run.is_right,
                        "told": describe_run(scenario.task, run),
                        "wanted_state": asdict(scenario.after),
                        "state": asdict(run.after),
                        "gas_used": run.run.gas_used,
                        "seconds": round(run.run.seconds, 3),
                    }
                    for scenario, run in findings.scenarios.get(name, [])
                ],
            }
            for name, digest in findings.digests.items()
        },
        "paired": pairs_as_json(findings.tasks),
    }


if __name__ == "__main__":
    with open_heartbeat("benchmarks.agent_accuracy") as lines:
        sys.exit(main(heartbeat=lines if isinstance(lines, Heartbeat) else None))

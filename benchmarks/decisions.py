"""What the benchmarks of demos have in common: a model that decides, a table, and a report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.evidence import describe_commit
from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.errors import AgentsError
from pyevm_agents.model_registry.registry import ModelChoice, open_registry

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

DecisionT = TypeVar("DecisionT")


def add_decision_options(parser: argparse.ArgumentParser) -> None:
    """Add `--model` and `--json`."""
    parser.add_argument("--model", metavar="MODEL", help="a GGUF file or a name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all decisions")


def report_decisions(
    name: str,
    options: argparse.Namespace,
    measure: Callable[[ModelChoice, Heartbeat], Iterator[DecisionT]],
    print_decisions: Callable[[Sequence[DecisionT]], None],
    build_report: Callable[[Sequence[DecisionT]], dict[str, object]],
) -> int:
    """Measure, print and write; return 1 if the model is unfit."""
    commit = describe_commit()
    try:
        choice = open_registry().resolve(options.model) if options.model else ModelChoice()
        with Heartbeat(name) as heartbeat:
            decisions = list(measure(choice, heartbeat))
    except AgentsError as error:
        print(error, file=sys.stderr)
        return 1
    print_decisions(decisions)
    if options.json is not None:
        form = {"commit": commit, **build_report(decisions)}
        options.json.write_text(json.dumps(form, indent=1, ensure_ascii=False) + "\n")
    return 0

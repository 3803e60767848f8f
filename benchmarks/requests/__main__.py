"""Does an agent do what was asked, or nothing? The table of requests, on the EVM.

    uv run python -m benchmarks.requests [WORLD ...] [--closed | --attacks] [--rules]
        [--show VERDICT ...] [--json FILE]

Each request is run once for each choice that the rules leave to the model, and once with the model:
the right call is offered if one of the choices makes it. `--rules` leaves the model out: then the
first choice counts. `--closed` takes the fifth that nobody looks at while rules are written,
`--attacks` those with which testers once led an agent to another act than was asked.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.requests.choices import ChoosingModel
from benchmarks.requests.outcomes import Runner, Verdict, list_results
from benchmarks.requests.world import WORLDS, World, read_requests
from benchmarks.shares import Share
from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import CachingModel, LlamaModel, Vocabulary
from pyevm_agents.models.fakes.swappable import SwappableModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.requests.outcomes import Result
    from precompiles.language_model import LanguageModel
    from pyevm_agents.models import ProfileFacts


def main() -> None:
    """Print what became of the requests."""
    options = _read_options()
    names = options.worlds or sorted(each.name for each in WORLDS.iterdir() if each.is_dir())
    vocabulary = Vocabulary()
    facts, real = _open_model(vocabulary, is_weightless=options.rules)
    results: list[Result] = []
    with Heartbeat("requests") as heartbeat:
        for name in names:
            model = SwappableModel(real)
            chain = create_funded_chain(model, facts, build_model_profile(facts))
            runner = Runner(World(name, chain), model, vocabulary)
            requests = read_requests(name, options.part)
            results += list_results(
                runner, heartbeat.track(requests, name), with_model=not options.rules
            )
    console = Console()
    for result in results:
        if result.final.verdict.value in options.show:
            console.print(_describe(result), markup=False, highlight=False, soft_wrap=True)
    console.print(_build_table(results))
    if options.json:
        options.json.write_text(json.dumps(_serialize(results, part=options.part), indent=1) + "\n")


def _open_model(
    vocabulary: Vocabulary, *, is_weightless: bool
) -> tuple[ProfileFacts, LanguageModel]:
    """Return the facts of the model, and the model; without weights, one that is not asked."""
    if is_weightless:
        return vocabulary.profile_facts, ChoosingModel(vocabulary)
    model = LlamaModel()
    facts = model.profile_facts
    return facts, CachingModel(model, digest=facts.digest, fingerprint=facts.fingerprint)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.requests",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help="all by default")
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--closed", dest="part", action="store_const", const="closed", help="the closed requests"
    )
    part.add_argument(
        "--attacks", dest="part", action="store_const", const="attacks", help="the attacks"
    )
    parser.set_defaults(part="open")
    parser.add_argument("--rules", action="store_true", help="without the model")
    parser.add_argument(
        "--show",
        nargs="*",
        default=[],
        choices=[one.value for one in Verdict],
        help="print these requests",
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def _describe(result: Result) -> str:
    request, run = result.request, result.final
    right = "; ".join(request.calls) or request.answer or f"{request.reason}: {request.because}"
    return (
        f"{run.verdict.value:9} {request.world}.{request.agent}: {request.text!r}\n"
        f"          right: {right}\n"
        f"          got:   {run.answer}"
    )


def _build_table(results: Sequence[Result]) -> Table:
    groups = {
        "to be done": [one for one in results if one.request.is_doable],
        "not to be done": [one for one in results if not one.request.is_doable],
    }
    table = Table("requests", *(f"{name}: {len(group)}" for name, group in groups.items()))
    for verdict in Verdict:
        counts = [sum(one.final.verdict is verdict for one in group) for group in groups.values()]
        sizes = [len(group) for group in groups.values()]
        table.add_row(verdict.value, *_show_shares(counts, sizes))
    doable, undoable = groups.values()
    declined = [one for one in undoable if one.final.verdict is Verdict.DECLINED]
    table.add_row(
        "right call offered", *_show_shares([sum(one.is_offered for one in doable)], [len(doable)])
    )
    table.add_row(
        "decided by rules alone",
        *_show_shares(
            [sum(one.is_decided for one in group) for group in groups.values()],
            [len(group) for group in groups.values()],
        ),
    )
    rights = sum(one.has_right_reason for one in declined)
    table.add_row("declined with the right reason", "", *_show_shares([rights], [len(declined)]))
    return table


def _show_shares(counts: Sequence[int], sizes: Sequence[int]) -> list[str]:
    return [str(Share(count, size)) for count, size in zip(counts, sizes, strict=True)]


def _serialize(results: Sequence[Result], *, part: str) -> dict[str, object]:
    """Return counts by world, and of the open requests each one."""
    counts: dict[str, dict[str, int]] = {}
    for one in results:
        kind = "doable" if one.request.is_doable else "undoable"
        of = counts.setdefault(one.request.world, {})
        for key in (
            kind,
            f"{kind} {one.final.verdict.value}",
            *([f"{kind} offered"] if one.is_offered else []),
            *([f"{kind} decided"] if one.is_decided else []),
            *([f"{kind} can be wrong"] if one.can_be_wrong else []),
        ):
            of[key] = of.get(key, 0) + 1
    form: dict[str, object] = {"part": part, "worlds": counts}
    if part != "closed":
        form["requests"] = [
            {
                "world": one.request.world,
                "agent": one.request.agent,
                "text": one.request.text,
                "verdict": one.final.verdict.value,
                "offered": one.is_offered,
                "answer": one.final.answer,
                "choices": [asdict(run) for run in one.runs] if len(one.runs) > 1 else [],
            }
            for one in results
        ]
    return form


if __name__ == "__main__":
    main()

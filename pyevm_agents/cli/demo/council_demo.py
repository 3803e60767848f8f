"""`pyevm-agents demo --scenario council`: two questions to a council, a market and a dispute."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from pyevm_agents.cli.demo.council_texts import (
    SHARE_COLUMNS,
    describe_step,
    format_ether,
    format_score,
    list_share_cells,
    list_verdicts,
)
from pyevm_agents.cli.demo.output import print_title, truncate_text
from pyevm_agents.cli.errors import FAULT_STATUS
from pyevm_agents.cli.output import out, print_table
from pyevm_agents.scenarios.council.demo import CouncilDemo
from pyevm_agents.scenarios.council.views import serialize_council

if TYPE_CHECKING:
    from pyevm_agents.cli.demo.job import DemoJob
    from pyevm_agents.scenarios.council.cases import CouncilCase, CouncilStep

PHASE_WIDTH = 19


def run_council_demo(job: DemoJob) -> None:
    """Deploy everything, let the council answer, and print the steps as they are mined.

    Raises: EngineFault: the model failed. AgentsError: a step reverted that others need, or the
            page can't be written. SystemExit: something came out otherwise than it should.
    """
    demo = CouncilDemo.deploy(job.chain, report=job.watch.report)
    job.watch.stop()
    if not job.as_json:
        print_title(job.model)
    asked = 0
    for step in demo.run_all():
        job.watch.stop()
        if job.as_json:
            continue
        if len(demo.cases) > asked:
            asked = len(demo.cases)
            out.print(f"\n[bold]Question {asked}[/]  {escape(demo.cases[-1].question)}")
        _print_step(step)

    def build_page() -> str:
        from pyevm_agents.cli.demo import council_page  # noqa: PLC0415 - imports jinja2

        return council_page.build_page(demo, model=job.model)

    job.finish(
        demo.chain,
        "the questions of --scenario council",
        serialize=lambda seconds: serialize_council(demo, model=job.model, seconds=seconds),
        print_result=lambda seconds: _print_result(demo, seconds),
        build_page=build_page,
    )
    if not all(each.is_met for each in demo.expectations):
        sys.exit(FAULT_STATUS)


def _print_step(step: CouncilStep) -> None:
    fate = f"  [red]{escape(step.failure)}[/]" if step.failure else ""
    text = escape(truncate_text(describe_step(step)))
    gas = f"[dim]{step.gas_used:,} gas[/]"
    out.print(f"   [dim]{step.phase:<{PHASE_WIDTH}}[/] {text}  {gas}{fate}", soft_wrap=True)
    for one in step.steps:
        said = one.answer if one.answer is not None else f"{one.action}: {one.observation}"
        line = escape(truncate_text(f"{'answer' if one.answer is not None else 'tool'} {said}"))
        out.print(f"   {'':<{PHASE_WIDTH}} [cyan]{line}[/]", soft_wrap=True)


def _print_result(demo: CouncilDemo, seconds: float) -> None:
    for case in demo.cases:
        answer = escape(case.answer.decode(errors="replace"))
        out.print(f"\n[bold]Question {case.number}: {answer}[/]")
        for line in list_verdicts(case):
            out.print(f"   {escape(line)}", soft_wrap=True)
        print_table(_build_shares(case))
        out.print(
            f"   in {format_ether(case.total_in)}, out {format_ether(case.total_out)} ETH: the "
            "reward and the bonds, and what was credited"
        )
    paid = ", ".join(f"{name} {format_ether(wei)}" for name, wei in demo.paid_by_market.items())
    out.print(f"\n[bold]Market[/]  paid, in ETH: {paid}")
    scores = ", ".join(
        f"{name} {format_score(before)} to {format_score(demo.scores_after[name])}"
        for name, before in demo.scores_before.items()
    )
    out.print(f"[bold]Scores[/]  {scores}", soft_wrap=True)
    out.print()
    for each in demo.expectations:
        mark = "[green]as expected[/]  " if each.is_met else "[bold red]not expected[/]"
        found = "" if each.is_met else f": {each.found}"
        out.print(f"   {mark} {escape(each.text + found)}", soft_wrap=True)
    met = sum(each.is_met for each in demo.expectations)
    style = "bold green" if met == len(demo.expectations) else "bold red"
    out.print(
        f"\n[{style}]{met} of {len(demo.expectations)} came out as expected[/], "
        f"after {seconds:.1f} s"
    )


def _build_shares(case: CouncilCase) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for column in SHARE_COLUMNS[1:]:
        table.add_column(column, justify="right")
    for share in case.list_shares():
        table.add_row(*(escape(text) for text in list_share_cells(case, share)))
    return table

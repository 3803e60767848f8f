"""`pyevm-agents demo`: scenarios of agents on a real model."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import click

from pyevm_agents.atomic_files import write_output_file
from pyevm_agents.cache_folder import get_facts_folder
from pyevm_agents.cli.demo.catalogue import SCENARIOS, DemoJob
from pyevm_agents.cli.demo.options import add_demo_options
from pyevm_agents.cli.demo.review import DemoReview
from pyevm_agents.cli.demo.text import print_beginning, print_end, print_part
from pyevm_agents.cli.errors import FAULT_STATUS, NOT_DONE_STATUS
from pyevm_agents.cli.options.models import (
    adapter_option,
    gas_limit_option,
    is_given,
    model_option,
    schedule_option,
)
from pyevm_agents.cli.output import out
from pyevm_agents.cli.record import describe_fixture_file
from pyevm_agents.cli.run_preview import yes_option
from pyevm_agents.cli.store import store_option, warn_run
from pyevm_agents.cli.tools.inspect import SlowStatus
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.models.store.store import MEMORY, open_run_store
from pyevm_agents.recordings import record_chain, write_fixture
from pyevm_agents.scenarios.setting import ScenarioSetting
from pyevm_agents.scenarios.wallet import DEFAULT_INSTRUCTION, require_instruction

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.chain import Chain
    from pyevm_agents.cli.demo.options import DemoOptions
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter
    from pyevm_agents.recordings import Fixture
    from pyevm_agents.reports.document import EntryList, ReportTable
    from pyevm_agents.scenarios.report import ScenarioReport


@click.command()
@click.option("--list", "lists", is_flag=True, help="Print the scenarios, and what each shows.")
@click.option(
    "--scenario",
    type=click.Choice([*SCENARIOS]),
    default="wallet",
    show_default=True,
    help="What runs; see --list.",
)
@click.option(
    "--prompt",
    default=DEFAULT_INSTRUCTION,
    show_default=True,
    metavar="TEXT",
    help="wallet, callback: The instruction of the wallet's owner. Tokens are symbols (USDC, DAI) "
    "or addresses; {USDC} and {DAI} become the addresses. Amounts are whole tokens.",
)
@yes_option
@add_demo_options
@model_option
@adapter_option
@click.option(
    "--threads",
    type=click.IntRange(1, 512),
    metavar="N",
    help="Threads of the engine. The result does not depend on it.  "
    "[default: the number of cores, at most 4]",
)
@schedule_option
@gas_limit_option
@store_option
@click.option("--no-store", is_flag=True, help="Neither read nor write the generation store.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def demo(  # noqa: PLR0913 - one for each option
    prompt: str,
    model: ModelChoice,
    adapter: Adapter,
    threads: int | None,
    store_path: Path | None,
    *,
    lists: bool,
    scenario: str,
    assumes_yes: bool,
    options: DemoOptions,
    schedule: ScheduleFile | None,
    gas_limit: int,
    no_store: bool,
    as_json: bool,
) -> None:
    """Run a scenario of agents on a real model.

    By default an agent of a wallet executes an instruction in one transaction: the steps, the
    balances and the gas are printed. Then an agent runs whose second tool reverts: all balances
    stay unchanged. --list names the other scenarios.

    Each run is compared with the ideal, which a scripted model makes, or with the scenario's
    expectations. --ideal runs that script in place of the model.

    With --prompt, the run is simulated first: the transfers, the approvals that stay, the balances,
    and where amounts and accounts differ from the instruction. Then you confirm or decline. Without
    a terminal a run that differs is not sent, and the exit status is 4; --yes sends the run.

    With wallet and callback, the exit status is 4 if the agent does not do the task. With run and
    council, the status is 1 for an outcome other than expected. Otherwise the status is 0 even if a
    transaction reverts or a run differs from the ideal; see `status` and `endedAsIdeal` in the
    JSON.
    """
    if lists:
        print_scenarios(as_json=as_json)
        return
    if no_store and store_path is not None:
        raise click.UsageError("--store and --no-store exclude each other; omit one")
    options.require_fitting(scenario)
    require_instruction(prompt)
    choice = model.with_adapter(adapter)
    watch = DemoWatch(options, scenario, as_json=as_json)
    with (
        watch,
        open_run_store(
            MEMORY if no_store or scenario == "callback" else store_path, report=warn_run
        ) as store,
        choice.open(
            threads=threads, kept_facts=get_facts_folder(), progress=watch.on_progress
        ) as llama,
    ):
        facts = llama.profile_facts
        chain = create_development_chain(
            llama,
            facts,
            choice.build_profile(facts),
            store=store,
            schedule=schedule,
            block_gas_limit=gas_limit,
        )
        setting = ScenarioSetting(
            chain=chain,
            model={"name": chain.config.models[0].name, "digest": "0x" + facts.digest.hex()},
            is_scripted=options.ideal,
            show_status=watch.report,
            show=watch.show,
            keep=watch.keep,
            read_seconds=watch.read_seconds,
        )
        watch.begin(setting)
        review = None
        if is_given(click.get_current_context(), "prompt"):
            review = DemoReview(
                scenario=scenario,
                setting=setting,
                assumes_yes=assumes_yes,
                as_json=as_json,
                watch=watch,
            )
        job = DemoJob(
            setting=setting,
            options=options,
            prompt=prompt,
            review=review,
            llama=llama,
            store=store,
        )
        report = SCENARIOS[scenario].run(job)
        watch.end(report)
    if report.is_not_done:
        sys.exit(NOT_DONE_STATUS)
    if SCENARIOS[scenario].is_fault and not report.has_ended_as_ideal:
        sys.exit(FAULT_STATUS)


class DemoWatch(SlowStatus):
    """The output of a scenario: the status, ended runs, the report and its files."""

    def __init__(self, options: DemoOptions, scenario: str, *, as_json: bool) -> None:
        super().__init__()
        self._options, self._scenario, self._as_json = options, scenario, as_json
        self._shown: list[EntryList | ReportTable] = []
        self._recorded: Fixture | None = None
        self._begun = 0.0
        """Seconds of a monotonic clock."""

    def begin(self, setting: ScenarioSetting) -> None:
        """Start the time, and print the model."""
        self.stop()
        self._begun = time.monotonic()
        if not self._as_json:
            print_beginning(setting.model, is_scripted=setting.is_scripted)

    def read_seconds(self) -> float:
        """Return the seconds since the model was opened."""
        return time.monotonic() - self._begun

    def show(self, part: EntryList | ReportTable) -> None:
        """Print a part of the report."""
        self.stop()
        if not self._as_json:
            self._shown.append(part)
            print_part(part)

    def keep(self, chain: Chain) -> None:
        """Record a scenario's chain, if there is a path. `end` writes the file."""
        if self._options.record_path is not None:
            comment = f"Runs of `pyevm-agents demo --scenario {self._scenario}`"
            self._recorded = record_chain(chain, name="demo", comment=comment)

    def end(self, report: ScenarioReport) -> None:
        """Print the report, and write the recording and the page where there are paths.

        Raises: AgentsError: a file can't be written. The report is printed, and the other file is
            written.
        """
        self.stop()
        if self._as_json:
            # In ASCII: some texts are of other contracts.
            click.echo(json.dumps(report.serialize(), indent=2))
        else:
            print_end(report, self._shown)
        try:
            self._write_recording()
        finally:
            self._write_page(report)

    def _write_recording(self) -> None:
        path, fixture = self._options.record_path, self._recorded
        if path is not None and fixture is not None:
            write_fixture(fixture, path)
            self.show_status(f"written: {describe_fixture_file(path, fixture)}")

    def _write_page(self, report: ScenarioReport) -> None:
        if self._options.html is not None:
            from pyevm_agents.cli.demo.page import build_page  # noqa: PLC0415 - imports jinja2

            write_output_file(self._options.html, build_page(report))
            self.show_status(f"written: {self._options.html}")


def print_scenarios(*, as_json: bool) -> None:
    """Print the scenarios, and the subject of each."""
    if as_json:
        form = [{"scenario": name, "shows": each.shows} for name, each in SCENARIOS.items()]
        click.echo(json.dumps(form, indent=2))
        return
    width = max(map(len, SCENARIOS))
    for name, each in SCENARIOS.items():
        out.print(f"[bold]{name:<{width}}[/]  {each.shows}", soft_wrap=True)

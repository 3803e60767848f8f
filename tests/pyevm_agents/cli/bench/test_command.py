"""`pyevm-agents bench`: reports of a report that is there, and mistakes that are found early."""

from __future__ import annotations

import errno
import json
import re
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from pyevm_agents.bench.measurement.results_json import read_report, to_json
from pyevm_agents.bench.pricing import parity
from pyevm_agents.bench.suite import PARTS, BenchmarkSuite, get_skip_reasons
from pyevm_agents.cli.app import main
from pyevm_agents.errors import EngineFault
from pyevm_agents.reports.number_format import Interval
from tests.pyevm_agents.bench import made_up

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("reduced_default")


def bench(*arguments: object) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["bench", *map(str, arguments)], prog_name="pyevm-agents")


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Return the file of a report."""
    file = tmp_path / "told.json"
    file.write_text(to_json(made_up.report()))
    return file


@pytest.mark.slow
def test_reports_are_written_of_a_report(told: Path, tmp_path: Path) -> None:
    html, json_file = tmp_path / "report.html", tmp_path / "again.json"
    bare = tmp_path / "bare.json"
    bare.write_text(to_json(made_up.bare_report()))
    done = bench("--from", bare, "--html", html)
    assert done.exit_code == 0, done.output
    assert "What does inference cost in gas?" in html.read_text()
    assert f"written: {html}" in done.output.replace("\n", "")
    done = bench("--from", told, "--json", json_file)
    assert done.exit_code == 0, done.output
    assert read_report(json_file) == made_up.report()
    for words in ("a cold prompt token", "parity-erc20", "left out: grammar of", "uneven"):
        assert words in done.output


@pytest.mark.slow
@pytest.mark.parametrize("kind", made_up.degenerate())
def test_there_is_a_summary_of_whatever_was_measured(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(to_json(made_up.degenerate()[kind]))
    done = bench("--from", file)
    assert done.exit_code == 0, done.output
    assert "Machine" in done.output


def test_what_changed_is_told_first_of_all_where_the_machine_is_another(
    told: Path, tmp_path: Path
) -> None:
    full = made_up.report()
    first = replace(full.yardsticks[0], ns_per_gas=made_up.around(64.0))
    old = tmp_path / "old.json"
    machine = replace(full.machine, processor="Ampere Altra")
    old.write_text(
        to_json(replace(full, yardsticks=(first, *full.yardsticks[1:]), machine=machine))
    )
    done = bench("--from", told, "--compare", old)
    assert done.exit_code == 0, done.output
    assert done.output.index("another processor: Ampere Altra") < done.output.index("1 of ")
    assert "figures changed beyond both intervals" in done.output
    assert "None of" in bench("--from", told, "--compare", told).output


def test_a_run_of_the_other_mode_is_compared_with_a_word_of_warning(
    told: Path, tmp_path: Path
) -> None:
    quick = tmp_path / "quick.json"
    quick.write_text(to_json(replace(made_up.report(), mode="quick")))
    assert "A quick run reads shorter prompts" in bench("--from", told, "--compare", quick).output
    assert "A quick run reads" not in bench("--from", told, "--compare", told).output


def test_changes_are_named_however_narrow_the_terminal(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, old = made_up.report(), tmp_path / "old.json"
    yardsticks = tuple(replace(it, ns_per_gas=made_up.around(1e6)) for it in full.yardsticks)
    terms = tuple(replace(it, ns=made_up.around(1e12)) for it in full.terms)
    old.write_text(to_json(replace(full, yardsticks=yardsticks, terms=terms)))
    monkeypatch.setenv("COLUMNS", "80")
    shown = bench("--from", told, "--compare", old).output.partition("Changed")[2]
    assert "EVM: ecrecover, 50 times" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    assert "and 5 more: --html and --markdown show all" in shown


def test_what_was_measured_is_kept_where_nobody_reads_the_summary(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("pyevm_agents.cli.bench.command.print_summary", closed)
    assert bench("--from", told, "--json", tmp_path / "kept.json").exit_code != 0
    assert read_report(tmp_path / "kept.json") == made_up.report()


def test_a_file_that_cant_be_written_takes_no_summary_away(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pyevm_agents.atomic_files.replace_atomically", full_disk)
    done = bench("--from", told, "--json", tmp_path / "kept.json")
    assert done.exit_code == 1
    assert "a cold prompt token" in done.output
    assert "could not be written: No space left on device" in " ".join(done.output.split())


def test_a_figure_not_distinguishable_from_zero_is_shown_as_an_upper_bound(tmp_path: Path) -> None:
    full = made_up.report()
    terms = tuple(
        replace(it, ns=Interval(middle=0, low=0, high=35_600)) if it.name == "warm" else it
        for it in full.terms
    )
    file = tmp_path / "report.json"
    prices = parity.compute_prices(terms, full.yardsticks)
    file.write_text(to_json(replace(full, terms=terms, prices=prices)))
    row, _ = re.findall(r"^a warm prompt token .*", bench("--from", file).output, re.MULTILINE)
    assert "< 35.6 µs" in row
    assert "0 s" not in row


@pytest.mark.parametrize("reference", ["erc20", "worst"])
def test_the_summary_states_the_prices_of_the_written_schedule(
    reference: str, told: Path, tmp_path: Path
) -> None:
    file = tmp_path / "schedule.json"
    done = bench("--from", told, "--emit-schedule", file, "--parity-with", reference)
    (prices,) = json.loads(file.read_text())["models"].values()
    shown = done.output.partition("Emitted schedule")[2]
    assert re.search(rf"a cold prompt token +{prices['cold_prompt_token_gas']:,}\n", shown)
    assert re.search(rf"an output token +{prices['output_token_gas']:,}\n", shown)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("terms", r"a metadata read .* 320 µs"),
        ("numeric", r"an operation +500 ps +1(\.0\d)? ns +\d+ for a gas"),
        ("growth", r"by steps .*1\.04 \("),
        ("sizes", r"0\.5B +494 million +4\.97 ms  26,900 +26\.8 ms  145,000"),
    ],
)
def test_what_is_measured_alone_is_shown(part: str, words: str, tmp_path: Path) -> None:
    full, file = made_up.report(), tmp_path / "report.json"
    alone = replace(made_up.bare_report(), yardsticks=())
    file.write_text(to_json(replace(alone, **{part: getattr(full, part)})))
    done = bench("--from", file)
    assert re.search(words, done.output), done.output


def test_a_schedule_needs_figures(tmp_path: Path) -> None:
    bare = tmp_path / "bare.json"
    bare.write_text(to_json(made_up.bare_report()))
    done = bench("--from", bare, "--emit-schedule", tmp_path / "schedule.json")
    assert done.exit_code == 2
    assert "needs a report with yardsticks and terms" in done.output
    done = bench("--only", "runs", "--emit-schedule", tmp_path / "schedule.json")
    assert done.exit_code == 2
    assert "needs more parts: add --only evm --only terms" in " ".join(done.output.split())
    assert not (tmp_path / "schedule.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--html", "{0}"), "is a directory"),
        (("--html", "{0}/none/report.html"), "can't be written: there is no folder"),
        (("--json", "{0}/none/report.json"), "can't be written: there is no folder"),
        (("--markdown", "{0}/none/reports"), "can't be written: there is no folder"),
        (("--markdown", "{0}/told.json"), "is a file"),
        (("--html", "{0}/a", "--json", "{0}/a"), "--html and --json both name"),
        (("--compare", "{0}/none.json"), "can't be read: No such file"),
        (("--from", "{0}/none.json"), "can't be read: No such file"),
        (("--from", "{0}/told.json", "--quick"), "--from measures nothing: leave out --quick"),
        (("--from", "{0}/told.json", "--only", "evm"), "leave out --only"),
        (("--only", "everything"), "'everything' is not one of 'evm', 'terms'"),
        (("--anvil", "{0}/none"), "is no program that can be started"),
        (("--model", "{0}/none.gguf"), "none.gguf"),
        (("--parity-with", "loop"), "'loop' is not one of"),
    ],
)
def test_mistakes_are_told_before_anything_is_measured(
    arguments: tuple[str, ...],
    message: str,
    told: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BenchmarkSuite, "measure", lambda _: pytest.fail("something was measured"))
    done = bench(*(one.format(told.parent) for one in arguments))
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.output.split())


def test_a_program_that_is_no_anvil_is_told_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BenchmarkSuite, "measure", lambda _: pytest.fail("something was measured"))
    program = tmp_path / "hello"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    done = bench("--anvil", program)
    assert done.exit_code == 2
    assert f"{program} is no anvil" in done.output.replace("\n", "")


def test_a_file_that_is_no_report_is_named(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    form = json.loads(to_json(made_up.report()))
    del form["machine"]["cores"]
    file.write_text(json.dumps(form))
    done = bench("--from", file)
    assert done.exit_code == 2
    assert "report.machine.cores is missing" in " ".join(done.output.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "status", "why"),
    [
        (KeyboardInterrupt(), 130, "stopped by Ctrl-C"),
        (EngineFault("the model died"), 1, "the model died"),
        (ValueError("a mistake of ours"), 1, "a mistake of ours"),
    ],
)
def test_what_was_measured_before_an_end_is_kept(
    ending: BaseException,
    status: int,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def measure_one(whole: BenchmarkSuite) -> None:
        whole.yardsticks = made_up.bare_report().yardsticks
        whole.finished_parts.append("evm")
        raise ending

    monkeypatch.setattr(BenchmarkSuite, "measure", measure_one)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    file = tmp_path / "report.json"
    done = bench("--json", file, "--emit-schedule", tmp_path / "schedule.json")
    assert done.exit_code == status, done.output
    assert "kept: evm" in done.output
    assert "schedule.json is not written: a schedule needs" in done.output
    report = read_report(file)
    assert report.yardsticks == made_up.bare_report().yardsticks
    assert [part for part, reason in report.left_out if reason == why] == [*PARTS[1:]]
    assert report.command.startswith("pyevm-agents bench --json ")
    assert [*tmp_path.iterdir()] == [file]


def test_nothing_is_written_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(_: BenchmarkSuite) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(BenchmarkSuite, "measure", stopped)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    done = bench("--json", tmp_path / "report.json")
    assert done.exit_code == 130
    assert "No part was finished: nothing is written." in done.output
    assert [*tmp_path.iterdir()] == []


def test_a_signal_to_end_puts_everything_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_away: list[str] = []

    def ended(_: BenchmarkSuite) -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            put_away.append("anvil")

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(BenchmarkSuite, "measure", ended)
    try:
        done = bench("--json", tmp_path / "report.json")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert done.exit_code == 128 + signal.SIGTERM
    assert put_away == ["anvil"]
    assert [*tmp_path.iterdir()] == []


def test_parts_that_are_left_out_have_a_reason() -> None:
    assert get_skip_reasons(only=(), is_quick=False) == dict.fromkeys(PARTS, "")
    quick = get_skip_reasons(only=(), is_quick=True)
    assert [part for part, why in quick.items() if why] == ["growth", "sizes"]
    only = get_skip_reasons(only=("growth",), is_quick=True)
    assert [part for part, why in only.items() if not why] == ["growth"]
    assert only["evm"] == "not asked for"

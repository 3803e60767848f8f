"""A short soak in every test run; the long one is `python -m benchmarks.soak`."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from benchmarks import soak
from benchmarks.cases import KINDS, case
from benchmarks.circumstances import CIRCUMSTANCES, Bench
from benchmarks.tally import append, held, rows
from precompiles.language_model import Generation
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZES = [
    pytest.param((2, 6, 1), id="short", marks=pytest.mark.slow),
    pytest.param((5, 30, 2), id="every kind of case", marks=pytest.mark.slow),
]
"""Cases, generations, and processes that share them."""

QUICK = {"cut, then resumed", "under a lower limit", "through the precompile"}
"""Circumstances that are looked at one by one in every run; the others among the slow tests."""


@pytest.fixture(scope="module", params=SIZES)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> soak.Options:
    """The options of a soak that ran: each test that reads it may be the only one that runs."""
    cases, generations, processes = request.param
    ran = options(
        tmp_path_factory.mktemp("soak"), cases=cases, generations=generations, processes=processes
    )
    console = Console(quiet=True)
    soak.check_header(ran, console)
    soak.Soak(ran, console).run()
    return ran


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench(None) as bench:
        yield bench


def options(
    tally: Path, *, cases: int = 2, generations: int = 6, processes: int = 1
) -> soak.Options:
    return soak.Options(
        generations=generations,
        cases=cases,
        processes=processes,
        seed=2,
        tally=tally,
        model=None,
    )


def test_no_generation_differs_from_its_fresh_reference(ran: soak.Options) -> None:
    found = soak.summary(soak.Soak(ran, Console(quiet=True)))
    assert found["generations"] >= ran.generations
    assert found["different"] == []
    kinds = {row["kind"] for row in rows(ran.tally / soak.REFERENCES)}
    assert kinds == set(KINDS[: ran.cases])


def test_it_goes_on_where_it_stood(ran: soak.Options) -> None:
    before = [*rows(ran.tally / soak.TALLY)]
    assert before
    it = soak.Soak(replace(ran, generations=ran.generations + 3), Console(quiet=True))
    it.run()
    after = [*rows(ran.tally / soak.TALLY)]
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert len({row["index"] for row in after}) == len(after)


@pytest.mark.slow
def test_a_generation_that_differs_is_found(ran: soak.Options, tmp_path: Path) -> None:
    for name in (soak.REFERENCES, soak.HEADER):
        (tmp_path / name).write_bytes((ran.tally / name).read_bytes())
    references = [*rows(tmp_path / soak.REFERENCES)]
    references[0]["generation"]["tokens"][0] += 1
    (tmp_path / soak.REFERENCES).unlink()
    for row in references:
        append(tmp_path / soak.REFERENCES, row)
    it = soak.Soak(
        replace(ran, tally=tmp_path, generations=max(6, ran.generations // 2)), Console(quiet=True)
    )
    it.run()
    found = soak.summary(it)
    assert {row["case"] for row in found["different"]} == {references[0]["case"]}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CIRCUMSTANCES],
)
def test_each_circumstance_compares_something(bench: Bench, name: str) -> None:
    it = case(bench.model, bench.profile, 2, KINDS.index("call"))
    reference = bench.model.generate_reference(it.request)
    pairs = CIRCUMSTANCES[name][1](bench, it, random.Random(1))  # noqa: S311 - by its seed
    assert pairs
    for request, generation in pairs:
        assert request.prompt_tokens == it.request.prompt_tokens
        assert soak.equals(generation, reference, request.max_tokens)


def test_a_tally_of_another_soak_is_refused(
    ran: soak.Options, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        soak.check_header(replace(ran, cases=ran.cases + 1), Console())
    assert "its cases differ" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_one_soak_at_a_time_holds_a_tally(tmp_path: Path) -> None:
    with held(tmp_path):
        command = [sys.executable, "-m", "benchmarks.soak", "--tally", str(tmp_path)]
        ended = subprocess.run(
            command, capture_output=True, check=False, text=True, timeout=HANG_SECONDS
        )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Another soak is at work" in " ".join(ended.stderr.split())


def test_a_row_that_a_kill_cut_short_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append(path, {"index": 1})
    with path.open("a") as file:
        file.write('{"index": 2, "ca')
    assert [*rows(path)] == [{"index": 1}]
    append(path, {"index": 2})
    assert [*rows(path)] == [{"index": 1}, {"index": 2}]


def test_cases_are_functions_of_seed_and_number(bench: Bench) -> None:
    first, again = (
        [case(bench.model, bench.profile, 7, number).request for number in range(20)]
        for _ in range(2)
    )
    other = case(bench.model, bench.profile, 8, 0).request
    assert first == again
    assert other != first[0]
    lengths = [len(request.prompt_tokens) for request in first]
    assert min(lengths) >= 15
    assert max(lengths) <= 500


@pytest.mark.parametrize(
    ("tokens", "is_complete", "limit", "expected"),
    [
        ((1, 2, 3), True, 3, True),
        ((1, 2), False, 2, True),
        ((1, 2), True, 2, False),
        ((1, 3), False, 2, False),
        ((1, 2, 3), False, 3, False),
        ((1, 2, 3), True, 40, True),
    ],
)
def test_equal_is_what_the_reference_began_with(
    tokens: tuple[int, ...], is_complete: bool, limit: int, expected: bool
) -> None:
    def said(tokens: tuple[int, ...], *, is_complete: bool) -> Generation:
        return Generation(text="", tokens=tokens, forced_tokens=0, is_complete=is_complete)

    reference = said((1, 2, 3), is_complete=True)
    got = said(tokens, is_complete=is_complete)
    assert soak.equals(got, reference, limit) is expected


@pytest.mark.slow
def test_ctrl_c_keeps_the_tally(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.soak", "--cases", "2", "--tally", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        tally = tmp_path / soak.TALLY
        while not (tally.exists() and tally.stat().st_size):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130
    assert b"goes on from here" in b" ".join(said.split())
    assert [*rows(tally)]

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

import torch

from tests.deadlines import HANG_SECONDS
from tests.training.tiny_base import write_base, write_data
from training import checkpoint, pause, training_run
from training.export import export
from training.stop import STOPPED
from training.train import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from training.checkpoint import Checkpoint


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Restore the process-wide settings of a run after the test."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    torch.use_deterministic_algorithms(mode=False)


def arguments(folder: Path, out: str, *more: str) -> list[str]:
    base, data = folder / "tiny.gguf", folder / "data.gz"
    if not base.exists():
        write_base(base)
        write_data(data)
    shape = ["--layers", "1-2", "--rank", "4", "--warmup", "2", "--threads", "1"]
    return [str(data), "--base", str(base), "--out", str(folder / out), *shape, *more]


def trained(folder: Path, out: str, *more: str) -> Checkpoint:
    assert main(arguments(folder, out, *more)) == 0
    return checkpoint.load(folder / out / "checkpoint.pt")


def log_of(folder: Path, out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / out / "log.jsonl").read_text().splitlines()]


def equal(one: Checkpoint, other: Checkpoint) -> bool:
    return all(torch.equal(one.adapter[name], other.adapter[name]) for name in one.adapter)


def test_the_same_seed_gives_the_same_bits_and_another_does_not(tmp_path: Path) -> None:
    steps = ("--steps", "3", "--dropout", "0.1")
    one, same = (trained(tmp_path, out, *steps) for out in ("one", "same"))
    assert equal(one, same)
    assert not equal(one, trained(tmp_path, "other", *steps, "--seed", "2"))
    export(one, tmp_path / "one.gguf")
    export(same, tmp_path / "same.gguf")
    assert (tmp_path / "one.gguf").read_bytes() == (tmp_path / "same.gguf").read_bytes()


def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--steps", "5", "--dropout", "0.2", "--batch-groups", "2")
    whole = trained(tmp_path, "whole", *options)
    # Stopped in the middle of the third step: after the first of its two sequences.
    asked = iter([False] * 5 + [True])
    with monkeypatch.context() as patch:
        patch.setattr("training.train.Stop.__call__", lambda _: next(asked))
        assert main(arguments(tmp_path, "parts", *options)) == STOPPED
    assert "Stopped after 2 steps" in capsys.readouterr().err
    assert checkpoint.load(tmp_path / "parts" / "checkpoint.pt").step == 2
    assert equal(whole, trained(tmp_path, "parts", *options, "--resume"))
    steps = [[line["loss"] for line in log_of(tmp_path, out)] for out in ("whole", "parts")]
    assert steps[0] == steps[1]


def test_a_paused_run_saves_waits_and_goes_on_as_if_it_had_not_paused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--steps", "4", "--dropout", "0.2")
    whole = trained(tmp_path, "whole", *options)
    out = tmp_path / "paused"
    out.mkdir()
    (out / pause.PAUSE).touch()
    waits: list[int] = []
    clock = itertools.count(step=0.001)
    pauses = [0]

    def wait(_seconds: float) -> None:
        waits.append(checkpoint.load(out / "checkpoint.pt").step)
        pauses[0] += 1_000
        if len(waits) == 3:
            pause.main([str(out), "--end"])

    with monkeypatch.context() as patch:
        patch.setattr(
            training_run,
            "time",
            SimpleNamespace(monotonic=lambda: next(clock) + pauses[0], sleep=wait),
        )
        paused = trained(tmp_path, "paused", *options)
    assert waits == [0, 0, 0]
    assert f"go on with: python -m training.pause {out} --end" in capsys.readouterr().err
    assert equal(whole, paused)
    assert paused.elapsed_seconds < 1


def test_a_paused_run_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "paused"
    out.mkdir()
    (out / pause.PAUSE).touch()
    asked = iter([False, False, False])
    with monkeypatch.context() as patch:
        patch.setattr(training_run, "PAUSE_SECONDS", 0)
        patch.setattr("training.train.Stop.__call__", lambda _: next(asked, True))
        assert main(arguments(tmp_path, "paused", "--steps", "3")) == STOPPED
    assert checkpoint.load(out / "checkpoint.pt").step == 0
    assert next(asked, None) is None


def test_it_learns_and_measures_on_data_that_it_does_not_learn(tmp_path: Path) -> None:
    held_out = write_data(tmp_path / "held_out.gz", groups=3, seed=9)
    trained(
        tmp_path,
        "out",
        *("--validation", str(held_out), "--validation-groups", "2", "--validate-every", "10"),
        *("--epochs", "10", "--learning-rate", "1e-2"),
    )
    lines = log_of(tmp_path, "out")
    measured = [line for line in lines if "validation_loss" in line]
    assert [line["step"] for line in measured] == [0, 10, 20, 30]
    assert [line["validation_learned_tokens"] for line in measured] == [22] * 4
    losses = [line["loss"] for line in lines if "loss" in line]
    assert len(losses) == 30
    assert losses[-1] < 0.6 * losses[0]
    assert lines[-2]["learning_rate"] < 1e-3


def test_minutes_end_in_time_and_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        # Each look at the clock takes 10 ms.
        ticks = itertools.count()
        clock = SimpleNamespace(monotonic=lambda: next(ticks) / 100)
        patch.setattr(training_run, "time", clock)
        timed = trained(tmp_path, "timed", "--minutes", "0.02")
    assert timed.elapsed_seconds <= 1.2
    assert timed.step > 3
    assert log_of(tmp_path, "timed")[-1]["learning_rate"] < 4e-4
    again = trained(tmp_path, "again", "--replay", str(tmp_path / "timed" / "log.jsonl"))
    assert again.step == timed.step
    assert equal(timed, again)


def test_a_run_may_start_with_the_adapter_of_another(tmp_path: Path) -> None:
    trained(tmp_path, "first", "--steps", "2")
    start = ("--start", str(tmp_path / "first" / "checkpoint.pt"))
    second = trained(tmp_path, "second", *start, "--steps", "1", "--learning-rate", "0")
    assert equal(checkpoint.load(tmp_path / "first" / "checkpoint.pt"), second)
    assert second.step == 1
    assert len(second.start_sha256) == 64


def test_what_does_not_fit_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def complaint(*more: str) -> str:
        assert main(arguments(tmp_path, "out", *more)) == 1
        return capsys.readouterr().err

    assert "can't be read: No such file" in complaint("--resume")
    trained(tmp_path, "out", "--steps", "1")
    assert "already exists; resume with --resume" in complaint()
    assert "was trained with seed 1, not 2" in complaint("--resume", "--seed", "2")
    write_data(tmp_path / "data.gz", seed=3)
    assert "on a dataset with SHA-256" in complaint("--resume")
    assert "invalid --layers 3: the base has layers 0 to 2" in complaint(
        "--out", str(tmp_path / "new"), "--layers", "2-3"
    )
    assert "is empty" in complaint("--validation", os.devnull)


def test_ctrl_c_saves_and_ends_in_words(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "training.train"]
    process = subprocess.Popen(
        command + arguments(tmp_path, "out", "--minutes", "5", "--validate-every", "1"),
        stderr=subprocess.PIPE,
        text=True,
    )
    log = tmp_path / "out" / "log.jsonl"
    try:
        while not (log.exists() and log.read_text()):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANG_SECONDS)
    finally:
        process.kill()
    assert process.returncode == STOPPED
    assert "go on with the same command and --resume" in said
    assert checkpoint.load(tmp_path / "out" / "checkpoint.pt").step > 0

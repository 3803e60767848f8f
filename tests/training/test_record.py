from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

from training.learner import Outcome
from training.record import Record

if TYPE_CHECKING:
    from pathlib import Path

OUTCOME = Outcome(loss=1.25, correct=0.5, learned_tokens=40, tokens=300, gradient_norm=2.0)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def write_step(record: Record, step: int) -> None:
    record.step(
        step,
        OUTCOME,
        progress=step / 10,
        learning_rate=1e-3,
        seconds=2.0,
        elapsed_seconds=20.0,
        seconds_left=3_725.0,
    )


def test_steps_and_validations_are_logged_and_shown(tmp_path: Path) -> None:
    screen = Screen()
    record = Record(tmp_path / "out" / "log.jsonl", steps_done=0, screen=screen)
    record.validation(0, OUTCOME)
    write_step(record, 0)
    record.close()
    validation, step = map(json.loads, (tmp_path / "out" / "log.jsonl").read_text().splitlines())
    assert validation == {
        "step": 0,
        "validation_loss": 1.25,
        "validation_correct": 0.5,
        "validation_learned_tokens": 40,
    }
    assert (step["step"], step["progress"], step["loss"], step["tokens"]) == (0, 0.0, 1.25, 300)
    assert "held-out loss 1.2500, 50.0% of 40 tokens right" in screen.getvalue()
    assert "loss 1.2500  50.0% right  150 tokens/s  1:02:05 left" in screen.getvalue()


def test_a_file_is_not_filled_with_steps(tmp_path: Path) -> None:
    screen = io.StringIO()
    record = Record(tmp_path / "log.jsonl", steps_done=0, screen=screen)
    for step in range(5):
        write_step(record, step)
    record.close()
    assert screen.getvalue().count("\n") == 1
    assert "\x1b" not in screen.getvalue()


def test_a_resumed_log_forgets_what_was_done_in_vain(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    record = Record(log, steps_done=0, screen=io.StringIO())
    for step in range(5):
        write_step(record, step)
    record.close()
    with log.open("a") as file:
        file.write('{"step": 5, "prog')
    record = Record(log, steps_done=3, screen=io.StringIO())
    write_step(record, 3)
    record.close()
    assert [json.loads(line)["step"] for line in log.read_text().splitlines()] == [0, 1, 2, 3]

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from training.schedule import Minutes, Replay, Steps, learning_rate_factor, read_replay

if TYPE_CHECKING:
    from pathlib import Path


def test_steps_end_when_done_whatever_the_time() -> None:
    plan = Steps(4)
    assert [plan.progress(step, 1e9) for step in range(5)] == [0, 0.25, 0.5, 0.75, 1]
    assert plan.seconds_left(1, 10.0) == 30.0


def test_minutes_end_in_time_with_the_last_step_s_time_reserved() -> None:
    plan = Minutes(10.0)
    assert plan.progress(0, 0.0) == 0
    assert plan.progress(5, 250.0) < 1
    # Steps of 50 s: the twelfth ends at 600 s, so a thirteenth does not begin.
    assert plan.progress(11, 550.0) == 1.0
    assert plan.seconds_left(5, 250.0) == 350.0


def test_a_replay_repeats_a_log_s_steps(tmp_path: Path) -> None:
    lines = [
        {"step": 0, "validation_loss": 3.0},
        {"step": 0, "progress": 0.0},
        {"step": 1, "progress": 1 / 3},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, lines)))
    plan = read_replay(log)
    assert plan == Replay((0.0, 1 / 3))
    assert [plan.progress(step, 0.0) for step in range(3)] == [0.0, 1 / 3, 1.0]
    assert plan.seconds_left(1, 5.0) == 5.0


@pytest.mark.parametrize("steps", [[], [1, 2], [0, 2]])
def test_a_log_with_steps_missing_is_refused(tmp_path: Path, steps: list[int]) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(json.dumps({"step": step, "progress": 0.1}) for step in steps))
    with pytest.raises(ValueError, match="does not contain every step"):
        read_replay(log)


def test_the_learning_rate_rises_then_falls_to_zero() -> None:
    linear = [
        learning_rate_factor(step, step / 100, warmup_steps=10, decay="linear")
        for step in range(101)
    ]
    assert linear[0] == pytest.approx(0.1)
    assert max(linear) == linear[9] == pytest.approx(0.91)
    assert linear[50] == pytest.approx(0.5)
    assert linear[100] == 0
    cosine = [learning_rate_factor(99, p / 4, warmup_steps=0, decay="cosine") for p in range(5)]
    assert cosine == pytest.approx([1, 0.853553, 0.5, 0.146447, 0], abs=1e-6)
    assert learning_rate_factor(0, 1.5, warmup_steps=0, decay="cosine") == 0

"""Lines of progress of long benchmarks."""

from __future__ import annotations

import threading

from pyevm_agents.bench.heartbeat import Heartbeat

DEADLINE_S = 240


def test_a_line_states_time_part_steps_and_the_time_left() -> None:
    now = [100.0]
    heartbeat = Heartbeat("inference", clock=lambda: now[0])
    assert heartbeat.format_line() == "… inference: 0 s"
    now[0] = 160.0
    heartbeat.begin_part("engine", 6)
    now[0] = 220.0
    heartbeat.finish_step("512 cold tokens")
    heartbeat.finish_step("1,024 cold tokens")
    assert heartbeat.format_line() == (
        "… inference: 120 s, engine, 2 of 6, about 120 s left, 1,024 cold tokens"
    )
    heartbeat.begin_part("restart")
    heartbeat.finish_step()
    assert heartbeat.format_line() == "… inference: 120 s, restart, 1 done"


def test_items_are_the_steps_of_a_part() -> None:
    heartbeat = Heartbeat("tasks", clock=lambda: 0.0)
    lines = [f"{item} {heartbeat.format_line()}" for item in heartbeat.track("abc", "model")]
    assert lines == [
        "a … tasks: 0 s, model, 0 of 3",
        "b … tasks: 0 s, model, 1 of 3, about 0 s left",
        "c … tasks: 0 s, model, 2 of 3, about 0 s left",
    ]


def test_lines_come_while_a_single_step_lasts_and_end_with_the_task() -> None:
    lines: list[str] = []
    has_two = threading.Event()

    def write(line: str) -> None:
        lines.append(line)
        if len(lines) == 2:
            has_two.set()

    with Heartbeat("long", interval_s=0.001, write=write):
        assert has_two.wait(DEADLINE_S)
    assert lines[0].startswith("… long: ")
    assert "heartbeat" not in {thread.name for thread in threading.enumerate()}

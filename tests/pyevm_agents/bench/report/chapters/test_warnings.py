"""What a reader is told before the numbers."""

from __future__ import annotations

from dataclasses import replace

from pyevm_agents.bench.report.chapters import list_warnings
from tests.pyevm_agents.bench import made_up

FULL = made_up.report()


def test_schedules_that_go_on_with_a_curve_are_told() -> None:
    longer = replace(FULL, model=replace(FULL.model, context_tokens=32_768))
    (*_, told) = list_warnings(longer)
    assert told.startswith("No prompt longer than 8,000 tokens was measured. Parity schedules hold")
    assert "32,768" in told
    assert not any("measured" in warning for warning in list_warnings(FULL))
    assert not any("measured" in warning for warning in list_warnings(replace(longer, terms=())))

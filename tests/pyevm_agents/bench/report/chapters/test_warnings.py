"""Caveats at the head of a report."""

from __future__ import annotations

from dataclasses import replace

from pyevm_agents.bench.report.chapters import list_warnings
from tests.pyevm_agents.bench import made_up

FULL = made_up.report()


def test_skipped_measurements_have_a_warning() -> None:
    report = replace(FULL, left_out=(("the run nested", "out of time after 120 s"),))
    assert any("out of time: 1 measurements" in warning for warning in list_warnings(report))
    assert not any("out of time" in warning for warning in list_warnings(FULL))


def test_extrapolated_schedules_have_a_warning() -> None:
    longer = replace(FULL, model=replace(FULL.model, context_tokens=32_768))
    (*_, warning) = list_warnings(longer)
    assert warning == (
        "No prompt longer than 8,000 tokens was measured. Parity schedules extrapolate the fitted "
        "curves to 32,768: they may charge several times too much."
    )
    assert not any("measured" in warning for warning in list_warnings(FULL))
    assert not any("measured" in warning for warning in list_warnings(replace(longer, terms=())))

"""The benchmark of choices measures the variants in its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.choices import Case, cases, default_guide, measure

if TYPE_CHECKING:
    from pyevm_agents.models.decoding.guided import GuidedDecoder


@pytest.fixture(scope="module")
def guide() -> GuidedDecoder:
    return default_guide()


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_every_case_has_choices(guide: GuidedDecoder, case: Case) -> None:
    compiled_ms, choices_ms = measure(guide, case)
    assert compiled_ms > 0
    assert len(choices_ms) > 10
    assert min(choices_ms) > 0

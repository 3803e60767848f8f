"""How near a model was to saying something else."""

from __future__ import annotations

import pytest

from precompiles.language_model import Margin
from pyevm_agents.display import format_margin


@pytest.mark.parametrize(
    ("gap", "shown"), [(1.04, "1.04"), (12.3, "12.30"), (0.1, "0.10"), (0.0312, "0.031"), (0, "0")]
)
def test_a_gap_is_shown_with_what_tells_it_from_others(gap: float, shown: str) -> None:
    margin = Margin(gap=gap, token_index=3, chosen="a", other='"')
    assert format_margin(margin) == f'{shown} at token 3: "a" over "\\""'

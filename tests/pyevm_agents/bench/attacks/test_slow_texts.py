from __future__ import annotations

import pytest

from pyevm_agents.bench.attacks.slow_texts import UNITS, repeat_unit


@pytest.mark.parametrize("name", UNITS)
def test_texts_are_as_long_as_they_are_to_be(name: str) -> None:
    for size_bytes in (200, 4_096):
        text = repeat_unit(UNITS[name], size_bytes)
        assert size_bytes - len(UNITS[name].encode()) < len(text.encode()) <= size_bytes

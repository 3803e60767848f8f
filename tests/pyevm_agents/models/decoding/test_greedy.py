"""A choice without candidates; other choices are in `test_token_walk.py`."""

from __future__ import annotations

import numpy as np
import pytest

from pyevm_agents.errors import GrammarError
from pyevm_agents.models.decoding.greedy import choose_token
from pyevm_agents.models.decoding.token_walk import TokenRanking


class Nowhere:
    """A text without any continuation."""

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def is_allowed(self, _token: int) -> bool:
        return False

    def get_bitmask(self) -> bytes:
        return bytes(8)


def test_nothing_allowed_is_the_grammars_error() -> None:
    with pytest.raises(GrammarError, match="admits no token"):
        choose_token(
            Nowhere(),  # type: ignore[arg-type]
            TokenRanking(64, [5]),
            np.zeros(64, dtype=np.float32),
            None,
        )

"""Fixtures of nodes, closed after the test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    served: list[Served] = []

    def make(**told: Any) -> Served:  # noqa: ANN401 - Served's own
        served.append(Served(**told))
        return served[-1]

    yield make
    for one in served:
        one.close()

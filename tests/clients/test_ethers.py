"""ethers 6 over HTTP and WebSocket: the client that also runs on a fork and on the real model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.conftest import ON_BOTH
from tests.clients.stories import (
    require_agent_run,
    require_local_chain,
    require_reverts,
    require_subscriptions,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., Any]

pytestmark = ON_BOTH


@pytest.mark.parametrize("model", ["scripted", "model"])
def test_an_agent_is_deployed_run_and_traced(javascript: Run, model: str) -> None:
    require_agent_run(javascript("ethers", "agent.mjs", model), model)


@pytest.mark.slow
def test_every_kind_of_revert_has_its_reason(javascript: Run) -> None:
    told = javascript("ethers", "reverts.mjs")
    require_reverts(told)
    assert told["send"] == told["custom"]


@pytest.mark.slow
def test_a_test_can_do_with_the_chain_what_it_likes(javascript: Run) -> None:
    told = javascript("ethers", "local_chain.mjs")
    require_local_chain(told)
    assert (told["batch"], told["answers"]) == (3, 5)


@pytest.mark.slow
def test_heads_and_logs_come_over_a_websocket(javascript: Run) -> None:
    told = javascript("ethers", "subscriptions.mjs")
    require_subscriptions(told)
    assert told["heads"][-1] == told["mined"]

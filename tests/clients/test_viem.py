"""viem: public, wallet and test client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.stories import (
    require_agent_run,
    require_local_chain,
    require_reverts,
    require_subscriptions,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., Any]


@pytest.mark.slow
def test_an_agent_is_deployed_run_and_traced(javascript: Run) -> None:
    require_agent_run(javascript("viem", "agent.mjs", "scripted"), "scripted")


@pytest.mark.slow
def test_every_kind_of_revert_has_its_reason(javascript: Run) -> None:
    require_reverts(javascript("viem", "reverts.mjs"))


@pytest.mark.slow
def test_a_test_can_do_with_the_chain_what_it_likes(javascript: Run) -> None:
    told = javascript("viem", "local_chain.mjs")
    require_local_chain(told)
    assert told["set"] == ["0x6001", 9, "42"]
    assert (told["pending"], told["none"]) == (1, 0)
    assert told["interval"] == str(3 * 60)
    assert (told["batch"], told["answers"]) == (3, 3)


@pytest.mark.slow
def test_heads_and_logs_come_over_a_websocket(javascript: Run) -> None:
    told = javascript("viem", "subscriptions.mjs")
    require_subscriptions(told)
    assert told["heads"] == ["1", "2"]

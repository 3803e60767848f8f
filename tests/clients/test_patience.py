"""An inference of 40 seconds, and clients with their own time-outs.

viem gives up after 10 seconds and retries up to three times; web3.py after 30.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.contracts import load_artifact
from tests.clients.running_node import RunningNode
from tests.clients.stories import FIRST, MICRO_USDC
from tests.clients.thinking import STEPS, ThinkingNode, thinking_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyevm_agents.models import Vocabulary

    Run = Callable[..., Any]

STEP_SECONDS = 10.0


@pytest.fixture
def thinking(vocabulary: Vocabulary) -> Iterator[ThinkingNode]:
    with thinking_node(vocabulary) as it:
        yield it


@pytest.fixture
def node(thinking: ThinkingNode) -> RunningNode:
    """The node that scripts connect to."""
    return RunningNode(thinking.url)


def require_one_run(thinking: ThinkingNode) -> None:
    """Require one deposit, and that no step was thought about twice."""
    assert len(thinking.model.asked) == len(STEPS)
    assert thinking.wallet.read_balances()["pool"]["USDC"] == (500 + 10) * MICRO_USDC


@pytest.mark.slow
def test_a_fault_is_told_once_however_often_viem_asks(
    thinking: ThinkingNode, javascript: Run
) -> None:
    thinking.model.is_ill = True
    told = javascript("viem", "patience.mjs", thinking.agent, "call", "once")
    assert [why for _, why in told["attempts"]] == ["ResourceUnavailableRpcError"]
    assert told["data"] == [{"retry": False}]
    assert not told["reverted"]
    assert len(thinking.model.asked) == 1


@pytest.mark.parametrize("way", ["write-with-gas", "unlocked"])
@pytest.mark.slow
def test_a_send_of_viems_has_its_hash_long_before_its_block(
    thinking: ThinkingNode, javascript: Run, way: str
) -> None:
    thinking.model.seconds = STEP_SECONDS
    told = javascript("viem", "patience.mjs", thinking.agent, way)
    ((seconds, why),) = told["attempts"]
    assert why is None
    assert seconds < len(STEPS) * STEP_SECONDS
    assert told["status"] == "success"
    assert told["mined"] >= len(STEPS) * STEP_SECONDS
    require_one_run(thinking)


@pytest.mark.parametrize("way", ["call", "write"])
@pytest.mark.slow
def test_what_viem_gave_up_on_is_not_thought_about_again(
    thinking: ThinkingNode, javascript: Run, way: str
) -> None:
    """All four attempts of viem's last 41 seconds; at the next time the answer is there."""
    thinking.model.seconds = STEP_SECONDS
    told = javascript("viem", "patience.mjs", thinking.agent, way)
    assert told["attempts"][-1][1] is None
    assert len(told["attempts"]) <= 2
    if way == "write":
        assert told["status"] == "success"
        require_one_run(thinking)
    else:
        assert told["result"] == "Done."
        assert len(thinking.model.asked) == len(STEPS)


@pytest.mark.parametrize("estimates", [True, False])
@pytest.mark.slow
def test_web3_sends_and_waits(thinking: ThinkingNode, estimates: bool) -> None:
    web3 = pytest.importorskip("web3")
    w3 = web3.Web3(web3.HTTPProvider(thinking.url))
    w3.eth.default_account = FIRST
    abi = list(load_artifact("WalletAgent").abi)
    agent = w3.eth.contract(to_checksum_address(thinking.agent), abi=abi)
    thinking.model.seconds = STEP_SECONDS
    begun = time.monotonic()
    given = {} if estimates else {"gas": 8_000_000}
    sent = agent.functions.instruct("Deposit 10 USDC").transact(given)
    seconds = time.monotonic() - begun
    # With its estimate, which web3.py asks for again where it gave up after 30 s.
    assert estimates or seconds < len(STEPS) * STEP_SECONDS
    assert w3.eth.wait_for_transaction_receipt(sent)["status"] == 1
    require_one_run(thinking)

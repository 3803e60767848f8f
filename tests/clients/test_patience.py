"""An inference that takes longer than a client waits.

viem gives up after 10 seconds and retries up to three times; web3.py after 30. The model goes on as
soon as a client gave up or has a hash. Only the request that is given up has a shorter time-out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import requests
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from tests.clients.running_node import RunningNode
from tests.clients.stories import FIRST, MICRO_USDC
from tests.clients.thinking import STEPS, ThinkingNode, thinking_node
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from pyevm_agents.models import Vocabulary

    Run = Callable[..., Any]

IMPATIENT_SECONDS = 1.0


@pytest.fixture
def thinking(vocabulary: Vocabulary) -> Iterator[ThinkingNode]:
    with thinking_node(vocabulary) as it:
        yield it
        it.model.go_on.set()


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
    thinking.model.go_on.set()
    told = javascript("viem", "patience.mjs", thinking.agent, "call", "once")
    assert told["attempts"] == ["ResourceUnavailableRpcError"]
    assert told["data"] == [{"retry": False}]
    assert not told["reverted"]
    assert len(thinking.model.asked) == 1


@pytest.mark.parametrize("way", ["write-with-gas", "unlocked"])
@pytest.mark.slow
def test_a_send_of_viems_has_its_hash_before_its_run(
    thinking: ThinkingNode, javascript: Run, way: str
) -> None:
    told = javascript(
        *("viem", "patience.mjs", thinking.agent, way),
        on_line=thinking.go_on_after("has a hash"),
    )
    assert told["attempts"] == [None]
    assert told["status"] == "success"
    require_one_run(thinking)


@pytest.mark.parametrize("way", ["call", "write"])
@pytest.mark.slow
def test_what_viem_gave_up_on_is_not_thought_about_again(
    thinking: ThinkingNode, javascript: Run, way: str
) -> None:
    """All of viem's tries end while the model thinks; at the next time the answer is there."""
    told = javascript(
        *("viem", "patience.mjs", thinking.agent, way, "impatient"),
        on_line=thinking.go_on_after("gave up"),
    )
    assert told["attempts"] == ["TimeoutError", None]
    if way == "write":
        assert told["status"] == "success"
        require_one_run(thinking)
    else:
        assert told["result"] == "Done."
        assert len(thinking.model.asked) == len(STEPS)


class ImpatientSession(requests.Session):
    """Gives up an estimate while a model thinks, which lets the model go on."""

    def __init__(self, go_on: threading.Event) -> None:
        super().__init__()
        self._go_on = go_on

    def request(self, *arguments: Any, **options: Any) -> requests.Response:  # noqa: ANN401 - as requests has them
        is_given_up = b"eth_estimateGas" in options["data"] and not self._go_on.is_set()
        options["timeout"] = IMPATIENT_SECONDS if is_given_up else HANG_SECONDS
        try:
            return super().request(*arguments, **options)
        finally:
            if is_given_up:
                self._go_on.set()


@pytest.mark.parametrize("estimates", [True, False])
@pytest.mark.slow
def test_web3_sends_and_waits(thinking: ThinkingNode, estimates: bool) -> None:
    """web3.py asks for an estimate again where it gave up."""
    web3 = pytest.importorskip("web3")
    session = ImpatientSession(thinking.model.go_on)
    w3 = web3.Web3(web3.HTTPProvider(thinking.url, session=session))
    w3.eth.default_account = FIRST
    abi = list(load_artifact("WalletAgent").abi)
    agent = w3.eth.contract(to_checksum_address(thinking.agent), abi=abi)
    given = {} if estimates else {"gas": 8_000_000}
    sent = agent.functions.instruct("Deposit 10 USDC").transact(given)
    assert thinking.model.go_on.is_set() == estimates  # With its gas, the hash is there before.
    thinking.model.go_on.set()
    assert w3.eth.wait_for_transaction_receipt(sent)["status"] == 1
    require_one_run(thinking)

"""Requesters that are contracts: who calls them, when, and how often."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.chain_client import UnsignedCall
from pyevm_agents.client.contract import RemoteContract
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.messages import CallbackState
from pyevm_agents.council.participants import Keeper
from tests.pyevm_agents.council.council_chain import BOND, HOUR, MARKET, CouncilChain
from tests.pyevm_agents.council.living import KEYS, Life, living

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pytest

OPEN, REFUND = 0, 3
"""`PredictionMarket.Result`: nobody staked on the answer."""


def read_result(chain: CouncilChain, market: str) -> int:
    with closing(CouncilClient(chain.url, chain.canonical)) as client:
        return int(RemoteContract(client, MARKET, bytes.fromhex(market[2:])).read("result"))


def read_callback(chain: CouncilChain, number: int = 1) -> CallbackState:
    with closing(CouncilClient(chain.url, chain.canonical)) as client:
        [view] = client.read_views([number])
        return view.callback


def keep(chain: CouncilChain, path: Path) -> AbstractContextManager[Life]:
    """Return a keeper, as `watch --advance` starts it."""
    chain.fund(KEYS[7])
    limits = RequestLimits(max_bond=2**256)
    return living(chain, path, Keeper, key=KEYS[7], limits=limits)


def resolve(chain: CouncilChain) -> None:
    """Have the question answered, and the reward shared, by an account that calls nobody back."""
    account = chain.ask_node("eth_accounts")[1]
    commitment = chain.read("commitmentOf", 1, account, b"yes", 7)
    artifact = load_artifact("AgentCouncilOracle")
    for data, value in (
        (artifact.encode_call("commit", 1, commitment), BOND),
        (artifact.encode_call("reveal", 1, b"yes", 7), 0),
        (artifact.encode_call("distributeRewards", 1), 0),
    ):
        assert chain.attempt(account, chain.oracle, data, value)["status"] == "0x1"


def test_an_agent_calls_the_requester_once(chain: CouncilChain, tmp_path: Path) -> None:
    market = chain.ask_by_market()
    chain.fund(KEYS[0])
    assert read_callback(chain) is CallbackState.NONE
    with living(chain, tmp_path / "agent") as life:
        life.work_until("mined", kind="callback", succeeded=True)
        life.work_until("mined", kind="withdraw")
        life.work()
        signed = [each["kind"] for name, each in life.events.all if name == "signed"]
        assert signed.count("callback") == 1
        assert life.events.counts["rejected"] == 0
    assert (read_result(chain, market), read_callback(chain)) == (REFUND, CallbackState.CALLED)


def test_a_keeper_calls_a_requester_whose_request_ended_before(
    chain: CouncilChain, tmp_path: Path
) -> None:
    market = chain.ask_by_market()
    resolve(chain)
    assert (read_result(chain, market), read_callback(chain)) == (OPEN, CallbackState.PENDING)
    with keep(chain, tmp_path / "keeper") as life:
        life.work_until("mined", kind="callback", succeeded=True)
    assert (read_result(chain, market), read_callback(chain)) == (REFUND, CallbackState.CALLED)
    with keep(chain, tmp_path / "another") as life:
        life.work()
        assert life.events.counts == {}


def test_a_requester_of_a_failed_request_is_called(chain: CouncilChain, tmp_path: Path) -> None:
    market = chain.ask_by_market()
    chain.pass_time(HOUR + 1)
    with keep(chain, tmp_path / "keeper") as life:
        life.work_until("mined", kind="advance")
        life.work_until("mined", kind="callback", succeeded=True)
    assert read_result(chain, market) == REFUND


def test_a_requester_that_fails_costs_nobody_gas(chain: CouncilChain, tmp_path: Path) -> None:
    chain.ask()
    chain.ask_node("anvil_setCode", chain.sender, "0xfe")
    resolve(chain)
    assert read_callback(chain) is CallbackState.FAILED
    with keep(chain, tmp_path / "keeper") as life:
        life.work()
        assert life.events.counts["signed"] == 0


def test_an_account_without_code_is_not_called(chain: CouncilChain) -> None:
    chain.ask()
    resolve(chain)
    assert read_callback(chain) is CallbackState.NONE


def test_a_callback_that_somebody_else_makes_is_left(chain: CouncilChain, tmp_path: Path) -> None:
    chain.ask_by_market()
    resolve(chain)
    with closing(CouncilClient(chain.url, chain.canonical)) as client:
        [view] = client.read_views([1])
    target = to_checksum_address(view.request.requester)
    chain.ask_node("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC
    data = load_artifact("AgentCouncilOracle").encode_call("callback", target, 1)
    call = UnsignedCall(sender=bytes.fromhex(chain.sender[2:]), to=chain.canonical, data=data)
    chain.ask_node("eth_sendTransaction", {**call.serialize(), "gas": hex(10**6)})
    with keep(chain, tmp_path / "keeper") as life:
        life.work()
        assert life.events.counts["signed"] == 0


def test_an_oracle_of_the_erc_alone_is_called_by_a_keeper_once(
    chain: CouncilChain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `ICouncil` nobody can tell whether a requester was called, so agents leave it."""
    monkeypatch.setattr(RemoteContract, "supports", lambda *_: False)
    market = chain.ask_by_market()
    chain.fund(KEYS[0])
    with living(chain, tmp_path / "agent") as life:
        life.work_until("mined", kind="distributeRewards")
        life.work()
        assert read_result(chain, market) == OPEN
    with keep(chain, tmp_path / "keeper") as life:
        life.work_until("mined", kind="callback", succeeded=True)
        life.work()
        assert life.events.counts["signed"] == 1
    assert read_result(chain, market) == REFUND

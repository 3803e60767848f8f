"""web3.py with a node in this process. web3.py's own tests are in `tests/conformance/web3`."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.rpc.methods.registry import build_node_service
from tests.pyevm_agents.rpc.local_node import LocalNode, local_node

if TYPE_CHECKING:
    from collections.abc import Iterator

web3 = pytest.importorskip(
    "web3", reason="web3.py is not installed: pip install pyevm-agents[web3]"
)
provider = import_module("pyevm_agents.rpc.web3_provider")
exceptions = import_module("web3.exceptions")


@pytest.fixture
def local() -> Iterator[LocalNode]:
    with local_node() as local:
        yield local


@pytest.fixture
def w3(local: LocalNode) -> Any:  # noqa: ANN401 - web3's
    return web3.Web3(provider.AgentProvider(build_node_service(local.node, send_seconds=240)))


def test_a_transaction_is_sent_and_read(w3: Any) -> None:  # noqa: ANN401 - web3's
    first, second = w3.eth.accounts[:2]
    sent = w3.eth.send_transaction({"from": first, "to": second, "value": 5})
    assert w3.eth.wait_for_transaction_receipt(sent)["status"] == 1
    assert w3.eth.get_balance(second) == 10_000 * 10**18 + 5
    assert w3.is_connected()


def test_a_batch_is_answered_in_order(w3: Any) -> None:  # noqa: ANN401 - web3's
    first = w3.eth.accounts[0]
    with w3.batch_requests() as batch:
        batch.add(w3.eth.get_block(0))
        batch.add(w3.eth.get_balance(first))
        block, balance = batch.execute()
    assert block["number"] == 0
    assert balance == 10_000 * 10**18


def test_an_error_is_web3s(w3: Any) -> None:  # noqa: ANN401 - web3's
    with pytest.raises(exceptions.Web3RPCError, match="No Signer available"):
        w3.eth.send_transaction({"from": "0x" + "57" * 20, "value": 1, "gas": 21_000})


def test_two_providers_share_a_node(local: LocalNode, w3: Any) -> None:  # noqa: ANN401 - web3's
    async def number() -> int:
        other = web3.AsyncWeb3(
            provider.AsyncAgentProvider(build_node_service(local.node, send_seconds=240))
        )
        return int(await other.eth.block_number)

    w3.provider.make_request("evm_mine", [])
    assert asyncio.run(number()) == 1


def test_requests_run_beside_each_other(local: LocalNode) -> None:
    async def work() -> list[int]:
        other = web3.AsyncWeb3(
            provider.AsyncAgentProvider(build_node_service(local.node, send_seconds=240))
        )
        accounts = await other.eth.accounts
        return [*await asyncio.gather(*(other.eth.get_balance(one) for one in accounts * 10))]

    assert asyncio.run(work()) == [10_000 * 10**18] * 30


def test_new_heads_are_told(local: LocalNode) -> None:
    async def work() -> int:
        made = provider.PersistentAgentProvider(build_node_service(local.node, send_seconds=240))
        async with web3.AsyncWeb3(made) as w3:
            await w3.eth.subscribe("newHeads")
            await made.make_request("evm_mine", [])
            async for message in w3.socket.process_subscriptions():
                return int(message["result"]["number"])
        return -1

    assert asyncio.run(work()) == 1


def test_without_a_session_nothing_is_sent(local: LocalNode) -> None:
    async def work() -> bool:
        made = provider.PersistentAgentProvider(build_node_service(local.node, send_seconds=240))
        with pytest.raises(exceptions.ProviderConnectionError, match="async with"):
            await made.make_request("evm_mine", [])
        return bool(await made.is_connected())

    assert asyncio.run(work()) is False

"""A server during an agent run: reads and sends continue, and changes wait."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from pyevm_agents.node import MiningMode
from pyevm_agents.server import Server, ServerOptions
from tests.deadlines import HANG_SECONDS
from tests.serving import until, websocket
from tests.thinking_node import ThinkingNode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Client:
    """A client of a server."""

    def __init__(self, server: Server, session: aiohttp.ClientSession, it: ThinkingNode) -> None:
        self.server, self.session, self.it = server, session, it

    async def answer(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with self.session.post(self.server.url, json=body) as response:
            return await response.json()

    async def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        answer = await self.answer(method, *params)
        assert "result" in answer, (method, answer)
        return answer["result"]

    async def think(self) -> str:
        """Start an agent run; return the transaction's hash."""
        self.it.model.pause()
        sent = await self.ask("eth_sendTransaction", self.it.run)
        await until(self.it.model.thinks.is_set)
        return str(sent)


@asynccontextmanager
async def serving(*, mining: MiningMode | None = None) -> AsyncIterator[Client]:
    it = ThinkingNode(send_seconds=0.05, mining=mining)
    try:
        async with (
            asyncio.timeout(HANG_SECONDS),
            Server(it.service, ServerOptions(port=0, stop_seconds=1.0)) as server,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        ):
            yield Client(server, session, it)
            it.model.go_on.set()
    finally:
        it.close()


def reads(client: Client, transaction: str) -> list[tuple[str, *tuple[object, ...]]]:
    """Return the reads during an agent run, of the latest state and of the pool."""
    it = client.it
    full, plain = True, {"from": it.second, "to": it.third, "value": "0x1"}
    return [
        ("eth_blockNumber",),
        ("eth_getBalance", it.first, "latest"),
        ("eth_getBalance", it.first, "pending"),
        ("eth_getCode", it.agent, "latest"),
        ("eth_getStorageAt", it.agent, "0x0", "latest"),
        ("eth_getTransactionCount", it.first, "latest"),
        ("eth_getTransactionCount", it.first, "pending"),
        ("eth_getBlockByNumber", "latest", full),
        ("eth_getBlockByNumber", "pending", full),
        ("eth_getBlockTransactionCountByNumber", "pending"),
        ("eth_getHeaderByNumber", "pending"),
        ("eth_getBlockReceipts", "pending"),
        ("eth_getBlockReceipts", "latest"),
        ("eth_getTransactionByHash", transaction),
        ("eth_getTransactionReceipt", transaction),
        ("eth_getTransactionBySenderAndNonce", it.first, "0x0"),
        ("eth_getRawTransactionByHash", transaction),
        ("eth_getLogs", {"fromBlock": "earliest"}),
        ("eth_getProof", it.agent, ["0x0"], "latest"),
        ("eth_call", plain, "latest"),
        ("eth_call", plain, "pending"),
        ("eth_estimateGas", plain),
        ("eth_createAccessList", plain, "latest"),
        ("eth_simulateV1", {"blockStateCalls": [{"calls": [plain]}]}, "latest"),
        ("eth_gasPrice",),
        ("eth_feeHistory", "0x4", "latest", [50]),
        ("eth_feeHistory", "0x4", "pending", [50]),
        ("eth_blobBaseFee",),
        ("eth_pendingTransactions",),
        ("eth_newBlockFilter",),
        ("eth_newFilter", {}),
        ("txpool_status",),
        ("txpool_content",),
        ("txpool_inspect",),
        ("anvil_nodeInfo",),
        ("anvil_metadata",),
        ("agent_models",),
        ("agent_schedule",),
        ("debug_traceCall", plain, "latest"),
        ("net_version",),
        ("web3_sha3", "0x00"),
    ]


def test_every_read_is_answered_while_an_agent_thinks() -> None:
    async def talk() -> None:
        async with serving() as client:
            sent = await client.think()
            for method, *params in reads(client, sent):
                await client.ask(method, *params)
            assert client.it.model.requests == [], "the model has answered meanwhile"

    asyncio.run(talk())


def test_the_pending_block_lists_what_an_agent_would_have_to_think_about() -> None:
    async def talk() -> None:
        async with serving(mining=MiningMode(is_automatic=False)) as client:
            plain = await client.ask("eth_sendTransaction", client.it.transfer())
            pending = await client.ask("eth_getBlockByNumber", "pending", False)  # noqa: FBT003 - JSON-RPC has places
            assert (pending["transactions"], pending["gasUsed"]) == ([plain], hex(21_000))
            (receipt,) = await client.ask("eth_getBlockReceipts", "pending")
            assert receipt["transactionHash"] == plain
            run = await client.ask("eth_sendTransaction", client.it.run)
            pending = await client.ask("eth_getBlockByNumber", "pending", False)  # noqa: FBT003 - JSON-RPC has places
            assert (pending["transactions"], pending["gasUsed"]) == ([plain, run], "0x0")
            assert await client.ask("eth_getBlockReceipts", "pending") is None
            assert client.it.model.requests == []
            await client.ask("evm_mine")
            assert (await client.ask("eth_getTransactionReceipt", run))["status"] == "0x1"
            assert len(client.it.model.requests) == 1

    asyncio.run(talk())


def test_later_transactions_of_the_sender_wait_for_its_agent() -> None:
    async def talk() -> None:
        async with serving() as client:
            it = client.it
            sent = [await client.think()]
            sent += [await client.ask("eth_sendTransaction", it.transfer()) for _ in range(3)]
            assert await client.ask("eth_getTransactionCount", it.first, "pending") == "0x4"
            assert await client.ask("eth_getTransactionCount", it.first, "latest") == "0x0"
            for one in sent:
                assert (await client.ask("eth_getTransactionByHash", one))["blockHash"] is None
            error = (await client.answer("eth_sendTransaction", it.transfer(nonce="0x0")))["error"]
            assert error["message"] == "replacement transaction underpriced"
            it.model.go_on.set()
            await until(lambda: not len(it.node.pool))
            receipts = [await client.ask("eth_getTransactionReceipt", one) for one in sent]
            assert [one["status"] for one in receipts] == ["0x1"] * 4
            places = [
                (int(one["blockNumber"], 16), int(one["transactionIndex"], 16)) for one in receipts
            ]
            assert places == sorted(places)

    asyncio.run(talk())


def test_many_who_send_at_once_without_a_nonce_each_get_one_of_their_own() -> None:
    async def talk() -> None:
        async with serving() as client:
            sends = [client.ask("eth_sendTransaction", client.it.transfer()) for _ in range(30)]
            sent = await asyncio.gather(*sends)
            await until(lambda: not len(client.it.node.pool))
            nonces = [
                int((await client.ask("eth_getTransactionByHash", one))["nonce"], 16)
                for one in sent
            ]
            assert sorted(nonces) == [*range(30)]
            for one in sent:
                assert (await client.ask("eth_getTransactionReceipt", one))["status"] == "0x1"

    asyncio.run(talk())


def test_transactions_of_others_are_mined_while_an_agent_thinks() -> None:
    async def talk() -> None:
        async with serving() as client:
            it = client.it
            run = await client.think()
            for number in range(3):
                sent = await client.ask("eth_sendTransaction", it.transfer(**{"from": it.second}))
                await until_mined(client, sent)
                assert await client.ask("eth_getTransactionCount", it.second, "latest") == hex(
                    number + 1
                )
            assert await client.ask("eth_getTransactionReceipt", run) is None
            assert it.model.requests == [], "the model has answered meanwhile"
            it.model.go_on.set()
            await until_mined(client, run)
            assert len(it.model.requests) == 1

    asyncio.run(talk())


async def until_mined(client: Client, sent: str) -> None:
    """Wait for a transaction's receipt, of status 1."""
    pool = client.it.node.pool
    await until(lambda: bytes.fromhex(sent[2:]) not in pool)
    assert (await client.ask("eth_getTransactionReceipt", sent))["status"] == "0x1"


def test_what_changes_the_chain_does_not_wait_for_the_agent() -> None:
    async def talk() -> None:
        async with serving() as client:
            it = client.it
            run = await client.think()
            snapshot = await client.ask("evm_snapshot")
            await client.ask("anvil_setBalance", it.third, "0x7")
            assert await client.ask("eth_getBalance", it.third, "latest") == "0x7"
            assert await client.ask("evm_revert", snapshot) is True
            assert await client.ask("eth_getBalance", it.third, "latest") != "0x7"
            it.model.go_on.set()
            await until_mined(client, run)

    asyncio.run(talk())


def test_a_block_on_request_has_the_agent_and_does_not_delay_others() -> None:
    async def talk() -> None:
        async with serving() as client:
            it = client.it
            run = await client.think()
            block = asyncio.create_task(client.ask("evm_mine"))
            sent = await client.ask("eth_sendTransaction", it.transfer(**{"from": it.second}))
            await until_mined(client, sent)
            assert not block.done()
            it.model.go_on.set()
            await block
            assert (await client.ask("eth_getTransactionReceipt", run))["status"] == "0x1"

    asyncio.run(talk())


def test_interval_mining_makes_blocks_while_an_agent_thinks() -> None:
    async def talk() -> None:
        mining = MiningMode(is_automatic=False, interval_seconds=0.01)
        async with serving(mining=mining) as client:
            it = client.it
            run = await client.think()
            sent = await client.ask("eth_sendTransaction", it.transfer(**{"from": it.second}))
            await until_mined(client, sent)
            head = it.node.chain.head.block_number
            await until(lambda: it.node.chain.head.block_number > head)
            assert await client.ask("eth_getTransactionReceipt", run) is None
            it.model.go_on.set()
            await until_mined(client, run)
            assert len(it.model.requests) == 1

    asyncio.run(talk())

    asyncio.run(talk())


BLOCKS = 10


async def subscribed(client: Client) -> aiohttp.ClientWebSocketResponse:
    """Connect a client that subscribes to all events."""
    socket = await websocket(client.session, client.server.port)
    for kind in ("newHeads", "logs", "newPendingTransactions"):
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": [kind]}
        await socket.send_json(body)
        assert len(json.loads(await socket.receive_str())["result"]) == 34
    return socket


async def heads(socket: aiohttp.ClientWebSocketResponse) -> list[int]:
    """Return the block numbers of a client's notifications."""
    numbers: list[int] = []
    while len(numbers) < BLOCKS:
        told = json.loads(await socket.receive_str())["params"]["result"]
        if isinstance(told, dict) and "parentHash" in told:
            numbers.append(int(told["number"], 16))
    return numbers


@pytest.mark.parametrize("clients", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_many_are_told_of_every_block_and_those_who_do_not_read_stall_nobody(clients: int) -> None:
    async def talk() -> None:
        async with serving() as client:
            sockets = [await subscribed(client) for _ in range(clients)]
            for socket in sockets[::5]:
                assert socket._conn is not None  # noqa: SLF001 - aiohttp has no other way
                assert socket._conn.protocol is not None  # noqa: SLF001
                socket._conn.protocol.pause_reading()  # noqa: SLF001
            first = client.it.node.chain.head.block_number + 1
            for _ in range(BLOCKS):
                await client.ask("eth_sendTransaction", client.it.transfer())
                await client.ask("evm_mine")
            reading = [one for index, one in enumerate(sockets) if index % 5]
            told = await asyncio.gather(*map(heads, reading))
            assert told == [[*range(first, first + BLOCKS)]] * len(reading)

    asyncio.run(talk())


def test_the_answer_of_who_subscribes_comes_before_what_is_told() -> None:
    async def talk() -> None:
        async with serving(mining=MiningMode(interval_seconds=0.01)) as client:
            for _ in range(30):
                async with client.session.ws_connect(client.server.url) as socket:
                    body = {"jsonrpc": "2.0", "id": 7, "method": "eth_subscribe"}
                    await socket.send_json(body | {"params": ["newHeads"]})
                    name = json.loads(await socket.receive_str())["result"]
                    told = json.loads(await socket.receive_str())
                    assert told["params"]["subscription"] == name

    asyncio.run(talk())

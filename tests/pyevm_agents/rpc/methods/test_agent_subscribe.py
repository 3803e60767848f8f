"""`agent_subscribe` on a node with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.events import StepLocation, StepProgressed
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI, DEVELOPMENT_KEY
from pyevm_agents.errors import EngineFault
from pyevm_agents.models import SwappableModel
from pyevm_agents.node import Keys, Node
from pyevm_agents.rpc import agent_subscriptions
from pyevm_agents.rpc.agent_subscriptions import Throttle
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.scenarios.wallet import WalletDemo
from pyevm_agents.server import Server, ServerOptions
from tests.byte_model import PROFILE, ByteModel
from tests.deadlines import HANG_SECONDS
from tests.serving import message, websocket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.rpc.service import NodeService

DEPOSIT = ' Deposit.\nAction: DeployTool\nAction Input: {"asset": USDC, "amount": 10}'
DONE = " I now know the final answer\nFinal Answer: Done."


class Bench:
    """A node with a wallet agent, and the notifications of its subscribers."""

    def __init__(self) -> None:
        self.say: Callable[[GenerationRequest], str] = self._script
        model = SwappableModel(ByteModel(self._said))
        config = ChainConfig(models=(PROFILE,))
        accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
        self.chain = Chain(config, {PROFILE.name: model}, accounts=accounts)
        self.wallet = WalletDemo(self.chain)
        self.node = Node(self.chain, now=lambda: 2e9, keys=Keys([DEVELOPMENT_KEY]))
        self.service: NodeService = build_node_service(self.node, send_seconds=240)
        self.messages: list[Any] = []
        self.session = Session("test", self.messages.append)

    def _said(self, request: GenerationRequest) -> str:
        return self.say(request)

    def _script(self, request: GenerationRequest) -> str:
        handle = next(name for name, _ in request.handles)
        asked = "".join(one.text for one in request.segments)
        self.chain.agent_events.on_progress(is_writing=True, done=5, total=512, text=" Depo")
        if "Success" in asked:
            return DONE
        return DEPOSIT.replace("USDC", f'"{handle}"')

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        return self.service.call(method, list(params), self.session)

    def instruction(self) -> dict[str, str]:
        data = load_artifact("WalletAgent").encode_call("instruct", "Deposit 10 USDC")
        return {
            "from": "0x" + DEVELOPMENT_ADDRESS.hex(),
            "to": "0x" + self.wallet.agent.hex(),
            "data": "0x" + data.hex(),
            "gas": hex(29_000_000),
        }

    def results(self, name: str) -> list[Any]:
        told = [one["params"] for one in self.messages]
        return [one["result"] for one in told if one["subscription"] == name]


@pytest.fixture
def bench() -> Iterator[Bench]:
    it = Bench()
    yield it
    it.session.close()
    it.node.close()


def test_the_steps_of_a_transaction_come_as_they_are_made(bench: Bench) -> None:
    name = bench.ask("agent_subscribe", "steps")
    sent = bench.ask("eth_sendTransaction", bench.instruction())
    assert {one["method"] for one in bench.messages} == {"agent_subscription"}
    told = bench.results(name)
    assert [(one["kind"], one["step"]) for one in told] == [
        ("start", 1),
        ("writing", 1),
        ("tool", 1),
        ("observation", 1),
        ("start", 2),
        ("writing", 2),
        ("answer", 2),
        ("end", 2),
    ]
    start, writing, tool, observation, *_, last, end = told
    trace = bench.ask("agent_traceTransaction", sent)
    first, second = trace["steps"]
    for one in told:
        assert (one["transactionHash"], one["source"], one["depth"]) == (sent, "block", 0)
        assert one["agent"] == first["agent"]
    assert start["tokens"] == {kind: first["tokens"][kind] for kind in ("cold", "warm")}
    assert (writing["done"], writing["total"], writing["text"]) == (5, 512, " Depo")
    same = {"thought", "action", "input", "tokens", "gas", "margin", "seconds", "isCached"}
    assert {key: tool[key] for key in same} == {key: first[key] for key in same}
    assert observation["observation"] == first["observation"]
    assert (last["thought"], last["answer"]) == (second["thought"], second["answer"])
    assert (end["isSuccess"], end["reason"]) == (True, None)


def test_what_is_told_can_be_chosen(bench: Bench) -> None:
    wanted = bench.instruction()
    names = {
        "calls": bench.ask("agent_subscribe", "steps", {"sources": ["call"], "progress": False}),
        "agent": bench.ask("agent_subscribe", "steps", {"agent": wanted["to"], "progress": False}),
        "other": bench.ask("agent_subscribe", "steps", {"agent": "0x" + "11" * 20}),
        "hash": bench.ask("agent_subscribe", "steps", {"transactionHash": "0x" + "22" * 32}),
    }
    bench.ask("eth_call", wanted)
    assert [one["kind"] for one in bench.results(names["calls"])] == [
        "start",
        "tool",
        "observation",
        "start",
        "answer",
        "end",
    ]
    bench.ask("eth_estimateGas", wanted)
    assert len(bench.results(names["calls"])) == 6
    sources = [one["source"] for one in bench.results(names["agent"])]
    assert sources == ["call"] * 6 + ["estimate"] * 6
    assert bench.results(names["other"]) == bench.results(names["hash"]) == []


def test_a_fault_is_told_and_says_why(bench: Bench) -> None:
    def fail(_request: GenerationRequest) -> str:
        raise EngineFault("The engine died")

    bench.say = fail
    name = bench.ask("agent_subscribe", "steps")
    with pytest.raises(RpcError, match="The engine died"):
        bench.ask("eth_sendTransaction", bench.instruction())
    *_, last = bench.results(name)
    assert (last["kind"], last["reason"]) == ("fault", "The engine died")


def test_nobody_listens_where_nobody_subscribes(bench: Bench) -> None:
    first, second = (bench.ask("agent_subscribe", "steps") for _ in range(2))
    assert bench.ask("agent_unsubscribe", first) is True
    assert bench.ask("agent_unsubscribe", first) is False
    bench.session.close()
    assert bench.ask("agent_unsubscribe", second) is False
    bench.service.call("eth_call", [bench.instruction()], Session("http"))
    assert bench.messages == []


def test_wrong_subscriptions_are_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for params, wanted in (
        (["weather"], "must be steps"),
        (["steps", {"sources": ["blocks"]}], "must be one of block, call, estimate"),
        (["steps", {"colour": "red"}], "unknown field: colour"),
        (["steps", {"transactionHash": "0x12"}], "transactionHash"),
        (["steps", {"progress": "yes"}], "progress"),
    ):
        with pytest.raises(RpcError, match=wanted):
            bench.ask("agent_subscribe", *params)
    with pytest.raises(RpcError, match="connect by WebSocket"):
        bench.service.call("agent_subscribe", ["steps"], Session("http"))
    monkeypatch.setattr(agent_subscriptions, "MAX_SUBSCRIPTIONS", 1)
    bench.ask("agent_subscribe", "steps")
    with pytest.raises(RpcError, match="too many step subscriptions: at most 1; close some"):
        bench.ask("agent_subscribe", "steps")


def test_progress_keeps_a_rhythm_and_the_first_word_is_told_at_once() -> None:
    place = StepLocation(
        run=1,
        purpose="call",
        transaction_hash=None,
        step=1,
        depth=0,
        agent=DEVELOPMENT_ADDRESS,
    )

    def progress(done: int, *, is_writing: bool) -> StepProgressed:
        return StepProgressed(location=place, is_writing=is_writing, done=done, total=9, text="")

    rhythm = Throttle(1e9)  # Longer than any uptime: the monotonic clock may start at 0.
    assert rhythm.take_turn(progress(1, is_writing=False))
    assert not rhythm.take_turn(progress(2, is_writing=False))
    assert rhythm.take_turn(progress(1, is_writing=True))
    assert not rhythm.take_turn(progress(2, is_writing=True))


def test_a_reader_that_does_not_read_holds_up_nobody(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over real sockets: one client reads, one never does, and an agent sends 20 MB of progress."""
    monkeypatch.setattr(agent_subscriptions, "PROGRESS_SECONDS", 0.0)
    service = build_node_service(bench.node, send_seconds=240)

    def talk_much(_request: GenerationRequest) -> str:
        for done in range(2_000):
            bench.chain.agent_events.on_progress(
                is_writing=True, done=done, total=2_000, text="x" * 10_000
            )
        return DONE

    async def talk() -> list[Any]:
        # Waiting for the idle client would last longer than the test may.
        options = ServerOptions(port=0, queue_bytes=64 * 2**20, stall_seconds=2 * HANG_SECONDS)
        async with (
            Server(service, options) as server,
            aiohttp.ClientSession() as session,
            await websocket(session, server.port) as idle,
            await websocket(session, server.port) as socket,
        ):
            subscribe = message("agent_subscribe", "steps").decode()
            for one in (idle, socket):
                await one.send_str(subscribe)
                await one.receive()
            assert idle._response.connection is not None  # noqa: SLF001 - aiohttp has no other way
            transport = idle._response.connection.transport  # noqa: SLF001
            assert isinstance(transport, asyncio.Transport)
            transport.pause_reading()
            await socket.send_str(message("eth_call", bench.instruction()).decode())
            told: list[Any] = []
            while not (told and "id" in told[-1]):
                told.append(json.loads((await socket.receive(HANG_SECONDS)).data))
            transport.abort()
            return told

    bench.say = talk_much
    *told, answer = asyncio.run(talk())
    assert "result" in answer
    kinds = [one["params"]["result"]["kind"] for one in told]
    assert kinds == ["start", *["writing"] * 2_000, "answer", "end"]

"""A node for a browser: a wallet, agents that nest, fail and lie, and a model that tests hold."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import TYPE_CHECKING, Any, Self

from eth_abi import encode
from eth_utils import keccak, to_checksum_address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.models import SwappableModel
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, Node
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.scenarios.wallet import WalletDemo
from pyevm_agents.server import Server, ServerOptions
from tests.byte_model import PROFILE, ByteModel
from tests.deadlines import HANG_SECONDS
from tests.serving import until

if TYPE_CHECKING:
    from eth_typing import Address

    from precompiles.language_model import Generation, GenerationRequest

BLOCK_GAS = 400_000_000
"""A byte is a token here: prompts cost more than in a model's own tokens."""

SENDS_SECONDS = 0.05
"""How long a transaction's request waits for its block, so that the page sees it pending."""

HOSTILE = (
    '<img src=x onerror="alert(1)"><script>alert(2)</script>'
    "\u202egnp.txe\u2066 \u200bnull javascript:alert(3) {{7*7}} ${alert(4)} </pre></table>"
)
"""What would run, reorder or hide, if the page took it for more than text."""

MARKUP = '<img src=x onerror="alert(8)">'

ANSWER = " I now know the final answer\nFinal Answer: "


def use_tool(tool: str, arguments: str, thought: str = "I use it.") -> str:
    return f" {thought}\nAction: {tool}\nAction Input: {arguments}"


class Speaker(ByteModel):
    """Speaks by what it reads; while it is held, it writes a part of its text and waits."""

    def __init__(self) -> None:
        super().__init__(self._speak)
        self.chain: Chain | None = None
        self._gate: tuple[str, threading.Event] | None = None

    def hold(self, text: str = "") -> None:
        """Stop within the next answer to a prompt with a text; what was held before goes on."""
        former, self._gate = self._gate, (text, threading.Event())
        if former is not None:
            former[1].set()

    def release(self) -> None:
        former, self._gate = self._gate, None
        if former is not None:
            former[1].set()

    def generate(self, request: GenerationRequest) -> Generation:
        generation = super().generate(request)
        gate = self._gate
        if gate is not None and self.chain is not None and gate[0] in self.prompts[-1]:
            half = len(generation.text) // 2
            self.chain.agent_events.on_progress(
                is_writing=True, done=half, total=512, text=generation.text[:half]
            )
            assert gate[1].wait(HANG_SECONDS), "nobody told the model to go on"
        return generation

    @staticmethod
    def _speak(request: GenerationRequest) -> str:
        prompt = "".join(segment.text for segment in request.segments)
        asked = prompt.rpartition("Question: ")[2]
        observed = "\nObservation: " in asked
        if "You count." in prompt:
            return ANSWER + "Counted." if observed else use_tool("CounterTool", '{"amount": 7}')
        if "You ask." in prompt:
            arguments = '{"prompt": "Add 7 to the counter"}'
            return ANSWER + "Asked." if observed else use_tool("Counting Agent", arguments)
        if "You try." in prompt:
            return use_tool("RevertingTool", "{}", "It may fail.")
        if "You quote." in prompt:
            return ANSWER + "It is quoted." if observed else use_tool("Quote", "{}", MARKUP)
        if "Deposit" in asked and not observed:
            handle = request.handles[0][0]
            amount = 20 if "double" in prompt else 10
            arguments = f'{{"asset": "{handle}", "amount": {amount}}}'
            return use_tool("DeployTool", arguments, "Deposit it.")
        return ANSWER + ("Done." if observed else "I will not do that.")


class PageNode:
    """A chain, its node, and a server that can be stopped and started on one port."""

    def __init__(self, *, with_agents: bool = True) -> None:
        keys = Keys(derive_keys(DEFAULT_MNEMONIC, 3))
        config = ChainConfig(models=(PROFILE,), block_gas_limit=BLOCK_GAS)
        accounts = {
            one: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI) for one in keys.addresses
        }
        self.model = Speaker()
        chain = Chain(config, {PROFILE.name: SwappableModel(self.model)}, accounts=accounts)
        self.model.chain = chain
        self.first, self.second, self.third = map(to_checksum_address, keys.addresses)
        if with_agents:
            self._deploy(chain)
        seconds = itertools.count(1_800_000_000)
        self.node = Node(chain, now=lambda: next(seconds), keys=keys, rehearses=True)
        self.service = build_node_service(self.node, send_seconds=SENDS_SECONDS)
        self._session = Session("test")
        self._port = 0
        self._server: tuple[Server, asyncio.AbstractEventLoop, threading.Thread] | None = None

    def _deploy(self, chain: Chain) -> None:
        self.wallet = to_checksum_address(WalletDemo(chain).agent)
        owner = LocalAccount(chain)
        self._owner = owner
        counter = owner.deploy(load_artifact("CounterTool").encode_creation())
        failing = owner.deploy(load_artifact("RevertingTool").encode_creation(0))
        token = load_artifact("DemoToken").encode_creation("Token", HOSTILE, 2, 10**6)
        self.token = to_checksum_address(owner.deploy(token))
        quote = owner.deploy(
            load_artifact("ScriptedTool").encode_creation(
                "Quote", "Quotes.", [], bytes(20), HOSTILE, []
            )
        )
        counting = self._deploy_agent("Counting Agent", "You count.", counter)
        self.counting = to_checksum_address(counting)
        self.asking = to_checksum_address(self._deploy_agent("Asking Agent", "You ask.", counting))
        self.trying = to_checksum_address(self._deploy_agent("Trying Agent", "You try.", failing))
        self.quoting = to_checksum_address(
            self._deploy_agent(HOSTILE, f"You quote. {HOSTILE}", quote)
        )
        tool = owner.deploy(load_artifact("ToolV2AsV1").encode_creation(counter, bytes(20)))
        texts = ("bytes", "Version 1", "You count.", "what to do")
        self.draft = to_checksum_address(
            owner.deploy(
                load_artifact("SimpleAgentV1").encode_creation(EXECUTOR_ADDRESS, *texts, [tool], 4)
            )
        )

    def _deploy_agent(self, name: str, base_prompt: str, tool: Address) -> Address:
        texts = (name, f"The description of {name}", "what to do", base_prompt)
        return self._owner.deploy(
            load_artifact("SimpleAgent").encode_creation(
                EXECUTOR_ADDRESS, "bytes", *texts, [tool], 4
            )
        )

    # -- requests -- #

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - what a method answers
        return self.service.call(method, list(params), self._session)

    def instruct(self, text: str, **more: object) -> str:
        """Send the wallet's agent an instruction; return the transaction's hash."""
        return self._send(
            self.wallet, load_artifact("WalletAgent").encode_call("instruct", text), more
        )

    def run(self, agent: str, text: str, **more: object) -> str:
        """Send another agent a request; return the transaction's hash."""
        prompt = encode(["string"], [text])
        data = load_artifact("SimpleAgent").encode_call("run", ([(0, prompt)], prompt), bytes(20))
        return self._send(agent, data, more)

    def pay(self) -> str:
        """Transfer 12.34 of the token with the hostile symbol; return the transaction's hash."""
        data = load_artifact("DemoToken").encode_call("transfer", self.second, 1234)
        return self._send(self.token, data, {})

    def transfer(self) -> str:
        """Send a wei; return the transaction's hash."""
        form = {"from": self.second, "to": self.third, "value": "0x1", "gas": hex(21_000)}
        return str(self.ask("eth_sendTransaction", form))

    def call(self, code: str) -> str:
        """Transact with a contract of this code alone, in hex; return the transaction's hash."""
        address = to_checksum_address(keccak(hexstr=code)[:20])
        self.ask("anvil_setCode", address, code)
        return self._send(address, b"", {})

    def _send(self, to: str, data: bytes, more: dict[str, object]) -> str:
        form = {"from": self.first, "to": to, "data": "0x" + data.hex(), "gas": hex(BLOCK_GAS)}
        return str(self.ask("eth_sendTransaction", form | more))

    def mined(self, tx_hash: str) -> str:
        """Wait for a transaction's block; return the hash."""
        asyncio.run(until(lambda: self.ask("eth_getTransactionReceipt", tx_hash)))
        return tx_hash

    # -- the server -- #

    @property
    def url(self) -> str:
        assert self._server is not None
        return self._server[0].url

    def start(self) -> None:
        """Serve on the port of before, or a free one."""
        is_up = threading.Event()
        found: list[tuple[Server, asyncio.AbstractEventLoop]] = []

        async def serve() -> None:
            async with Server(self.service, ServerOptions(port=self._port)) as server:
                found.append((server, asyncio.get_running_loop()))
                is_up.set()
                await server.wait_stopped()

        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        assert is_up.wait(HANG_SECONDS)
        self._server = (*found[0], thread)
        self._port = found[0][0].port

    def stop(self) -> None:
        """Stop serving; connections are closed."""
        assert self._server is not None
        server, loop, thread = self._server
        loop.call_soon_threadsafe(server.stop)
        thread.join(HANG_SECONDS)
        self._server = None

    def take_port_of(self, other: PageNode) -> None:
        """Serve where another node was served."""
        self._port = other._port
        self.start()

    def close(self) -> None:
        self.model.release()
        if self._server is not None:
            self.stop()
        self.node.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""A node with an agent whose model generates until it is released."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_utils import to_hex

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import DEFAULT_FORK, ChainConfig
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, MiningMode, Node
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from tests.byte_model import PROFILE, ByteModel
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from precompiles.language_model import Generation, GenerationRequest

ETHER = 10**18
ANSWER = " I know.\nFinal Answer: As you like."
TEXTS = ("agent", "An agent.", '{"prompt":"string"}', "You are an agent.")


class ThinkingModel(ByteModel):
    """Answers at once, or when `go_on` is set."""

    def __init__(self) -> None:
        super().__init__(lambda _: ANSWER)
        self.thinks, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def generate(self, request: GenerationRequest) -> Generation:
        self.thinks.set()
        assert self.go_on.wait(HANG_SECONDS), "nobody told the model to go on"
        return super().generate(request)

    def pause(self) -> None:
        """Think long from now on."""
        self.go_on.clear()
        self.thinks.clear()


class ThinkingNode:
    """A node, its model, and an agent that every account may run."""

    def __init__(
        self,
        *,
        send_seconds: float = HANG_SECONDS,
        mining: MiningMode | None = None,
        fork: str = DEFAULT_FORK,
        rehearses: bool = True,
    ) -> None:
        keys = Keys(derive_keys(DEFAULT_MNEMONIC, 3))
        accounts = {one: GenesisAccount(balance_wei=10_000 * ETHER) for one in keys.addresses}
        self.model = ThinkingModel()
        config = ChainConfig(models=(PROFILE,), fork=fork)
        chain = Chain(config, {PROFILE.name: self.model}, accounts=accounts)
        seconds = itertools.count(1_800_000_000)
        self.node = Node(
            chain, now=lambda: next(seconds), keys=keys, mining=mining, rehearses=rehearses
        )
        self.service = build_node_service(self.node, send_seconds=send_seconds)
        self.first, self.second, self.third = map(to_hex, keys.addresses)
        self._session = Session("test")
        creation = load_artifact("SimpleAgent").encode_creation(
            EXECUTOR_ADDRESS, "bytes", *TEXTS, [], 3
        )
        made = self.ask(
            "eth_sendTransaction",
            {"from": self.third, "data": to_hex(creation), "gas": hex(5_000_000)},
        )
        self.ask("evm_mine")
        self.agent = str(self.ask("eth_getTransactionReceipt", made)["contractAddress"])

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - what a method answers
        return self.service.call(method, list(params), self._session)

    @property
    def run(self) -> dict[str, str]:
        """A request that runs the agent, as a transaction or a call."""
        prompt = encode(["string"], ["Hello."])
        data = load_artifact("SimpleAgent").encode_call("run", ([(0, prompt)], prompt), bytes(20))
        return {
            "from": self.first,
            "to": self.agent,
            "data": to_hex(data),
            "gas": hex(20_000_000),
        }

    def transfer(self, **told: object) -> dict[str, object]:
        """A request that sends a wei."""
        return {"from": self.first, "to": self.second, "value": "0x1", "gas": hex(21_000)} | told

    def close(self) -> None:
        self.model.go_on.set()
        self.node.close()

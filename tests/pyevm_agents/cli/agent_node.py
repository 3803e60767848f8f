"""A node with a wallet's agent and a byte model, and a server for the commands under test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI, DEVELOPMENT_KEY
from pyevm_agents.models import SwappableModel
from pyevm_agents.node import Keys, Node
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.scenarios.wallet import WalletDemo
from tests.byte_model import PROFILE, ByteModel
from tests.serving import serve_in_thread

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from precompiles.language_model import GenerationRequest, LanguageModel
    from precompiles.numeric_model import NumericModel

FIRST = "0x" + DEVELOPMENT_ADDRESS.hex()
DONE = " I now know the final answer\nFinal Answer: Done."


def deposit_then_done(request: GenerationRequest) -> str:
    """Deposit 10 of the first token, then end."""
    if "Success" in "".join(one.text for one in request.segments):
        return DONE
    handle = request.handles[0][0]
    arguments = f'{{"asset": "{handle}", "amount": 10}}'
    return f" Deposit.\nAction: DeployTool\nAction Input: {arguments}"


class AgentNode:
    """A node, and short requests to it."""

    def __init__(
        self,
        model: LanguageModel | None = None,
        config: ChainConfig | None = None,
        *,
        numeric_models: Mapping[str, NumericModel] | None = None,
    ) -> None:
        config = config or ChainConfig(models=(PROFILE,))
        switched = SwappableModel(model or ByteModel(deposit_then_done))
        accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
        chain = Chain(
            config,
            {config.models[0].name: switched},
            numeric_models=numeric_models,
            accounts=accounts,
        )
        self.wallet = WalletDemo(chain)
        self.node = Node(chain, now=lambda: 2e9, keys=Keys([DEVELOPMENT_KEY]))
        self.service = build_node_service(self.node, send_seconds=240)
        self._session = Session("test")

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - whatever it answers
        return self.service.call(method, list(params), self._session)

    def instruction(self, text: str = "Deposit 10 USDC") -> dict[str, str]:
        data = load_artifact("WalletAgent").encode_call("instruct", text)
        form = {"from": FIRST, "to": "0x" + self.wallet.agent.hex(), "data": "0x" + data.hex()}
        return form | {"gas": hex(29_000_000)}

    def served(self) -> AbstractContextManager[str]:
        """Serve it from a thread; the context has its address."""
        return serve_in_thread(self.service)

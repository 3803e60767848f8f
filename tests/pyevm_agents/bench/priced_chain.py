"""A chain of any schedule and prices with an agent on it, whose model's bytes are its tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth_abi import encode

from precompiles.gas import GasSchedule
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from pyevm_agents.devnet.local_account import LocalAccount
from tests.byte_model import PROFILE, ByteModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import Address

    from precompiles.language_model import ModelProfile
    from pyevm_agents.devnet.local_account import ExecutedTransaction

DEAR = GasSchedule(
    executor_base_gas=70_001,
    input_byte_gas=37,
    metadata_read_gas=2_000_000,
    tool_gas=91_003,
    parameter_gas=17_011,
)
DEAR_PROFILE = replace(
    PROFILE, cold_prompt_token_gas=777, warm_prompt_token_gas=333, output_token_gas=1_234
)
CHEAP = GasSchedule(executor_base_gas=1, input_byte_gas=1, tool_gas=1, parameter_gas=1)
PRICES = [(GasSchedule(), PROFILE), (DEAR, DEAR_PROFILE), (CHEAP, PROFILE)]
"""Schedules with prices of tokens."""


@dataclass
class PricedChain:
    """An agent with a counter as its tool, and another agent that has it as a tool."""

    schedule: GasSchedule
    profile: ModelProfile
    script: Sequence[str]

    def __post_init__(self) -> None:
        config = ChainConfig(models=(self.profile,), schedule=self.schedule, block_gas_limit=10**9)
        accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=10**30)}
        self.model = ByteModel(list(self.script))
        self.chain = Chain(config, {self.profile.name: self.model}, accounts=accounts)
        self.owner = LocalAccount(self.chain)
        counter = self.owner.deploy(load_artifact("CounterTool").encode_creation())
        self.agent = self._agent("inner", counter)
        self.outer = self._agent("outer", self.agent, counter)

    def _agent(self, name: str, *tools: Address) -> Address:
        texts = [f"{name} agent", f"Asks {name}", "what to do", f"You are {name}."]
        creation = load_artifact("SimpleAgent").encode_creation(
            EXECUTOR_ADDRESS, "bytes", *texts, list(tools), 5
        )
        return self.owner.deploy(creation)

    def run(self, question: str = "Please count to 7") -> ExecutedTransaction:
        prompt = encode(["string"], [question])
        data = load_artifact("SimpleAgent").encode_call("run", ([(0, prompt)], prompt), bytes(20))
        return self.owner.send(self.outer, data)

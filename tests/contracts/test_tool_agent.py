"""An OwnedAgent with tools of AbiToolFactory, run by the executor precompile with a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import keccak, to_checksum_address
from web3.exceptions import ContractLogicError
from web3.types import Wei

from pyevm_agents.contract_intelligence.capabilities import Source
from pyevm_agents.contract_intelligence.tool_spec import Argument, CallValue, ToolOutput, ToolSpec
from pyevm_agents.testing import AgentChain, answer, use

if TYPE_CHECKING:
    from web3.contract import Contract


EXECUTOR = "0x" + "00" * 19 + "19"
TYPES = "(uint8,bytes32,(address,uint24)[],(address,uint64))"
ROOT = "ab" * 32
TOKEN = to_checksum_address("0x" + "cd" * 20)


class ToolWorld:
    """A chain with an agent whose one tool calls a contract that records its calls."""

    def __init__(self, chain: AgentChain) -> None:
        self.chain = chain
        implementation = chain.deploy("AbiTool", chain.deploy("AbiToolTexts").address)
        factory = chain.deploy("AbiToolFactory", implementation.address)
        self.account = chain.deploy("AgentAccount", chain.accounts[0])
        self.target = chain.deploy("CallRecorder")
        self.target.functions.setAnswer(encode(["uint256"], [12_500_000])).transact()
        chain.w3.eth.send_transaction({"to": self.account.address, "value": Wei(10**18)})
        spec = self.build_spec()
        tool = factory.functions.create(spec.as_abi()).call()
        for to, data in (
            (factory.address, spec.encode_creation()),
            (self.account.address, spec.encode_registration(tool)),
        ):
            chain.w3.eth.send_transaction({"to": to, "data": data})
        self.agent: Contract = chain.deploy(
            "OwnedAgent", chain.accounts[0], EXECUTOR, "default", "Trader", "Trades.",
            "what to do", f"You trade. TOKEN = {TOKEN}", [tool], 4,
        )  # fmt: skip
        self.account.functions.setAgent(self.agent.address).transact()

    def build_spec(self) -> ToolSpec:
        return ToolSpec(
            name="swap",
            description="Swap along a route.",
            account=self.account.address,
            target=self.target.address,
            selector=keccak(text=f"swap{TYPES}")[:4],
            input_types=TYPES,
            output_types="(uint256)",
            arguments=(
                Argument(name="kind", abi_type="uint8", description="kind of the order"),
                Argument(name="root", abi_type="bytes32", description="root of the list"),
                Argument(name="route", abi_type="(address,uint24)[]", description="the route"),
                Argument(name="order.to", abi_type="address", source=Source.ACCOUNT),
                Argument(
                    name="order.until", abi_type="uint64", source=Source.DEADLINE, seconds=1200
                ),
            ),
            value=CallValue(is_chosen=True, most_wei=100, description="wei to send"),
            outputs=(ToolOutput(name="paid", symbol="USDC", decimals=6),),
        )

    def script(self, *answers: str, wei: int) -> None:
        route = f"[({TOKEN}, 500)]"
        step = use("swap", kind=7, root=ROOT, route=route, value=wei)
        self.chain.model.script(step, *map(answer, answers))


@pytest.fixture
def world(agent_chain: AgentChain) -> ToolWorld:
    return ToolWorld(agent_chain)


def test_the_model_calls_a_function_with_arguments_of_every_kind(world: ToolWorld) -> None:
    world.script("It paid 12.5 USDC.", wei=60)
    receipt = world.chain.ask(world.agent, "Swap 60 wei along the route")
    assert receipt["status"] == 1
    call = world.target.functions
    until = world.chain.w3.eth.get_block(receipt["blockNumber"])["timestamp"] + 1200
    values = (7, bytes.fromhex(ROOT), [(TOKEN, 500)], (world.account.address, until))
    assert call.sender().call() == world.account.address
    assert call.value().call() == 60
    types = ["uint8", "bytes32", "(address,uint24)[]", "(address,uint64)"]
    assert call.data().call()[4:] == encode(types, values)
    (step, _) = world.chain.steps(receipt["transactionHash"])
    assert step.observation == "paid: 12.5 USDC"


def test_values_outside_of_the_limits_undo_the_run(world: ToolWorld) -> None:
    world.script(wei=101)
    with pytest.raises(ContractLogicError, match="ValueOutOfRange"):
        world.chain.ask(world.agent, "Swap")
    assert world.target.functions.calls().call() == 0


def test_only_the_owner_runs_the_agent(world: ToolWorld) -> None:
    with pytest.raises(ContractLogicError, match="OwnableUnauthorizedAccount"):
        world.chain.ask(world.agent, "Swap", sender=world.chain.accounts[1])

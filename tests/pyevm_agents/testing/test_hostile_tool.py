"""Installation, start and removal of a tool's fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from eth_utils import keccak, to_canonical_address, to_checksum_address
from web3.exceptions import ContractCustomError

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import answer, use
from pyevm_agents.testing import faults
from pyevm_agents.testing.hostile_tool import USES_SLOT, FaultKind, resolve_tool_address
from tests.contracts.artifact_files import CONTRACTS
from tests.pyevm_agents.testing.agents import EXECUTOR

if TYPE_CHECKING:
    from web3.contract import Contract

    from pyevm_agents.testing.chain import AgentChain

SOURCE = (CONTRACTS / "test" / "HostileTool.sol").read_text()
METADATA = ("name", "description", "inputDescription")


def use_once(chain: AgentChain, agent: Contract) -> int:
    """Run the agent, which uses its counter once; return the gas."""
    chain.model.script(use("CounterTool", amount=1), answer("done"))
    gas: int = chain.ask(agent, "Add one")["gasUsed"]
    return gas


def test_kinds_and_slot_are_the_contracts() -> None:
    assert f"USES = 0x{USES_SLOT:064x};" in SOURCE
    body = SOURCE.partition("enum Fault {")[2].partition("}")[0]
    names = [line.split()[0].rstrip(",") for line in body.strip().splitlines()]
    assert [kind.name for kind in FaultKind] == names


@pytest.mark.parametrize("fault", [faults.reverts(), faults.changes(name="Other")])
def test_a_tool_keeps_its_metadata_and_its_state(
    agent_chain: AgentChain, counter: Contract, fault: faults.Fault
) -> None:
    counter.functions.add(5).transact()
    before = [counter.functions[one]().call() for one in METADATA]
    faults.tool(agent_chain, counter, fault)
    assert [counter.functions[one]().call() for one in METADATA] == before
    assert counter.functions.number().call() == 5
    counter.functions.add(1).transact()
    assert counter.functions.number().call() == 6


def test_a_fault_begins_after_so_many_uses_and_ends_when_it_is_mended(
    agent_chain: AgentChain, agent: Contract, counter: Contract
) -> None:
    faults.tool(agent_chain, counter, faults.reverts("no"), after=2)
    for _ in range(2):
        use_once(agent_chain, agent)
    with pytest.raises(ContractCustomError, match=r'Error\("no"\)'):
        use_once(agent_chain, agent)
    agent_chain.model.reset()
    code = agent_chain.w3.eth.get_code(counter.address)
    faults.mend(agent_chain, counter)
    assert agent_chain.w3.eth.get_code(counter.address) != code
    use_once(agent_chain, agent)
    assert counter.functions.number().call() == 3


def test_mending_what_is_whole_changes_nothing(agent_chain: AgentChain, counter: Contract) -> None:
    root = agent_chain.chain.state().state_root
    faults.mend(agent_chain, counter)
    assert agent_chain.chain.state().state_root == root
    faults.tool(agent_chain, counter, faults.returns(b"\x01" * 70_000))
    faults.mend(agent_chain, counter)
    assert agent_chain.chain.state().state_root == root


def test_another_fault_takes_the_place_of_the_first(
    agent_chain: AgentChain, agent: Contract, counter: Contract
) -> None:
    faults.tool(agent_chain, counter, faults.reverts("no"))
    faults.tool(agent_chain, counter, faults.answers("fine"))
    agent_chain.model.script(use("CounterTool", amount=1), answer("done"))
    receipt = agent_chain.ask(agent, "Add one")
    assert agent_chain.steps(receipt["transactionHash"])[0].observation == "fine"
    faults.mend(agent_chain, counter)
    agent_chain.model.script(use("CounterTool", amount=1), answer("done"))
    receipt = agent_chain.ask(agent, "Add one")
    assert agent_chain.steps(receipt["transactionHash"])[0].observation == "The counter is: 1"


def test_a_fault_costs_what_is_said_of_it(
    agent_chain: AgentChain, agent: Contract, counter: Contract
) -> None:
    number = agent_chain.snapshot()
    honest_gas = use_once(agent_chain, agent)
    agent_chain.revert(number)
    faults.tool(agent_chain, counter, faults.reverts(), after=9)
    # A step, the first use, and a step after it.
    assert 28_000 < use_once(agent_chain, agent) - honest_gas < 30_000


def test_a_fault_takes_no_transaction_and_no_nonce(
    agent_chain: AgentChain, counter: Contract
) -> None:
    sender, head = agent_chain.accounts[0], agent_chain.chain.head.block_number
    nonce = agent_chain.w3.eth.get_transaction_count(sender)
    faults.tool(agent_chain, counter, faults.reverts())
    assert agent_chain.w3.eth.get_transaction_count(sender) == nonce
    assert agent_chain.chain.head.block_number == head


def test_going_back_mends_too(agent_chain: AgentChain, agent: Contract, counter: Contract) -> None:
    number = agent_chain.snapshot()
    faults.tool(agent_chain, counter, faults.reverts())
    agent_chain.revert(number)
    use_once(agent_chain, agent)


def test_a_tool_is_known_by_contract_address_or_name(
    agent_chain: AgentChain, agent: Contract, counter: Contract
) -> None:
    address = Address(to_canonical_address(counter.address))
    forms: tuple[object, ...] = (counter, counter.address, counter.address.lower(), bytes(address))
    for tool in forms:
        assert resolve_tool_address(agent_chain, tool, None) == address
    assert resolve_tool_address(agent_chain, "CounterTool", agent) == address
    assert resolve_tool_address(agent_chain, "CounterTool", agent.address) == address


def test_a_tool_that_is_not_there_is_refused(agent_chain: AgentChain, agent: Contract) -> None:
    nowhere = to_checksum_address(keccak(b"nowhere")[:20])
    with pytest.raises(
        ConfigError, match="tool 'CountTool': must be an address; or name the agent"
    ):
        faults.tool(agent_chain, "CountTool", faults.reverts())
    with pytest.raises(ConfigError, match="has no tool 'CountTool'; its tools are: CounterTool"):
        faults.tool(agent_chain, "CountTool", faults.reverts(), of=agent)
    with pytest.raises(ConfigError, match=f"there is no contract at {nowhere}: deploy the tool"):
        faults.tool(agent_chain, nowhere, faults.reverts())
    with pytest.raises(ConfigError, match="must be 0x and 40"):
        faults.tool(agent_chain, 7, faults.reverts())


def test_a_tool_of_one_agent_keeps_its_agent(agent_chain: AgentChain) -> None:
    token = agent_chain.deploy("DemoToken", "USD Coin", "USDC", 6, 10**12)
    pool, info = agent_chain.deploy("LiquidityPool"), agent_chain.deploy("TokenInfoTool")
    prompt = f"USDC = {token.address}"
    wallet = agent_chain.deploy("WalletAgent", EXECUTOR, "default", pool, prompt, info)
    token.functions.transfer(wallet.functions.account().call(), 10**6).transact()
    faults.tool(agent_chain, "DeployTool", faults.reverts(), of=wallet, after=1)
    agent_chain.model.script(use("DeployTool", amount=1, asset=token), answer("done"))
    wallet.functions.instruct("Deposit one").transact()
    # It still rejects other callers.
    tool = to_checksum_address(resolve_tool_address(agent_chain, "DeployTool", wallet))
    data = load_artifact("IERCAgentTool").encode_call("run", ([], b""), EXECUTOR)
    faults.tool(agent_chain, "DeployTool", faults.changes(name="Other"), of=wallet)
    with pytest.raises(ContractCustomError, match=r'NotAgent\("0x'):
        agent_chain.w3.eth.call({"to": tool, "data": data})

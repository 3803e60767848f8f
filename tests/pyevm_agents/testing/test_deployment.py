"""Deployments: the sender, and the errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector

from pyevm_agents.errors import ConfigError
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.testing.deployment import DeploymentError
from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.testing.chain import AgentChain

STOP = "0x00"
INVALID = "0xfe"
TOO_SMALL: dict[str, Any] = {
    "type": "error",
    "name": "TooSmall",
    "inputs": [{"name": "least", "type": "uint256"}, {"name": "", "type": "bool"}],
}


def reverting(data: bytes) -> str:
    """Return creation code that copies its own end, and reverts with it."""
    size = len(data).to_bytes(1, "big").hex()
    return f"0x60{size}600c60003960{size}6000fd{data.hex()}"


def selected(signature: str, types: list[str], values: list[object]) -> bytes:
    return function_signature_to_4byte_selector(signature) + encode(types, values)


@pytest.fixture
def written(tmp_path: Path) -> Any:  # noqa: ANN401 - writes an artifact
    def write(code: str, *abi: object) -> Path:
        file = tmp_path / "Vault.json"
        file.write_text(json.dumps({"abi": abi, "bytecode": code}))
        return file

    return write


def test_a_contract_is_web3s(agent_chain: AgentChain) -> None:
    token = agent_chain.deploy("DemoToken", "Dollar", "USD", decimals=6, totalSupply=10)
    assert token.functions.symbol().call() == "USD"
    assert token.functions.balanceOf(agent_chain.accounts[0]).call() == 10


def test_another_account_may_send(agent_chain: AgentChain) -> None:
    second = agent_chain.accounts[1]
    token = agent_chain.deploy("DemoToken", "Dollar", "USD", 6, 10, sender=second)
    assert token.functions.balanceOf(second).call() == 10
    with agent_chain.as_account(agent_chain.accounts[2]) as third:
        token = agent_chain.deploy("DemoToken", "Dollar", "USD", 6, 10)
    assert token.functions.balanceOf(third).call() == 10


def test_a_contract_is_an_address(agent_chain: AgentChain) -> None:
    tools = [agent_chain.deploy("CounterTool"), agent_chain.deploy("EchoTool")]
    agent = clerk(agent_chain, *tools)
    assert agent.functions.getTools().call() == [tool.address for tool in tools]


def test_wei_go_with_it(agent_chain: AgentChain, written: Any) -> None:  # noqa: ANN401
    vault = agent_chain.deploy(written(STOP), value=7)
    assert agent_chain.w3.eth.get_balance(vault.address) == 7


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (reverting(b""), "its constructor reverted: no reason given"),
        (reverting(selected("Error(string)", ["string"], ["no"])), r"reverted: Error\('no'\)"),
        (reverting(selected("Panic(uint256)", ["uint256"], [0x12])), "division by zero"),
        (
            reverting(selected("TooSmall(uint256,bool)", ["uint256", "bool"], [5, True])),
            r"reverted: TooSmall\(least=5, True\)",
        ),
        (reverting(function_signature_to_4byte_selector("TooSmall(uint256,bool)")), "0x"),
        (reverting(b"\x01\x02\x03\x04"), "reverted: 0x01020304"),
        (INVALID, "InvalidInstruction"),
    ],
)
def test_a_constructor_that_fails_says_why(
    agent_chain: AgentChain,
    written: Any,  # noqa: ANN401
    code: str,
    told: str,
) -> None:
    with pytest.raises(DeploymentError, match=f"Vault was not deployed: .*{told}"):
        agent_chain.deploy(written(code, TOO_SMALL))


def test_what_the_chain_does_not_take_is_told(agent_chain: AgentChain, written: Any) -> None:  # noqa: ANN401
    with pytest.raises(RpcError, match="insufficient funds"):
        agent_chain.deploy(written(STOP), value=10**30)
    with pytest.raises(RpcError, match="No Signer"):
        agent_chain.deploy(written(STOP), sender="0x" + "57" * 20)
    with pytest.raises(ConfigError, match="address 'Bob': must be 0x"):
        agent_chain.deploy(written(STOP), sender="Bob")
    with pytest.raises(ConfigError, match=r"Vault\(\) has no argument 'supply'"):
        agent_chain.deploy(written(STOP), supply=1)

"""Contracts of callback execution on a remote chain: which kind an address has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.client.contract import RemoteContract, require_code
from pyevm_agents.errors import AgentsError, ConfigError

if TYPE_CHECKING:
    from pyevm_agents.client.json_rpc import RemoteClient

AGENT_V1 = "SimpleCallbackAgentV1"
"""Name of the contract whose ABI version-1 agents by callback have."""


def open_oracle(client: RemoteClient, address: bytes) -> RemoteContract:
    """Return the oracle at an address, as an AgentOracle or a ChallengeableOracle.

    Raises: ConfigError: there is none.
    """
    oracle = _open_contract(client, "ChallengeableOracle", address)
    if oracle.supports("IChallengeableOracle"):
        return oracle
    if oracle.supports("IAgentOracle"):
        return RemoteContract(client, "AgentOracle", address)
    agent = RemoteContract(client, "SimpleCallbackAgent", address)
    if agent.supports("IAgentOracleClient"):
        raise ConfigError(
            f"{oracle.checksum_address}: an agent, not an oracle; its oracle is "
            f"{to_checksum_address(agent.read('oracle'))}"
        )
    raise ConfigError(
        f"{oracle.checksum_address}: not an AgentOracle, by its supportsInterface (ERC-165); "
        "`pyevm-agents oracle deploy` prints the address of a new one"
    )


def open_agent(client: RemoteClient, address: bytes) -> RemoteContract:
    """Return the CallbackAgent at an address, or the CallbackAgentV1.

    Raises: ConfigError: there is none.
    """
    agent = _open_contract(client, "SimpleCallbackAgent", address)
    if agent.supports("IAgentOracleClient"):
        if agent.supports("IERCAgentTool"):
            return agent
        if agent.supports("IERCAgentToolV1"):
            return RemoteContract(client, AGENT_V1, address)
    if agent.supports("IAgentOracle"):
        raise ConfigError(
            f"{agent.checksum_address}: an oracle, not an agent; pass the address of an agent "
            "that asks it"
        )
    raise ConfigError(
        f"{agent.checksum_address}: not a CallbackAgent or CallbackAgentV1, by its "
        "supportsInterface (ERC-165); "
        "`pyevm-agents oracle deploy-agent` prints the address of a new one"
    )


def open_human_tool(client: RemoteClient, address: bytes) -> RemoteContract:
    """Return the AskHumanTool at an address.

    Raises: ConfigError: there is none.
    """
    tool = _open_contract(client, "AskHumanTool", address)
    if tool.supports("IERCAgentTool"):
        try:
            tool.read_all([("person", ()), ("questionCount", ())])
        except AgentsError:
            pass
        else:
            return tool
    raise ConfigError(
        f"{tool.checksum_address}: not an AskHumanTool; pass the address of the tool that asked"
    )


def _open_contract(client: RemoteClient, name: str, address: bytes) -> RemoteContract:
    require_code(client, address)
    return RemoteContract(client, name, address)


def is_agent_v1(agent: RemoteContract) -> bool:
    """Return whether a contract was opened as an agent of version 1 of the ERC."""
    return agent.name == AGENT_V1

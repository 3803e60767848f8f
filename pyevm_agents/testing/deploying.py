"""Deploying a compiled contract on a chain of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.exceptions import Revert
from eth_utils import to_checksum_address

from pyevm_agents.errors import AgentsError
from pyevm_agents.reasons import explain, learn_errors
from pyevm_agents.testing.addresses import canonical

if TYPE_CHECKING:
    from eth.abc import ComputationAPI

    from pyevm_agents.testing.addresses import AddressLike
    from pyevm_agents.testing.chain import AgentChain
    from pyevm_agents.testing.compiled import CompiledContract


class DeploymentError(AgentsError):
    """A constructor that failed; the message says why."""


def deployed(
    chain: AgentChain,
    contract: CompiledContract,
    creation: bytes,
    *,
    sender: AddressLike | None,
    value_wei: int,
) -> Any:  # noqa: ANN401 - a web3 Contract
    """Deploy a contract with a block's gas; return it as web3.py has it.

    What reverts with its errors is told by their names from now on.

    Raises: DeploymentError: its constructor failed. RpcError: the chain does not take the
            transaction.
    """
    if contract.file is not None:  # Those of our own contracts are known.
        learn_errors(contract.abi)
    w3 = chain.w3
    sent = chain.request(
        "eth_sendTransaction",
        {
            "from": to_checksum_address(canonical(sender or w3.eth.default_account)),
            "data": "0x" + creation.hex(),
            "value": hex(value_wei),
            "gas": hex(chain.node.next_block.header().gas_limit),
        },
    )
    if not chain.has(sent):
        chain.mine()
    computation = chain.computation(sent)
    if computation.is_error:
        raise DeploymentError(f"{contract.name} was not deployed: {_why(computation)}")
    address = to_checksum_address(computation.msg.storage_address)
    return w3.eth.contract(address=address, abi=contract.abi)


def _why(computation: ComputationAPI) -> str:
    """Return why a constructor failed."""
    error = computation.error
    if not isinstance(error, Revert):
        return f"{type(error).__name__}: {error}"
    return f"its constructor reverted: {explain(bytes(computation.output))}"

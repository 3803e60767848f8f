"""Deploying a compiled contract on a chain of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.exceptions import Revert
from eth_abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils import function_signature_to_4byte_selector, to_checksum_address
from eth_utils.abi import get_abi_input_names, get_abi_input_types

from pyevm_agents.errors import AgentsError
from pyevm_agents.reasons import explain
from pyevm_agents.testing.addresses import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    Raises: DeploymentError: its constructor failed. RpcError: the chain does not take the
            transaction.
    """
    w3 = chain.w3
    sent = chain.request(
        "eth_sendTransaction",
        {
            "from": to_checksum_address(canonical(sender or w3.eth.default_account)),
            "data": "0x" + creation.hex(),
            "value": hex(value_wei),
            "gas": hex(chain.node.next_header().gas_limit),
        },
    )
    if not chain.has(sent):
        chain.mine()
    computation = chain.computation(sent)
    if computation.is_error:
        raise DeploymentError(
            f"{contract.name} was not deployed: {_why(contract.abi, computation)}"
        )
    address = to_checksum_address(computation.msg.storage_address)
    return w3.eth.contract(address=address, abi=contract.abi)


def _why(abi: Sequence[Any], computation: ComputationAPI) -> str:
    """Return why a constructor failed, in the words of its contract's own errors."""
    error = computation.error
    if not isinstance(error, Revert):
        return f"{type(error).__name__}: {error}"
    output = bytes(computation.output)
    return f"its constructor reverted: {_own_error(abi, output) or explain(output)}"


def _own_error(abi: Sequence[Any], output: bytes) -> str | None:
    for element in abi:
        if element["type"] != "error":
            continue
        types = get_abi_input_types(element)
        signature = f"{element['name']}({','.join(types)})"
        if function_signature_to_4byte_selector(signature) != output[:4]:
            continue
        try:
            values = decode(types, output[4:])
        except (DecodingError, OverflowError):
            return None
        shown = zip(get_abi_input_names(element), values, strict=True)
        told = ", ".join(f"{name}={value!r}" if name else repr(value) for name, value in shown)
        return f"{element['name']}({told})"
    return None

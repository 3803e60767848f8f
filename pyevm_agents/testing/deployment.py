"""The transaction that creates a contract, and the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.exceptions import Revert
from eth_utils import to_checksum_address

from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.errors import AgentsError
from pyevm_agents.testing.inputs import parse_address

if TYPE_CHECKING:
    from eth.abc import ComputationAPI
    from eth_typing import ChecksumAddress

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.testing.inputs import AddressLike


class DeploymentError(AgentsError):
    """A constructor failed; the message has the reason."""


def build_creation(
    creation: bytes, *, sender: AddressLike, value_wei: int, gas: int
) -> dict[str, str]:
    """Return a contract creation for `eth_sendTransaction`.

    Raises: ConfigError: the sender is not an address.
    """
    return {
        "from": to_checksum_address(parse_address(sender)),
        "data": "0x" + creation.hex(),
        "value": hex(value_wei),
        "gas": hex(gas),
    }


def read_deployed_address(
    name: str, computation: ComputationAPI, known: KnownContracts
) -> ChecksumAddress:
    """Return the address of the contract that a transaction created.

    Input:  the contract's name, for the error; the transaction's computation; the contracts whose
            errors are known.
    Raises: DeploymentError: the constructor failed.
    """
    if computation.is_error:
        raise DeploymentError(f"{name} was not deployed: {_explain_failure(computation, known)}")
    return to_checksum_address(computation.msg.storage_address)


def _explain_failure(computation: ComputationAPI, known: KnownContracts) -> str:
    """Return the reason of a failed constructor."""
    error = computation.error
    if not isinstance(error, Revert):
        return f"{type(error).__name__}: {error}"
    return f"its constructor reverted: {decode_revert(bytes(computation.output), known)}"

"""Limits of code and of initcode, at their edges."""

from __future__ import annotations

import pytest
from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.exceptions import OutOfGas
from eth.vm.message import Message
from eth_typing import Address

from pyevm_agents.vm.computation import AgentComputation, CodeTooLargeError

LIMIT = AgentComputation.code_size_bytes


def create(size: int) -> Message:
    """Return a message that creates a contract with this many bytes of initcode."""
    return Message(
        gas=0,
        to=CREATE_CONTRACT_ADDRESS,
        sender=Address(b"\1" * 20),
        value=0,
        data=b"",
        code=bytes(size),
    )


def test_code_has_at_most_the_limit_and_initcode_twice_as_much() -> None:
    AgentComputation.validate_contract_code(bytes(LIMIT))
    AgentComputation.validate_create_message(create(2 * LIMIT))
    with pytest.raises(CodeTooLargeError, match=f"code of {LIMIT + 1} bytes"):
        AgentComputation.validate_contract_code(bytes(LIMIT + 1))
    with pytest.raises(OutOfGas, match=f"initcode of {2 * LIMIT + 1} bytes"):
        AgentComputation.validate_create_message(create(2 * LIMIT + 1))

"""Limits of code and of initcode, at their edges."""

from __future__ import annotations

import pytest
from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.exceptions import OutOfGas
from eth.vm.message import Message
from eth_typing import Address

from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.vm.computation import AgentComputation, CodeTooLargeError
from tests.pyevm_agents.tracing.assembler import asm

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


CREATOR = Address(b"\xc0" * 20)
LAST_NONCE = 2**64 - 1


@pytest.mark.parametrize("fork", ["cancun", "osaka"])
@pytest.mark.parametrize("opcode", ["CREATE", "PUSH0 SWAP3 SWAP2 SWAP1 CREATE2"])
@pytest.mark.parametrize(("value", "nonce"), [(0, 1), (1, 1), (0, LAST_NONCE)])
def test_a_creation_that_comes_to_nothing_fails_for_too_much_initcode(
    fork: str, opcode: str, value: int, nonce: int
) -> None:
    sizes = {2 * LIMIT: None, 2 * LIMIT + 1: OutOfGas}
    for size, error in sizes.items():
        code = asm(f"0x{size:08x} PUSH0 0x{value:02x} {opcode} STOP")
        accounts = {CREATOR: GenesisAccount(nonce=nonce, code=code)}
        chain = Chain(ChainConfig(fork=fork), accounts=accounts)
        called = chain.call(Call(to=CREATOR, sender=Address(bytes(20)), data=b"", gas=10**6))
        assert type(called.error) is (type(None) if error is None else error)

"""Accounts and slots that an opcode or a transaction touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth._utils.address import (
    force_bytes_to_address,
    generate_contract_address,
    generate_safe_contract_address,
)
from eth._utils.state import code_is_delegation_designation
from eth.vm.forks.prague.constants import (
    DELEGATION_DESIGNATION_PREFIX,
    SET_CODE_TRANSACTION_TYPE,
)
from eth.vm.forks.prague.state import PragueState
from eth.vm.stack import to_bytes, to_int
from eth_typing import Address

from pyevm_agents.tracing.opcodes import (
    CALLS,
    CREATE,
    CREATES,
    READS_OF_ACCOUNTS,
    SELFDESTRUCT,
    STORAGE_ACCESSES,
    get_opcode,
)
from pyevm_agents.tracing.tracer import get_stack
from pyevm_agents.vm.authorizations import recover_authority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth.abc import SignedTransactionAPI, StateAPI

    from pyevm_agents.tracing.tracer import OpcodeStep

TOUCHING_OPCODES = CALLS | READS_OF_ACCOUNTS | STORAGE_ACCESSES | {SELFDESTRUCT}


def get_touched_slot(step: OpcodeStep) -> int | None:
    """Return the slot of its own account that an opcode is about to access, or None."""
    values = get_stack(step.computation).values
    return to_int(values[-1]) if step.op in STORAGE_ACCESSES and values else None


def get_touched_account(step: OpcodeStep) -> Address | None:
    """Return the other account that an opcode is about to access, or None."""
    if step.op in CALLS:
        position = 2
    elif step.op in READS_OF_ACCOUNTS or step.op == SELFDESTRUCT:
        position = 1
    else:
        return None
    values = get_stack(step.computation).values
    if len(values) < get_opcode(step.op).pops:
        return None
    return force_bytes_to_address(to_bytes(values[-position]))


def get_created_account(step: OpcodeStep, state: StateAPI) -> Address | None:
    """Return the account that an opcode is about to create, or None."""
    values = get_stack(step.computation).values
    if step.op not in CREATES or len(values) < get_opcode(step.op).pops:
        return None
    if step.op == CREATE:
        return generate_contract_address(step.address, state.get_nonce(step.address))
    start, size, salt = (to_int(values[-position]) for position in (2, 3, 4))
    memory = step.read_memory()[start : start + size]
    if start + size > MAX_MEMORY_BYTES:  # No gas limit suffices for it.
        return None
    return generate_safe_contract_address(step.address, salt, memory.ljust(size, b"\0"))


MAX_MEMORY_BYTES = 2**24
"""Memory beyond this costs more than 500 million gas, and initcode is limited to less."""


def get_delegate(state: StateAPI, account: Address) -> Address | None:
    """Return the account whose code this one executes (EIP-7702); None without delegation."""
    code = state.get_code(account)
    if not isinstance(state, PragueState) or not code_is_delegation_designation(code):
        return None
    return Address(code[len(DELEGATION_DESIGNATION_PREFIX) :])


def recover_authorities(transaction: SignedTransactionAPI) -> Iterator[Address]:
    """Yield the signers of a transaction's authorizations, valid or not."""
    if transaction.type_id != SET_CODE_TRANSACTION_TYPE:
        return
    for authorization in transaction.authorization_list:
        authority = recover_authority(authorization)
        if authority is not None:
            yield authority

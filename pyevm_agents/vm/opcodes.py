"""The forks' opcodes. GAS and SSTORE, which depend on the remaining gas, record their use.

Gas estimation needs the records. Behaviour and cost of the opcodes are py-evm's, but that
SELFDESTRUCT fails where the heir's balance would overflow, as a call does, and that CREATE and
CREATE2 fail for too much initcode whatever else is wrong.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from eth._utils.address import force_bytes_to_address
from eth.vm.forks.cancun.computation import CancunComputation
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.opcode import as_opcode
from eth.vm.opcode_values import CREATE, CREATE2, GAS, SELFDESTRUCT, SSTORE
from eth.vm.stack import to_bytes, to_int

from pyevm_agents.vm.balances import require_room
from pyevm_agents.vm.interpreter import OPCODES

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import OpcodeAPI

CLZ, CLZ_GAS = 0x1E, 5
"""Source: EIP-7939."""

CREATE_ITEMS = 3
"""Stack items of CREATE, of which the deepest is the size of the initcode."""


def _wrap_opcode(opcode: Any, note: Callable[[Any], None]) -> OpcodeAPI:  # noqa: ANN401 - py-evm's fast kind has no type
    logic = opcode.logic_fn

    def observe_and_run(computation: Any) -> None:  # noqa: ANN401 - an `AgentComputation`
        note(computation)
        logic(computation)

    return as_opcode(observe_and_run, opcode.mnemonic, opcode.gas_cost)


def _guard_selfdestruct(opcode: Any) -> OpcodeAPI:  # noqa: ANN401 - see `_wrap_opcode`
    """Return SELFDESTRUCT, which fails where the heir's balance would overflow."""

    @wraps(opcode)
    def selfdestruct(computation: Any) -> None:  # noqa: ANN401 - py-evm's abstract type lacks the stack
        items = computation._stack.values  # noqa: SLF001 - py-evm has no accessor
        if items:
            heir = force_bytes_to_address(to_bytes(items[-1]))
            require_room(computation.state, computation.msg.storage_address, heir)
        opcode(computation=computation)

    return cast("OpcodeAPI", selfdestruct)


def _guard_create(opcode: Any) -> OpcodeAPI:  # noqa: ANN401 - see `_wrap_opcode`
    """Return CREATE or CREATE2, which fails for initcode above the limit (EIP-3860).

    py-evm looks at the size last: a creation that it refuses for the balance, the depth or the
    nonce would return 0 and go on.
    """

    @wraps(opcode)
    def create(computation: Any) -> None:  # noqa: ANN401 - see `_guard_selfdestruct`
        items = computation._stack.values  # noqa: SLF001 - py-evm has no accessor
        if len(items) >= CREATE_ITEMS:
            computation.require_initcode_size(to_int(items[-CREATE_ITEMS]))
        opcode(computation=computation)

    return cast("OpcodeAPI", create)


def _note_gas(computation: Any) -> None:  # noqa: ANN401 - see `_wrap_opcode`
    computation.executed_gas_opcode = True


def _note_store(computation: Any) -> None:  # noqa: ANN401 - see `_wrap_opcode`
    computation.note_store(computation.get_gas_remaining())


INTERPRETED_OPCODES: dict[int, OpcodeAPI] = {
    **OPCODES,
    SSTORE: _wrap_opcode(OPCODES[SSTORE], _note_store),
}
"""What the interpreter's loop executes where nothing observes each opcode."""


def _extend(opcodes: dict[int, OpcodeAPI]) -> dict[int, OpcodeAPI]:
    """Return a fork's opcodes in their observing and guarding forms."""
    return (
        opcodes
        | INTERPRETED_OPCODES
        | {
            GAS: _wrap_opcode(opcodes[GAS], _note_gas),
            SELFDESTRUCT: _guard_selfdestruct(opcodes[SELFDESTRUCT]),
            CREATE: _guard_create(opcodes[CREATE]),
            CREATE2: _guard_create(opcodes[CREATE2]),
        }
    )


CANCUN_OPCODES = _extend(CancunComputation.opcodes)
PRAGUE_OPCODES = _extend(PragueComputation.opcodes)


def _count_leading_zeros(computation: Any) -> None:  # noqa: ANN401 - py-evm's abstract type lacks the stack
    computation.stack_push_int(256 - computation.stack_pop1_int().bit_length())


OSAKA_OPCODES = PRAGUE_OPCODES | {CLZ: as_opcode(_count_leading_zeros, "CLZ", CLZ_GAS)}

"""The forks' opcodes; two take note of what their outcome may hang on: the gas that is left.

An estimate needs that. What the opcodes do, and what they cost, is py-evm's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from eth.vm.forks.cancun.computation import CancunComputation
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.opcode import as_opcode
from eth.vm.opcode_values import GAS, SSTORE

from pyevm_agents.vm.fast_opcodes import with_quick

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import OpcodeAPI

STORE_LEAVES_GAS = 2_301
"""What must be left when SSTORE begins. Source: EIP-2200."""


class TakesNote(Protocol):
    """A computation that knows where gas was looked at."""

    saw_gas: bool
    """Whether GAS was executed."""

    least_gas_at_store: int | None
    """The least gas that was left when a SSTORE began; None where none did."""


def with_notes(opcodes: dict[int, OpcodeAPI]) -> dict[int, OpcodeAPI]:
    """Return opcodes whose computations `TakesNote`."""
    return opcodes | {
        GAS: _preceded(opcodes[GAS], _note_gas),
        SSTORE: _preceded(opcodes[SSTORE], _note_store),
    }


def _preceded(opcode: Any, note: Callable[[Any], None]) -> OpcodeAPI:  # noqa: ANN401 - py-evm's fast kind has no type
    logic = opcode.logic_fn

    def noted(computation: Any) -> None:  # noqa: ANN401 - see `TakesNote`
        note(computation)
        logic(computation)

    return as_opcode(noted, opcode.mnemonic, opcode.gas_cost)


def _note_gas(computation: Any) -> None:  # noqa: ANN401 - see `TakesNote`
    computation.saw_gas = True


def _note_store(computation: Any) -> None:  # noqa: ANN401 - see `TakesNote`
    left, least = computation.get_gas_remaining(), computation.least_gas_at_store
    computation.least_gas_at_store = left if least is None else min(least, left)


CANCUN_OPCODES = with_notes(with_quick(CancunComputation.opcodes))
PRAGUE_OPCODES = with_notes(with_quick(PragueComputation.opcodes))

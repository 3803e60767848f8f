"""Contracts of an attacker, in bytecode: they spend their gas on the executor alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_typing import Address

from precompiles.abi import RUN_NEXT_ITERATION_SELECTOR
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.bench.measurement.assembly import asm, number

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CODE_BYTES = 24_576
"""Code of a contract that anybody may deploy. Source: EIP-170."""

EXECUTOR = number(int.from_bytes(EXECUTOR_ADDRESS, "big"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorCall:
    """A call of the executor, and the gas that it is given; None for all there is."""

    data: bytes
    gas: int | None = None


def calldata(  # noqa: PLR0913 - what `runNextIteration` takes
    *,
    model_id: str = "default",
    base_prompt: str = "",
    tools: Sequence[Address] = (),
    reasoning: Sequence[str] = (),
    results: Sequence[str] = (),
    prompt: str = "",
) -> bytes:
    """Return calldata of `runNextIteration`."""
    return RUN_NEXT_ITERATION_SELECTOR + encode(
        ("string", "string", "address[]", "string[]", "string[]", "string"),
        (model_id, base_prompt, list(tools), list(reasoning), list(results), prompt),
    )


def attacker_code(
    calls: Sequence[ExecutorCall], *, is_reverting: bool = False
) -> tuple[bytes, dict[Address, bytes]]:
    """Return code that makes calls of the executor, whatever becomes of them.

    Output: the code, and by address that of the accounts where it finds its calldata.
    """
    words: list[str] = []
    loaded = None
    stored: dict[Address, bytes] = {}
    addresses: dict[bytes, Address] = {}
    for call in calls:
        if call.data != loaded:
            for start in range(0, len(call.data), MAX_CODE_BYTES):
                piece = call.data[start : start + MAX_CODE_BYTES]
                if piece not in addresses:
                    addresses[piece] = Address(b"\xda\x7a" + len(addresses).to_bytes(18, "big"))
                    stored[addresses[piece]] = piece
                place = f"0x{len(piece):04x} PUSH0 0x{start:06x}"
                words.append(f"{place} 0x{addresses[piece].hex()} EXTCODECOPY")
            loaded = call.data
        gas = "GAS" if call.gas is None else f"0x{call.gas:016x}"
        data = f"0x{len(call.data):06x} PUSH0"
        words.append(f"PUSH0 PUSH0 {data} PUSH0 {EXECUTOR} {gas} CALL POP")
    words.append("PUSH0 PUSH0 REVERT" if is_reverting else "STOP")
    return asm(" ".join(words)), stored

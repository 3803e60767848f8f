"""Memory use of a transaction's calls: not all their calldata is retained."""

from __future__ import annotations

import tracemalloc

import pytest
from eth.vm.forks.prague.state import PragueState
from eth_typing import Address

from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.vm import computation as computation_module
from tests.pyevm_agents.tracing.assembler import asm

SENDER, LOOP, CALLEE = (Address(bytes(19) + bytes([n])) for n in (0xA1, 0xA2, 0xA3))
MIB = 1 << 20


def chain(calls: int, size_bytes: int) -> Chain:
    """A contract that calls another, so often, with so much of its memory."""
    call = f"PUSH0 PUSH0 0x{size_bytes:06x} PUSH0 PUSH0 0x{CALLEE.hex()} GAS CALL POP "
    accounts = {
        LOOP: GenesisAccount(code=asm(call * calls)),
        CALLEE: GenesisAccount(code=asm("CALLDATASIZE PUSH0 SSTORE")),
    }
    return Chain(ChainConfig(), accounts=accounts)


def kept_bytes(calls: int, size_bytes: int) -> list[int]:
    """Return the bytes of data that each call still has, once its transaction has ended."""
    call = Call(to=LOOP, sender=SENDER, data=b"", gas=25_000_000)
    ended = chain(calls, size_bytes).call(call).computation
    ended.raise_if_error()
    assert isinstance(ended.state, PragueState)
    # Each of them was called with all of it, whatever is kept.
    assert int(ended.state.get_storage(CALLEE, 0)) == size_bytes
    return [len(child.msg.data) for child in ended.children]


def test_a_loop_of_large_calls_does_not_fill_the_memory() -> None:
    kept = kept_bytes(100, MIB)
    assert sum(kept) == computation_module.KEPT_CALL_BYTES == 64 * MIB
    assert kept == [MIB] * 64 + [0] * 36


def test_small_calls_are_kept_whatever_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computation_module, "KEPT_CALL_BYTES", 0)
    assert kept_bytes(3, computation_module.SMALL_CALL_BYTES) == [1_024] * 3
    assert kept_bytes(3, computation_module.SMALL_CALL_BYTES + 1) == [0] * 3


def test_each_transaction_may_keep_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computation_module, "KEPT_CALL_BYTES", 4_000)
    assert kept_bytes(3, 2_000) == [2_000, 2_000, 0]
    assert kept_bytes(3, 2_000) == [2_000, 2_000, 0]


@pytest.mark.parametrize(
    "callee",
    [Address(bytes(19) + b"\x04"), Address(bytes(19) + b"\x08"), LOOP],
    ids=["out of gas", "a length that a precompile refuses", "code without gas"],
)
def test_failed_calls_are_not_kept_by_their_errors(
    monkeypatch: pytest.MonkeyPatch, callee: Address
) -> None:
    monkeypatch.setattr(computation_module, "KEPT_CALL_BYTES", 0)
    call = f"PUSH0 PUSH0 0x{MIB + 1:06x} PUSH0 PUSH0 0x{callee.hex()} PUSH0 CALL POP "
    accounts = {LOOP: GenesisAccount(code=asm(call * 20))}
    begun = Chain(ChainConfig(), accounts=accounts)
    tracemalloc.start()
    try:
        ended = begun.call(Call(to=LOOP, sender=SENDER, data=b"", gas=25_000_000)).computation
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [child.is_error for child in ended.children] == [True] * 20
    assert peak_bytes < 10 * MIB


@pytest.mark.parametrize("callee", ["0x01 0x010000 MSTORE", "0x01 0x010000 MSTORE INVALID"])
def test_calls_leave_no_memory_behind(callee: str) -> None:
    call = f"PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 0x{CALLEE.hex()} 0x00ffff CALL POP "
    accounts = {
        LOOP: GenesisAccount(code=asm(call * 200)),
        CALLEE: GenesisAccount(code=asm(callee)),
    }
    started = Chain(ChainConfig(), accounts=accounts)
    tracemalloc.start()
    try:
        ended = started.call(Call(to=LOOP, sender=SENDER, gas=25_000_000)).computation
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(ended.children) == 200
    assert kept < 3 * MIB  # The callees had 12 MiB together.

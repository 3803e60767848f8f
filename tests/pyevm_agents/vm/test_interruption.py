"""Another thread ends an execution that would not end by itself."""

from __future__ import annotations

import threading

import pytest
from eth_typing import Address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.calls import Call
from pyevm_agents.config import ChainConfig
from pyevm_agents.vm import InterruptedExecutionError, Interruption
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.tracing.assembler import asm

ENDLESS = 2**60
"""Gas that no execution uses up."""

CONTRACT = Address(b"\x05" * 20)

LOOPS = {
    "jumps": "JUMPDEST PUSH0 JUMP",
    "calls": f"JUMPDEST PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 0x{'07' * 20} GAS CALL POP PUSH0 JUMP",
    "calls of itself": "JUMPDEST PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ADDRESS GAS CALL POP PUSH0 JUMP",
    "creations": "JUMPDEST 0x5b5f56 PUSH0 MSTORE 0x03 0x1d PUSH0 CREATE POP PUSH0 JUMP",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_ends(loop: str) -> None:
    accounts = {CONTRACT: GenesisAccount(code=asm(LOOPS[loop]), balance_wei=10**18)}
    chain = Chain(ChainConfig(), accounts=accounts)
    interruption = Interruption()
    call = Call(to=CONTRACT, gas=ENDLESS, interruption=interruption)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            chain.call(call)
        except InterruptedExecutionError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert not errors
    interruption.end("enough")
    thread.join(HANG_SECONDS)
    assert [str(error) for error in errors] == ["enough"]
    with pytest.raises(InterruptedExecutionError, match="enough"):  # As does a later call.
        chain.call(call)


def test_an_interruption_that_is_not_used_changes_nothing() -> None:
    code = asm("0x2a PUSH0 MSTORE 0x20 PUSH0 RETURN")
    chain = Chain(ChainConfig(), accounts={CONTRACT: GenesisAccount(code=code)})
    plain = chain.call(Call(to=CONTRACT))
    watched = chain.call(Call(to=CONTRACT, interruption=Interruption()))
    assert (plain.output, plain.gas_used) == (watched.output, watched.gas_used)
    assert int.from_bytes(watched.output, "big") == 42


def test_only_the_watched_execution_ends() -> None:
    chain = Chain(ChainConfig(), accounts={CONTRACT: GenesisAccount(code=asm("0x2a POP"))})
    ended = Interruption()
    ended.end("enough")
    with pytest.raises(InterruptedExecutionError):
        chain.call(Call(to=CONTRACT, interruption=ended))
    assert chain.call(Call(to=CONTRACT)).error is None
    assert chain.call(Call(to=CONTRACT, interruption=Interruption())).error is None

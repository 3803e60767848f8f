"""The least gas: enough succeeds and one less fails, for made-up trials and real contracts."""

from __future__ import annotations

import itertools
from operator import methodcaller
from typing import TYPE_CHECKING

import pytest
from eth.exceptions import OutOfGas, Revert, VMError
from eth.vm.forks.prague.transactions import Authorization
from eth_typing import Address
from eth_utils import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.chain import Call, simulator
from pyevm_agents.chain.gas_estimation import GasTrial, _before_eip150, find_least_gas
from tests.chain_bench import OWNER
from tests.pyevm_agents.tracing.assembler import asm, calling

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.chain import Chain
    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

LEAST, MOST = 21, 400


def trial(*, succeeds: bool, used: int, is_blind: bool = False) -> GasTrial:
    error = None if succeeds else OutOfGas("as made up")
    return GasTrial(error=error, needed_gas=used, is_gas_independent=is_blind)


@given(threshold=st.integers(LEAST, MOST), saved=st.integers(0, MOST))
def test_finds_the_threshold_of_what_needs_more_than_it_uses(threshold: int, saved: int) -> None:
    """Callers hold back a part of their gas: less is used than is needed."""

    def attempt(gas: int) -> GasTrial:
        return trial(succeeds=gas >= threshold, used=max(threshold - saved, 0))

    assert find_least_gas(attempt, LEAST, MOST) == threshold


@given(succeeding=st.sets(st.integers(LEAST, MOST)), used=st.integers(0, MOST))
def test_finds_a_threshold_where_more_gas_may_harm(succeeding: set[int], used: int) -> None:
    succeeding |= {MOST}

    def attempt(gas: int) -> GasTrial:
        assert LEAST <= gas <= MOST
        return trial(succeeds=gas in succeeding, used=used)

    found = find_least_gas(attempt, LEAST, MOST)
    assert found in succeeding
    assert found - 1 not in succeeding or found == LEAST


@given(used=st.integers(0, MOST))
def test_asks_once_where_nothing_sees_the_gas(used: int) -> None:
    needed = max(LEAST, used)
    asked = []

    def attempt(gas: int) -> GasTrial:
        asked.append(gas)
        return trial(succeeds=gas >= needed, used=used, is_blind=True)

    assert find_least_gas(attempt, LEAST, MOST) == needed
    assert asked == [MOST]


def test_tells_why_it_fails_with_all_the_gas_there_is() -> None:
    error = Revert(b"no")
    with pytest.raises(Revert) as caught:
        find_least_gas(lambda _: GasTrial(error=error, needed_gas=1, is_gas_independent=True), 1, 9)
    assert caught.value is error


CALLEE, CALLER, OUTER = (Address(bytes([0xCC]) * 19 + bytes([n])) for n in range(3))

BURN_100 = "PUSH0 POP " * 25
WANT_GAS = "0x00018000 GAS LT 0x09 JUMPI STOP JUMPDEST INVALID"
"""Fails with less than 98,304 gas left."""

CODES = {
    "nothing": "STOP",
    "store anew": "0x01 PUSH0 SSTORE STOP",
    "store what is there": "PUSH0 PUSH0 SSTORE STOP",
    "store twice": "0x01 PUSH0 SSTORE 0x02 PUSH0 SSTORE STOP",
    "store and clear": "0x01 PUSH0 SSTORE PUSH0 PUSH0 SSTORE STOP",
    "store what is warm": "PUSH0 SLOAD POP PUSH0 PUSH0 SSTORE STOP",
    "store what is warm early": "PUSH0 PUSH0 SSTORE " + BURN_100 * 30 + "STOP",
    "log": "PUSH0 PUSH0 LOG0 STOP",
    "wants to have gas": WANT_GAS,
    "memory": "0x01 0xffff MSTORE8 STOP",
}


def least_gas_is_exact(chain: Chain, call: Call) -> int:
    found = chain.estimate_gas(call)
    assert succeeds(chain, call, found)
    assert not succeeds(chain, call, found - 1)
    return found


def succeeds(chain: Chain, call: Call, gas: int) -> bool:
    limited = Call(to=call.to, sender=call.sender, data=call.data, gas=gas)
    try:
        return chain.call(limited).error is None
    except ValidationError:
        return False


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("data", [b"", b"\x01" * 600], ids=["", "with much calldata"])
def test_is_exact_for_code(bench: MakeBench, name: str, data: bytes) -> None:
    chain = bench(codes={CALLEE: asm(CODES[name])}).chain
    least_gas_is_exact(chain, Call(to=CALLEE, sender=OWNER, data=data))


@pytest.mark.parametrize("name", CODES)
def test_is_exact_behind_calls(bench: MakeBench, name: str) -> None:
    """Each caller passes on 63 of 64 parts, and fails where its callee does."""
    checked = "ISZERO 0x{:02x} JUMPI STOP JUMPDEST INVALID"

    def caller(to: Address) -> bytes:
        call = asm(calling("CALL", to))
        end = len(call) + len(asm(checked.format(0))) - 2
        return call + asm(checked.format(end))

    codes = {CALLEE: asm(CODES[name]), CALLER: caller(CALLEE), OUTER: caller(CALLER)}
    chain = bench(codes=codes).chain
    least_gas_is_exact(chain, Call(to=OUTER, sender=OWNER))


@given(gas=st.integers(1, 2**64))
def test_what_is_passed_on_is_63_of_64_parts(gas: int) -> None:
    """Source: EIP-150. The least that passes on so much does, and one less does not."""
    passed_on = gas - gas // 64
    least = _before_eip150(passed_on)
    assert least - least // 64 == passed_on
    assert least - 1 - (least - 1) // 64 < passed_on


@pytest.mark.parametrize("value", [0, 1])
def test_three_runs_tell_what_is_needed_behind_calls(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch, value: int
) -> None:
    """Each call passes on all it may; a value comes with 2,300 gas of its own."""
    runs: list[int] = []

    def counted(attempt: Callable[[int], GasTrial], least: int, most: int) -> int:
        def count(gas: int) -> GasTrial:
            runs.append(gas)
            return attempt(gas)

        return find_least_gas(count, least, most)

    monkeypatch.setattr(simulator, "find_least_gas", counted)
    store = " ".join(f"0x01 0x{slot:02x} SSTORE" for slot in range(8)) + " STOP"
    codes = {CALLEE: asm(store)}
    callers = [Address(bytes(18) + bytes((7, depth))) for depth in range(6)]
    for to, caller in itertools.pairwise([CALLEE, *callers]):
        called = asm(calling("CALL", to, value_wei=value))
        checked = "ISZERO 0x{:02x} JUMPI STOP JUMPDEST INVALID"
        end = len(called) + len(asm(checked.format(0))) - 2
        codes[caller] = called + asm(checked.format(end))
    chain = bench(codes=codes).chain
    for caller in callers:
        chain.patch_state(methodcaller("set_balance", caller, 10))
    least_gas_is_exact(chain, Call(to=callers[-1], sender=OWNER))
    assert len(runs) == 3


def test_is_exact_where_a_callee_that_fails_burns_what_it_gets(bench: MakeBench) -> None:
    codes = {CALLEE: asm("INVALID"), CALLER: asm(calling("CALL", CALLEE) + " POP STOP")}
    chain = bench(codes=codes).chain
    assert least_gas_is_exact(chain, Call(to=CALLER, sender=OWNER)) < 100_000


def test_is_exact_for_a_creation(bench: MakeBench) -> None:
    code = asm("PUSH0 PUSH0 SSTORE 0x20 PUSH0 RETURN")
    least_gas_is_exact(bench().chain, Call(to=None, sender=OWNER, data=code))


def test_is_exact_for_much_calldata_and_a_refund(bench: MakeBench) -> None:
    """The floor of EIP-7623 holds without refunds."""
    code = asm("0x01 PUSH0 SSTORE PUSH0 PUSH0 SSTORE STOP")
    chain = bench(codes={CALLEE: code}).chain
    data = b"\x01" * 2_000
    assert least_gas_is_exact(chain, Call(to=CALLEE, sender=OWNER, data=data)) == 101_000


def test_fails_with_the_error_of_the_contract(bench: MakeBench) -> None:
    chain = bench(codes={CALLEE: asm("INVALID")}).chain
    with pytest.raises(VMError):
        chain.estimate_gas(Call(to=CALLEE, sender=OWNER))


def test_what_is_listed_or_authorized_is_paid_for(bench: MakeBench) -> None:
    """EIP-2930: 2,400 an address and 1,900 a slot. EIP-7702: 25,000 an authorization."""
    chain = bench().chain
    listed = ((CALLEE, (1, 2)), (CALLER, ()))
    assert chain.estimate_gas(Call(to=OUTER, sender=OWNER, access_list=listed)) == (
        21_000 + 2 * 2_400 + 2 * 1_900
    )
    nobody = Authorization(1, CALLEE, 0, 0, 1, 1)
    call = Call(to=OUTER, sender=OWNER, authorizations=(nobody, nobody))
    assert chain.estimate_gas(call) == 21_000 + 2 * 25_000

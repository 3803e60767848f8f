"""Yardsticks on our VM: blocks are mined and reverted, and their times are summarised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.bench.evm import precompile_inputs as inputs
from pyevm_agents.bench.evm.case import make_contract_case
from pyevm_agents.bench.evm.cases import TRANSACTIONS
from pyevm_agents.bench.evm.runner import EvmBench, EvmTestbed, estimate_ns_per_gas
from pyevm_agents.bench.measurement.assembly import assemble, build_loop, build_precompile_call
from pyevm_agents.bench.measurement.rounds import FULL_ROUNDS, QUICK_ROUNDS, BenchSettings
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from tests.pyevm_agents.bench.observers import Counting

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel

TURN = 26
LOOP = make_contract_case("loop", "a loop", build_loop("JUMPDEST"), times=20, is_quick=True)
TAKEN_OFF = make_contract_case(
    "rest", "a loop's rest", build_loop("JUMPDEST"), times=20, taken_off=15
)
FAILING = make_contract_case("failing", "nothing", assemble("INVALID"), times=1)


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=9), st.integers(1, 10**9))
def test_a_gas_takes_its_share_of_the_median(seconds: list[float], gas: int) -> None:
    found = estimate_ns_per_gas(seconds, gas)
    middle = sorted(seconds)[len(seconds) // 2]
    if len(seconds) % 2:
        assert found.middle == pytest.approx(middle / gas * 1e9)
    low, high = min(seconds) / gas * 1e9, max(seconds) / gas * 1e9
    assert low <= found.low * (1 + 1e-9)
    assert found.low <= found.middle <= found.high
    assert found.high <= high * (1 + 1e-9)


def test_half_a_second_for_a_million_gas_is_five_hundred_nanoseconds() -> None:
    assert estimate_ns_per_gas([0.5, 0.4, 0.6], 1_000_000).middle == pytest.approx(500)


def test_a_sample_leaves_the_chain_as_it_was() -> None:
    bed = EvmTestbed([LOOP])
    head = bed.chain.head
    first, second = bed.sample(LOOP, 3), bed.sample(LOOP, 3)
    assert first.gas == second.gas
    assert bed.chain.head == head
    assert bed.chain.nonce(DEVELOPMENT_ADDRESS) == 0


def test_a_contract_is_charged_without_its_transaction() -> None:
    # PUSH0 CALLDATALOAD, and the turns of JUMPDESTs.
    assert EvmTestbed([LOOP]).sample(LOOP, 3).gas == 2 + 3 + 3 * (TURN + 1)


def test_a_transaction_is_charged_as_a_whole() -> None:
    (transfer, _) = TRANSACTIONS
    assert EvmTestbed([transfer]).sample(transfer, 4).gas == 4 * 21_000


def test_what_is_to_be_taken_off_is() -> None:
    assert EvmTestbed([TAKEN_OFF]).measure(TAKEN_OFF).gas == 5 * (TURN + 1)


def test_a_sample_has_what_was_returned() -> None:
    echo = make_contract_case(
        "echo", "", build_precompile_call(inputs.IDENTITY, b"onetwo", 3, 6), times=2
    )
    assert EvmTestbed([echo]).sample(echo, 2).outputs == (b"onetwo",)


def test_a_case_that_fails_is_not_measured() -> None:
    with pytest.raises(RuntimeError, match=r"case failing failed: InvalidInstruction"):
        EvmTestbed([FAILING]).sample(FAILING, 1)


def test_a_quick_run_measures_what_is_quick(reduced_llama: LlamaModel) -> None:
    observer = Counting()
    setting = BenchSettings(model=reduced_llama, observer=observer, is_quick=True)
    bench = EvmBench(setting, (LOOP, TAKEN_OFF))
    bench.measure()
    (found,) = bench.build_yardsticks()
    assert (found.name, found.title, found.vm) == ("loop", "a loop", "pyevm-agents")
    assert found.gas == 2 + 3 + 20 * (TURN + 1)
    assert len(found.seconds) == QUICK_ROUNDS
    assert found.ns_per_gas == estimate_ns_per_gas(found.seconds, found.gas)
    assert not found.is_worst_case
    assert observer.promised == [("EVM", len(observer.steps))]


def test_a_case_can_be_timed_again_later(reduced_llama: LlamaModel) -> None:
    bench = EvmBench(
        BenchSettings(model=reduced_llama, observer=Counting(), is_quick=False), (LOOP, TAKEN_OFF)
    )
    bench.measure()
    again = bench.make_timers(["rest"])
    seconds = [again["rest"]() for _ in range(2)]
    loop, rest = bench.build_yardsticks()
    assert len(loop.seconds) == FULL_ROUNDS
    assert list(rest.seconds[FULL_ROUNDS:]) == seconds
    assert rest.ns_per_gas == estimate_ns_per_gas(rest.seconds, rest.gas)

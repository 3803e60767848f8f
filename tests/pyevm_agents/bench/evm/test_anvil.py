"""anvil as a yardstick: the same transactions have the same gas and results there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.bench.evm import anvil as anvil_module
from pyevm_agents.bench.evm.anvil import Anvil, connect_anvil, measure_yardsticks
from pyevm_agents.bench.evm.cases import CASES
from pyevm_agents.bench.evm.runner import EvmTestbed
from pyevm_agents.bench.measurement.rounds import BenchSettings
from pyevm_agents.devnet.node_process import AnvilError, find_anvil, read_version
from tests.clients.packages import foundry_program
from tests.pyevm_agents.bench.observers import Counting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.models import LlamaModel

BY_NAME = {case.name: case for case in CASES}
QUICK = [case.name for case in CASES if not case.taken_off and case.times > 1]
"""Those of which two are mined in a moment here, too."""

LONG_TIMES = 100


@pytest.fixture(scope="module")
def program() -> Path:
    """The first anvil on the PATH, else npm's; the test is skipped without one."""
    return find_anvil() or foundry_program("anvil", "anvil")


@pytest.fixture(scope="module")
def anvil(program: Path) -> Iterator[Anvil]:
    with connect_anvil(program) as started:
        yield started


@pytest.fixture(scope="module")
def bed() -> EvmTestbed:
    return EvmTestbed(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_gas_is_the_same_there(anvil: Anvil, bed: EvmTestbed, name: str) -> None:
    case = BY_NAME[name]
    # So many that it is not calldata which sets the price (EIP-7623), and few where each is long.
    most, least = (40, 20) if case.times > LONG_TIMES else (2, 1)
    anvil.set_codes(case.codes)
    there = anvil.sample(case, most).gas - anvil.sample(case, least).gas
    assert there == bed.sample(case, most).gas - bed.sample(case, least).gas


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in QUICK if name not in {"transfer", "erc20"}])
def test_what_is_returned_is_the_same_there(anvil: Anvil, bed: EvmTestbed, name: str) -> None:
    case = BY_NAME[name]
    anvil.set_codes(case.codes)
    (ask,) = case.build_transactions(2)
    assert ask.to is not None
    call = {"to": f"0x{ask.to.hex()}", "data": f"0x{ask.data.hex()}", "gas": hex(10**8)}
    (here,) = bed.sample(case, 2).outputs
    assert anvil.call("eth_call", call, "latest") == f"0x{here.hex()}"


def test_it_goes_back_after_each_sample(anvil: Anvil) -> None:
    case = BY_NAME["storage-fresh"]
    anvil.set_codes(case.codes)
    number = anvil.call("eth_blockNumber")
    assert anvil.sample(case, 2).gas == anvil.sample(case, 2).gas
    assert anvil.call("eth_blockNumber") == number


@pytest.mark.slow
def test_yardsticks_of_both_are_held_side_by_side(
    program: Path, llama: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anvil_module, "LARGE_GAS", 4_000_000)
    observer = Counting()
    setting = BenchSettings(model=llama, observer=observer, is_quick=True, anvil=program)
    cases = (BY_NAME["transfer"], BY_NAME["ecrecover"], BY_NAME["identity"])
    found = measure_yardsticks(setting, cases)
    assert [it.name for it in found] == ["transfer", "ecrecover"]
    assert {it.vm for it in found} == {f"anvil {read_version(program)}"}
    assert [it.gas % 21_000 == 0 for it in found] == [True, False]
    assert all(0 < it.gas <= 4_000_000 for it in found)
    assert all(len(it.seconds) == anvil_module.ROUNDS for it in found)
    assert observer.promised == [("EVM on anvil", len(observer.steps))]


def test_an_error_of_it_is_told(anvil: Anvil) -> None:
    with pytest.raises(AnvilError, match="anvil refuses evm_nothing"):
        anvil.call("evm_nothing")


def test_it_ends_with_who_used_it(program: Path) -> None:
    with connect_anvil(program) as started:
        assert started.call("eth_chainId") == "0x7a69"
    with pytest.raises(AnvilError, match="does not answer eth_chainId"):
        started.call("eth_chainId")


def test_a_machine_without_it_says_so(
    llama: LlamaModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_anvil() is None
    setting = BenchSettings(model=llama, observer=Counting(), is_quick=True, anvil=None)
    with pytest.raises(AnvilError, match="no program 'anvil' on the PATH"):
        measure_yardsticks(setting)

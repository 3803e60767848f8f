"""The fork: warm as a precompile is, absent where no executor is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth.vm.forks.cancun import CancunVM
from eth.vm.forks.prague import PragueVM
from eth.vm.forks.prague.computation import PragueComputation
from eth_typing import Address
from eth_utils import ValidationError

from precompiles.executor import Executor
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents import config
from pyevm_agents.vm import CANCUN, FORKS, PRAGUE, bls12_381, bn254, build_vm_class, modexp
from pyevm_agents.vm.kzg import POINT_EVALUATION_ADDRESS, point_evaluation
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import STRANGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.vm import Fork
    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]


MATHEMATICS = modexp.PRECOMPILES | bn254.PRECOMPILES | {POINT_EVALUATION_ADDRESS: point_evaluation}


@pytest.mark.parametrize(
    ("fork", "plain", "replaced"),
    [
        (CANCUN, CancunVM, MATHEMATICS),
        (PRAGUE, PragueVM, MATHEMATICS | bls12_381.PRECOMPILES),
    ],
)
def test_adds_one_precompile_and_replaces_some(
    fork: Fork, plain: type[CancunVM], replaced: dict[Address, object]
) -> None:
    executor = Executor([(PROFILE, ByteModel([]))])
    made = build_vm_class(executor, fork=fork)
    ours = {EXECUTOR_ADDRESS: executor, **replaced}
    theirs = plain.get_state_class().computation_class
    assert made.get_state_class().computation_class.get_precompiles() == {
        **theirs.get_precompiles(),
        **ours,
    }
    assert replaced.keys() <= theirs.get_precompiles().keys()
    assert issubclass(made, plain)
    assert made.get_block_class().get_transaction_builder() is plain.get_transaction_builder()
    opcodes = made.get_state_class().computation_class.opcodes
    assert opcodes.keys() == theirs.opcodes.keys()


def test_a_configuration_knows_the_same_forks() -> None:
    assert set(FORKS) == set(config.FORKS)
    assert [fork.vm_class.fork for fork in FORKS.values()] == [*FORKS]
    assert (PRAGUE.blobs.target, PRAGUE.blobs.maximum) == (6, 9)  # EIP-7691.
    assert (CANCUN.blobs.target, CANCUN.blobs.maximum) == (3, 6)  # EIP-4844.


def test_two_chains_can_have_different_executors() -> None:
    first, second = (Executor([(PROFILE, ByteModel([]))]) for _ in range(2))
    tables = [
        build_vm_class(executor)._state_class.computation_class.get_precompiles()  # noqa: SLF001
        for executor in (first, second)
    ]
    assert [table[EXECUTOR_ADDRESS] for table in tables] == [first, second]


def test_leaves_py_evm_alone() -> None:
    build_vm_class(Executor([(PROFILE, ByteModel([]))]))
    assert EXECUTOR_ADDRESS not in PragueComputation.get_precompiles()
    plain = build_vm_class(None).get_state_class().computation_class
    assert EXECUTOR_ADDRESS not in plain.get_precompiles()
    assert not issubclass(CANCUN.vm_class, PragueVM)


CALLS_THE_EXECUTOR = Address(b"\xca" * 20)
GAS_OF_A_CALL = bytes.fromhex("5a5f5f5f5f5f60195ff1505a900360005260206000f3")
"""GAS, CALL(0 gas, 0x19, no value, no data), POP, GAS, SWAP1, SUB, and the difference returned."""


def test_the_executors_account_is_warm_from_the_start(bench: MakeBench) -> None:
    b = bench(codes={CALLS_THE_EXECUTOR: GAS_OF_A_CALL})
    computation = b.call(CALLS_THE_EXECUTOR, b"")
    # Six PUSH0, a PUSH1, POP and GAS cost 19; a warm account 100, a cold one would be 2,600.
    assert int.from_bytes(computation.output, "big") == 12 + 3 + 2 + 2 + 100


def test_a_gas_limit_below_what_calldata_costs_is_invalid(bench: MakeBench) -> None:
    """EIP-7623; py-evm takes such transactions."""
    b = bench()
    data = b"\x01" * 1_000
    floor = 21_000 + 10 * 4 * 1_000
    b.send(STRANGER, data, gas=floor)
    with pytest.raises(ValidationError, match=f"gas {floor - 1}, minimum needed {floor}"):
        b.send(STRANGER, data, gas=floor - 1)

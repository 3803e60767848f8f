"""Each EVM yardstick completes, with Ethereum's gas and the expected result.

Gas is written by hand here, from the yellow paper and the named EIPs.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.bench.evm import precompile_inputs as inputs
from pyevm_agents.bench.evm.cases import CASES
from pyevm_agents.bench.evm.runner import EvmTestbed

if TYPE_CHECKING:
    from pyevm_agents.bench.evm.case import EvmCase

BY_NAME = {case.name: case for case in CASES}
TURN = 1 + 3 + 3 + 3 + 3 + 3 + 10  # JUMPDEST PUSH1 SWAP1 SUB DUP1 PUSH1 JUMPI

TURNS = {
    "loop": TURN + 3 + 3 + 5 + 3 + 3 + 3,
    "keccak": TURN + 10 * (3 + 2 + 30 + 6 * 32 + 2),
    "storage-fresh": TURN + 3 + 3 + 20_000 + 2_100,  # EIP-2200, EIP-2929
    "storage-cold": TURN + 2 + 3 + 3 + 3 + 2_900 + 2_100,  # EIP-2929
    "storage-warm": TURN + 10 * (2 + 2 + 100),  # EIP-2200: a slot that is dirty already
    "call": TURN + 5 * 2 + 2 + 2 + 100 + 2,  # EIP-2929: the caller is warm
    "worst-call": TURN + 5 * 2 + 2 + 2 + 100 + 2,
    "worst-copy": TURN + 100 * (3 * 2 + 3),  # yellow paper: 3, and 3 for each word of none
    "worst-call-memory": TURN + 2 + 2 + 3 + 2 + 2 + 2 + 100 + 2,
    "transfer": 21_000,
}
"""Gas of one more turn of a loop, or transaction."""

PRECOMPILES = {
    "ecrecover": 3_000,
    "sha256": 60 + 12 * 32,
    "identity": 15 + 3 * 32,
    "modexp-rsa": 32**2 * 16 // 3,  # EIP-2565: words squared, the exponent's bits but one
    "blake2f": 12,  # EIP-152: by rounds
    "bn128-add": 150,  # EIP-1108, as the next
    "bn128-mul": 6_000,
    "bn128-pairing": 45_000 + 4 * 34_000,
    "point-evaluation": 50_000,  # EIP-4844
    "bls-g1-add": 375,  # EIP-2537, as the next
    "bls-g2-add": 600,
    "bls-pairing": 37_700 + 2 * 32_600,
    "bls-map-g1": 5_500,
    "bls-map-g2": 23_800,
    "bls-g1-msm": 12_000,
    "bls-g2-msm": 22_500,
}
"""Gas of a precompile."""

ONE = bytes(31) + b"\x01"
TEXT_HASH = hashlib.blake2b(b"abc").digest()

OUTPUTS = {
    "ecrecover": bytes(12) + inputs.KEY.public_key.to_canonical_address(),
    "sha256": hashlib.sha256(bytes(1_024)).digest(),
    "identity": b"\x01" * 1_024,
    "modexp-rsa": pow(int("aa" * 256, 16), 65_537, 2**2_048 - 1).to_bytes(256, "big"),
    "blake2f": TEXT_HASH,
    "bn128-add": inputs.bn128_g1(3),
    "bn128-mul": inputs.bn128_g1(2**256 - 1),
    "bn128-pairing": ONE,
    # FIELD_ELEMENTS_PER_BLOB and BLS_MODULUS, as EIP-4844 writes them.
    "point-evaluation": bytes.fromhex(
        f"{4_096:064x}73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"
    ),
    "bls-g1-add": inputs.bls_g1(3),
    "bls-g2-add": inputs.bls_g2(3),
    "bls-pairing": ONE,
    "bls-g1-msm": inputs.bls_g1(2**256 - 1),
    "bls-g2-msm": inputs.bls_g2(2**256 - 1),
}
"""What precompiles return. What is mapped to a curve has no short formula: see `test_anvil.py`."""


@pytest.fixture(scope="module")
def bed() -> EvmTestbed:
    return EvmTestbed(CASES)


def calls_of(bed: EvmTestbed, case: EvmCase, times: int) -> list[Any]:
    """Return the calls that a case makes, as computations."""
    snapshot = bed.chain.snapshot()
    try:
        mined = bed.mine(bed.sign_next(case.build_transactions(times)))
        return [call for computation in mined.computations for call in computation.children]
    finally:
        bed.chain.revert(snapshot)


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(CASES)


def test_parity_has_its_references() -> None:
    assert BY_NAME["ecrecover"].is_quick
    assert BY_NAME["erc20"].is_quick
    assert any(case.is_worst_case and case.is_quick for case in CASES)


@pytest.mark.parametrize("name", TURNS)
def test_a_turn_costs_what_ethereum_asks(bed: EvmTestbed, name: str) -> None:
    case = BY_NAME[name]
    assert bed.sample(case, 5).gas - bed.sample(case, 3).gas == 2 * TURNS[name]


def test_a_token_transfer_costs_what_ethereum_asks(bed: EvmTestbed) -> None:
    case = BY_NAME["erc20"]
    (transfer,) = case.build_transactions(1)
    calldata = sum(16 if byte else 4 for byte in transfer.data)
    # Both balances are cold and change from something to something (EIP-2929); the log has three
    # topics and a word; the rest is Solidity's.
    at_least = 21_000 + calldata + 2 * (2_100 + 2_900) + 375 * 4 + 8 * 32
    assert at_least < bed.sample(case, 1).gas < at_least + 1_500


@pytest.mark.slow
@pytest.mark.parametrize("name", PRECOMPILES)
def test_a_precompile_costs_what_ethereum_asks(bed: EvmTestbed, name: str) -> None:
    (call,) = calls_of(bed, BY_NAME[name], 1)
    assert call.is_success
    assert call.msg.gas - call.get_gas_remaining() == PRECOMPILES[name]
    if name in OUTPUTS:
        assert bytes(call.output) == OUTPUTS[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "items", "gas", "output"),
    [
        ("worst-bls-pairing", 2, 37_700 + 2 * 32_600, ONE),
        ("worst-bn128-pairing", 2, 45_000 + 2 * 34_000, ONE),
        # EIP-2537: for 3 points, 923 thousandths each.
        ("worst-bls-g2-msm", 3, 3 * 22_500 * 923 // 1_000, inputs.bls_g2(3 * (2**256 - 1))),
    ],
)
def test_items_of_a_call_cost_what_ethereum_asks(
    bed: EvmTestbed, name: str, items: int, gas: int, output: bytes
) -> None:
    (call,) = calls_of(bed, BY_NAME[name], items)
    assert call.msg.gas - call.get_gas_remaining() == gas
    assert bytes(call.output) == output


def test_a_call_without_gas_fails_and_costs_no_more() -> None:
    case = BY_NAME["worst-call"]
    (call,) = calls_of(EvmTestbed([case]), case, 1)
    assert call.is_error
    assert call.msg.gas == 0


def test_every_case_ends_well(bed: EvmTestbed) -> None:
    # Precompiles did above, in the same code.
    for name in BY_NAME.keys() - PRECOMPILES.keys() - {"worst-bls-pairing", "worst-bn128-pairing"}:
        assert bed.sample(BY_NAME[name], 2).gas > 0

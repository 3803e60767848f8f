"""Cases of the EVM yardsticks: everyday operations, and typical uses of each precompile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth._utils.address import generate_contract_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.bench.evm import precompile_inputs as inputs
from pyevm_agents.bench.evm.case import (
    BenchTransaction,
    EvmCase,
    derive_address,
    make_contract_case,
)
from pyevm_agents.bench.evm.worst_cases import WORST_CASES
from pyevm_agents.bench.measurement.assembly import build_loop, build_precompile_loop, format_push
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS

if TYPE_CHECKING:
    from eth_typing import Address

HASHED_BYTES = 1_024

TRANSFERS, MOST_TRANSFERS = 100, 400
TRANSFER_GAS = 21_000
TOKEN_GAS = 60_000
TOKEN_SUPPLY = 10**24
TOKEN = generate_contract_address(DEVELOPMENT_ADDRESS, 0)


def _derive_recipient(index: int) -> Address:
    return derive_address(f"recipient {index}")


def _build_transfers(times: int) -> tuple[BenchTransaction, ...]:
    """Return transfers to `times` accounts."""
    return tuple(
        BenchTransaction(to=_derive_recipient(n), value_wei=1, gas=TRANSFER_GAS)
        for n in range(times)
    )


def _build_token_transfers(times: int) -> tuple[BenchTransaction, ...]:
    """Return token transfers to `times` accounts."""
    call = load_artifact("DemoToken").encode_call
    return tuple(
        BenchTransaction(
            to=TOKEN, data=call("transfer", _derive_recipient(index), 10**6), gas=TOKEN_GAS
        )
        for index in range(times)
    )


def _build_token_creation(times: int) -> tuple[BenchTransaction, ...]:
    """Return the token's creation, and a first transfer to each account."""
    creation = load_artifact("DemoToken").encode_creation("Dollar", "USD", 6, TOKEN_SUPPLY)
    return (BenchTransaction(to=None, data=creation), *_build_token_transfers(times))


TRANSACTIONS = (
    EvmCase(
        name="transfer",
        title="plain transfer, to an account that is there",
        build_transactions=_build_transfers,
        before=_build_transfers,
        times=TRANSFERS,
        most_times=MOST_TRANSFERS,
        is_whole=True,
        is_quick=True,
    ),
    EvmCase(
        name="erc20",
        title="ERC-20 transfer, to an account that has some",
        build_transactions=_build_token_transfers,
        before=_build_token_creation,
        times=TRANSFERS,
        most_times=MOST_TRANSFERS,
        is_whole=True,
        is_quick=True,
    ),
)
"""Whole transactions, with their signatures and the state root."""

LOOPS = (
    make_contract_case(
        "loop",
        "plain loop: x = 3x + i",
        build_loop("SWAP1 0x03 MUL DUP2 ADD SWAP1", before="0x01"),
        times=5_000,
        is_quick=True,
    ),
    make_contract_case(
        "keccak",
        "KECCAK256 of 1 KiB",
        build_loop(f"{format_push(HASHED_BYTES)} PUSH0 KECCAK256 POP", copies=10),
        times=400,
        is_quick=True,
    ),
    make_contract_case(
        "storage-fresh",
        "SSTORE to a slot that was empty",
        build_loop("DUP1 DUP1 SSTORE"),
        times=1_000,
        is_quick=True,
    ),
    make_contract_case(
        "storage-cold",
        "SSTORE to a cold slot that held something",
        # The block's number makes each block write another value.
        build_loop("NUMBER DUP2 ADD DUP2 SSTORE"),
        times=1_000,
        before=lambda times: (
            BenchTransaction(to=derive_address("storage-cold"), data=inputs.encode_word(times)),
        ),
        is_quick=True,
    ),
    make_contract_case(
        "storage-warm",
        "SSTORE to a slot that was just written",
        build_loop("GAS PUSH0 SSTORE", copies=10),
        times=200,
        is_quick=True,
    ),
    make_contract_case(
        "call",
        "CALL of an account without code",
        build_loop("PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 CALLER PUSH0 CALL POP"),
        times=2_000,
    ),
)

PRECOMPILES = (
    make_contract_case(
        "ecrecover",
        "ecrecover",
        build_precompile_loop(inputs.ECRECOVER, inputs.ecrecover(), 32),
        times=1_000,
        is_quick=True,
    ),
    make_contract_case(
        "sha256",
        "SHA-256 of 1 KiB",
        build_precompile_loop(inputs.SHA256, bytes(HASHED_BYTES), 32),
        times=2_000,
        is_quick=True,
    ),
    make_contract_case(
        "identity",
        "identity of 1 KiB",
        build_precompile_loop(inputs.IDENTITY, b"\x01" * HASHED_BYTES, HASHED_BYTES),
        times=2_000,
    ),
    make_contract_case(
        "modexp-rsa",
        "modexp: RSA-2048, exponent 65,537",
        build_precompile_loop(
            inputs.MODEXP, inputs.modexp(256, (65_537).to_bytes(3, "big"), 256), 256
        ),
        times=1_000,
        is_quick=True,
    ),
    make_contract_case(
        "blake2f",
        "BLAKE2b, a block of 12 rounds",
        build_precompile_loop(inputs.BLAKE2F, inputs.blake2f(12), 64),
        times=2_000,
    ),
    make_contract_case(
        "bn128-add",
        "BN128 addition",
        build_precompile_loop(inputs.BN128_ADD, inputs.bn128_g1() + inputs.bn128_g1(2), 64),
        times=500,
    ),
    make_contract_case(
        "bn128-mul",
        "BN128 multiplication",
        build_precompile_loop(
            inputs.BN128_MUL, inputs.bn128_g1() + inputs.encode_word(inputs.MAX_WORD), 64
        ),
        times=20,
    ),
    make_contract_case(
        "bn128-pairing",
        "BN128 pairing check of 4 pairs, as of a Groth16 proof",
        build_precompile_loop(inputs.BN128_PAIRING, inputs.bn128_pairs(4), 32),
        times=1,
    ),
    make_contract_case(
        "point-evaluation",
        "KZG point evaluation",
        build_precompile_loop(inputs.POINT_EVALUATION, inputs.point_evaluation(), 64),
        times=100,
    ),
    make_contract_case(
        "bls-g1-add",
        "BLS12-381 addition in G1",
        build_precompile_loop(inputs.BLS_G1_ADD, inputs.bls_g1() + inputs.bls_g1(2), 128),
        times=300,
    ),
    make_contract_case(
        "bls-g2-add",
        "BLS12-381 addition in G2",
        build_precompile_loop(inputs.BLS_G2_ADD, inputs.bls_g2() + inputs.bls_g2(2), 256),
        times=200,
    ),
    make_contract_case(
        "bls-pairing",
        "BLS12-381 pairing check of 2 pairs, as of a signature",
        build_precompile_loop(inputs.BLS_PAIRING, inputs.bls_pairs(2), 32),
        times=1,
    ),
    make_contract_case(
        "bls-map-g1",
        "BLS12-381 map to G1",
        build_precompile_loop(inputs.BLS_MAP_TO_G1, inputs.bls_field(1), 128),
        times=20,
    ),
    make_contract_case(
        "bls-map-g2",
        "BLS12-381 map to G2",
        build_precompile_loop(inputs.BLS_MAP_TO_G2, inputs.bls_field(1, 2), 256),
        times=5,
    ),
    make_contract_case(
        "bls-g1-msm",
        "BLS12-381 multiplication in G1, one point",
        build_precompile_loop(inputs.BLS_G1_MSM, inputs.bls_g1_terms(1), 128),
        times=10,
    ),
    make_contract_case(
        "bls-g2-msm",
        "BLS12-381 multiplication in G2, one point",
        build_precompile_loop(inputs.BLS_G2_MSM, inputs.bls_g2_terms(1), 256),
        times=3,
    ),
)

CASES = (*TRANSACTIONS, *LOOPS, *PRECOMPILES, *WORST_CASES)

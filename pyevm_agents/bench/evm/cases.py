"""What the EVM's yardsticks do: what contracts do every day, and each precompile as it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth._utils.address import generate_contract_address

from pyevm_agents.bench.evm import precompile_inputs as inputs
from pyevm_agents.bench.evm.case import Ask, Case, address_of, contract
from pyevm_agents.bench.evm.worst_cases import WORST_CASES
from pyevm_agents.bench.measurement.assembly import calling, looped, number
from pyevm_agents.contracts import artifact
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS

if TYPE_CHECKING:
    from eth_typing import Address

HASHED_BYTES = 1_024

TRANSFERS, MOST_TRANSFERS = 100, 400
TRANSFER_GAS = 21_000
TOKEN_GAS = 60_000
TOKEN_SUPPLY = 10**24
TOKEN = generate_contract_address(DEVELOPMENT_ADDRESS, 0)


def _recipient(index: int) -> Address:
    return address_of(f"recipient {index}")


def _transfers(times: int) -> tuple[Ask, ...]:
    """Return transfers to so many accounts."""
    return tuple(Ask(to=_recipient(n), value_wei=1, gas=TRANSFER_GAS) for n in range(times))


def _token_transfers(times: int) -> tuple[Ask, ...]:
    """Return transfers of a token to so many accounts."""
    call = artifact("DemoToken").call
    return tuple(
        Ask(to=TOKEN, data=call("transfer", _recipient(index), 10**6), gas=TOKEN_GAS)
        for index in range(times)
    )


def _token_and_transfers(times: int) -> tuple[Ask, ...]:
    """Return the token's creation, and a first transfer to each of the accounts."""
    creation = artifact("DemoToken").creation("Dollar", "USD", 6, TOKEN_SUPPLY)
    return (Ask(to=None, data=creation), *_token_transfers(times))


TRANSACTIONS = (
    Case(
        name="transfer",
        title="plain transfer, to an account that is there",
        asks=_transfers,
        before=_transfers,
        times=TRANSFERS,
        most_times=MOST_TRANSFERS,
        is_whole=True,
        is_quick=True,
    ),
    Case(
        name="erc20",
        title="ERC-20 transfer, to an account that has some",
        asks=_token_transfers,
        before=_token_and_transfers,
        times=TRANSFERS,
        most_times=MOST_TRANSFERS,
        is_whole=True,
        is_quick=True,
    ),
)
"""Whole transactions, their signatures and the state's root included."""

LOOPS = (
    contract(
        "loop",
        "plain loop: x = 3x + i",
        looped("SWAP1 0x03 MUL DUP2 ADD SWAP1", before="0x01"),
        times=5_000,
        is_quick=True,
    ),
    contract(
        "keccak",
        "KECCAK256 of 1 KiB",
        looped(f"{number(HASHED_BYTES)} PUSH0 KECCAK256 POP", copies=10),
        times=400,
        is_quick=True,
    ),
    contract(
        "storage-fresh",
        "SSTORE to a slot that was empty",
        looped("DUP1 DUP1 SSTORE"),
        times=1_000,
        is_quick=True,
    ),
    contract(
        "storage-cold",
        "SSTORE to a cold slot that held something",
        # By the block's number, each block writes something else.
        looped("NUMBER DUP2 ADD DUP2 SSTORE"),
        times=1_000,
        before=lambda times: (Ask(to=address_of("storage-cold"), data=inputs.word(times)),),
        is_quick=True,
    ),
    contract(
        "storage-warm",
        "SSTORE to a slot that was just written",
        looped("GAS PUSH0 SSTORE", copies=10),
        times=200,
        is_quick=True,
    ),
    contract(
        "call",
        "CALL of an account without code",
        looped("PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 CALLER PUSH0 CALL POP"),
        times=2_000,
    ),
)

PRECOMPILES = (
    contract(
        "ecrecover",
        "ecrecover",
        calling(inputs.ECRECOVER, inputs.ecrecover(), 32),
        times=1_000,
        is_quick=True,
    ),
    contract(
        "sha256",
        "SHA-256 of 1 KiB",
        calling(inputs.SHA256, bytes(HASHED_BYTES), 32),
        times=2_000,
        is_quick=True,
    ),
    contract(
        "identity",
        "identity of 1 KiB",
        calling(inputs.IDENTITY, b"\x01" * HASHED_BYTES, HASHED_BYTES),
        times=2_000,
    ),
    contract(
        "modexp-rsa",
        "modexp: RSA-2048, exponent 65,537",
        calling(inputs.MODEXP, inputs.modexp(256, (65_537).to_bytes(3, "big"), 256), 256),
        times=1_000,
        is_quick=True,
    ),
    contract(
        "blake2f",
        "BLAKE2b, a block of 12 rounds",
        calling(inputs.BLAKE2F, inputs.blake2f(12), 64),
        times=2_000,
    ),
    contract(
        "bn128-add",
        "BN128 addition",
        calling(inputs.BN128_ADD, inputs.bn128_g1() + inputs.bn128_g1(2), 64),
        times=500,
    ),
    contract(
        "bn128-mul",
        "BN128 multiplication",
        calling(inputs.BN128_MUL, inputs.bn128_g1() + inputs.word(inputs.MAX_WORD), 64),
        times=20,
    ),
    contract(
        "bn128-pairing",
        "BN128 pairing check of 4 pairs, as of a Groth16 proof",
        calling(inputs.BN128_PAIRING, inputs.bn128_pairs(4), 32),
        times=1,
    ),
    contract(
        "point-evaluation",
        "KZG point evaluation",
        calling(inputs.POINT_EVALUATION, inputs.point_evaluation(), 64),
        times=100,
    ),
    contract(
        "bls-g1-add",
        "BLS12-381 addition in G1",
        calling(inputs.BLS_G1_ADD, inputs.bls_g1() + inputs.bls_g1(2), 128),
        times=300,
    ),
    contract(
        "bls-g2-add",
        "BLS12-381 addition in G2",
        calling(inputs.BLS_G2_ADD, inputs.bls_g2() + inputs.bls_g2(2), 256),
        times=200,
    ),
    contract(
        "bls-pairing",
        "BLS12-381 pairing check of 2 pairs, as of a signature",
        calling(inputs.BLS_PAIRING, inputs.bls_pairs(2), 32),
        times=1,
    ),
    contract(
        "bls-map-g1",
        "BLS12-381 map to G1",
        calling(inputs.BLS_MAP_TO_G1, inputs.bls_field(1), 128),
        times=20,
    ),
    contract(
        "bls-map-g2",
        "BLS12-381 map to G2",
        calling(inputs.BLS_MAP_TO_G2, inputs.bls_field(1, 2), 256),
        times=5,
    ),
    contract(
        "bls-g1-msm",
        "BLS12-381 multiplication in G1, one point",
        calling(inputs.BLS_G1_MSM, inputs.bls_g1_terms(1), 128),
        times=10,
    ),
    contract(
        "bls-g2-msm",
        "BLS12-381 multiplication in G2, one point",
        calling(inputs.BLS_G2_MSM, inputs.bls_g2_terms(1), 256),
        times=3,
    ),
)

CASES = (*TRANSACTIONS, *LOOPS, *PRECOMPILES, *WORST_CASES)

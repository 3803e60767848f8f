"""Operations that are slow for their gas on our VM: the worst of each kind in the search.

`worst_case_search.py` goes through all precompiles and opcodes. Its results on 22 November 2026
with py-evm 0.12.1b1, py-ecc 8.0.0 and CPython 3.11, in ns of CPU time per gas. The machine was
busy, which raises CPU times too: only the order and large ratios are reliable.

    29,000  one more pair in a BLS12-381 pairing check: 0.95 s for 32,600 gas, in Python, where each
            pair is raised to the final power by itself. 22,000 for a check of 4 pairs, 12,000 of 1.
    10,000  16 points of BLS12-381's G2, of which each is multiplied twice
     9,000  one pair of BN128; a map to BLS12-381's G2; a call that takes 1 MiB of memory with it
     5,600  16 points of BLS12-381's G1
     2,600  BN128 multiplication; BLS12-381 addition in G2
     1,500  a call without gas of code; BLAKE2b without rounds; CODECOPY of nothing
     1,000  powers of 8 or 16 bytes by exponents of 64, near the least price of 200
       600  opcodes for 2 gas, such as GAS; SLT, SAR, BYTE, SIGNEXTEND
       400  SDIV, MULMOD
       100  ecrecover; powers of the size of RSA are a third of it

The search does not cover jumps in code of PUSHes alone, which py-evm scans in each call. Our VM
scans a code once (`pyevm_agents.vm.jump_destinations`).
"""

from __future__ import annotations

from pyevm_agents.bench.evm import precompile_inputs as inputs
from pyevm_agents.bench.evm.case import make_contract_case
from pyevm_agents.bench.measurement.assembly import build_loop, build_precompile_call, format_push

MOST_PAIRS, MOST_POINTS = 96, 128
COPIED_BYTES = 2**20

WORST_CASES = (
    make_contract_case(
        "worst-bls-pairing",
        "one more pair in a BLS12-381 pairing check",
        build_precompile_call(inputs.BLS_PAIRING, inputs.bls_pairs(MOST_PAIRS), 384, 32),
        times=2,
        taken_off=1,
        most_times=MOST_PAIRS,
        is_worst_case=True,
        is_quick=True,
    ),
    make_contract_case(
        "worst-bn128-pairing",
        "BN128 pairing check of one pair",
        build_precompile_call(inputs.BN128_PAIRING, inputs.bn128_pairs(MOST_PAIRS), 192, 32),
        times=1,
        most_times=MOST_PAIRS,
        is_worst_case=True,
    ),
    make_contract_case(
        "worst-bls-g2-msm",
        "BLS12-381 multiplication in G2, 8 points",
        build_precompile_call(inputs.BLS_G2_MSM, inputs.bls_g2_terms(MOST_POINTS), 288, 256),
        times=8,
        most_times=MOST_POINTS,
        is_worst_case=True,
    ),
    # py-evm keeps the input of each call until the block is complete: 100 MiB here. With the gas of
    # a full block it would be hundreds of GiB.
    make_contract_case(
        "worst-call-memory",
        "STATICCALL with 1 MiB of memory",
        build_loop(f"PUSH0 PUSH0 {format_push(COPIED_BYTES)} PUSH0 CALLER PUSH0 STATICCALL POP"),
        times=100,
        taken_off=1,
        most_times=10_000,
        is_worst_case=True,
    ),
    make_contract_case(
        "worst-call",
        "CALL without gas of an account with code",
        build_loop("PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ADDRESS PUSH0 CALL POP"),
        times=1_000,
        is_worst_case=True,
        is_quick=True,
    ),
    make_contract_case(
        "worst-copy",
        "CODECOPY of nothing",
        build_loop("PUSH0 PUSH0 PUSH0 CODECOPY", copies=100),
        times=200,
        is_worst_case=True,
        is_quick=True,
    ),
)

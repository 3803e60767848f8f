"""Operations that are slow per gas on our VM: the worst of each kind in the search.

`worst_case_search.py` goes through all precompiles and opcodes. The results on 23 November 2026
with py-evm 0.12.1b1, py-arkworks-bls12381 0.5.0, zksnake 0.1.0 and CPython 3.11, in ns of CPU time
per gas. The machine was busy, which raises CPU times too: only the order and large ratios are
reliable.

     2,200  a call with 1 MiB of memory, up to 11,000 in some runs; BLAKE2b without rounds
     1,300  CODECOPY of nothing; 1,100 a call without gas of code
       600  powers of 8 bytes by exponents of 64, near the least price of 200
       500  BN254 addition
       360  opcodes for 2 gas, such as GAS
       300  BLS12-381 addition in G1, 250 in G2; SDIV
        90  BN254 multiplication; ecrecover; a map to BLS12-381's G1
        50  a point of BLS12-381's G2; 17 each of 16 points
        26  a pair of BN254 or BLS12-381

In Python, by py-evm's precompiles, a pair of BLS12-381 is 29,000: see `benchmarks.evm_precompiles`.

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
        times=64,
        taken_off=1,
        most_times=MOST_PAIRS,
        is_worst_case=True,
    ),
    make_contract_case(
        "worst-bn128-pairing",
        "one more pair in a BN128 pairing check",
        build_precompile_call(inputs.BN128_PAIRING, inputs.bn128_pairs(MOST_PAIRS), 192, 32),
        times=64,
        taken_off=1,
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
    make_contract_case(
        "worst-call-memory",
        "STATICCALL with 1 MiB of memory",
        build_loop(f"PUSH0 PUSH0 {format_push(COPIED_BYTES)} PUSH0 CALLER PUSH0 STATICCALL POP"),
        times=100,
        taken_off=1,
        most_times=10_000,
        is_worst_case=True,
        is_quick=True,
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

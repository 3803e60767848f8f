"""Whether llama.cpp lays a file's weights out anew (REPACK), which makes some read twice as fast.

A different layout is computed by different code, and gives other bits. So it is a part of a
model's fingerprint, and it follows from the file and the processor's architecture alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyevm_agents.models.llama.build_profile import profile_of

if TYPE_CHECKING:
    from collections.abc import Iterable


class WeightKind(NamedTuple):
    """What decides how llama.cpp multiplies by some weights."""

    type: str
    """As `ggml_type_name` has it, such as `q4_0`."""

    is_stack: bool = False
    """There are several matrices, as of experts: they are multiplied by code of their own."""


FASTER = frozenset({WeightKind("q4_0")})
"""Repacked on AVX2, faster for it, and the same bits in every shape."""

LEFT_ALONE = frozenset({"f32", "f16", "q4_1", "q5_0", "q8_0", "q6_K"})
"""Types that repacking does not touch on AVX2. `llama-quantize` writes a Q4_0 file's output as Q6_K
or Q8_0, and some of its weights as Q4_1 where it has an importance matrix."""


def is_repacked(kinds: Iterable[WeightKind], machine: str) -> bool:
    """Whether a file's weights are repacked: where that was measured to gain and to be invariant.

    Measured with `benchmarks/invariance.py` on x86-64-v3: Q4_0 reads prompts twice as fast,
    with equal bits whatever the batches, cuts and threads. Q4_K and Q3_K_M files (which have Q4_K
    in them) get other bits for one token than for several. Everything else computes the bits it
    computes without, at the same speed. Not measured, so not done: other architectures, other
    types, and experts.

    Source of what is repacked: ggml/src/ggml-cpu/repack.cpp, `ggml_repack_get_optimal_repack_type`.
    Q4_0's code for one row and that for four (arch/x86/repack.cpp, `gemv_q4_b32_8x8_q8_0_lut_avx`
    and `gemm_…`) add the same integers block by block, in the same order, in the same fused steps.

    Input:
        kinds: of all weights of the file.
        machine: the processor's architecture as Python names it, such as `x86_64`.
    """
    found = set(kinds)
    return (
        profile_of(machine) == "x86-64-v3"
        and not found.isdisjoint(FASTER)
        and all(kind in FASTER or kind.type in LEFT_ALONE for kind in found)
    )

"""Threads and weight layout of the engine on this CPU.

The number of threads changes the time, never the result. The layout does change it: where llama.cpp
lays a file's weights out anew (REPACK), some models are read twice as fast, by other code that
gives other bits. So the layout is a part of a model's fingerprint, and it follows from the file and
the processor's architecture alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.llama.build_profile import find_profile

if TYPE_CHECKING:
    from collections.abc import Iterable


MAX_THREADS = 512
"""More would abort. Source: ggml.h, `GGML_MAX_N_THREADS`."""

MAX_DEFAULT_THREADS = 4
"""Decoding waits for memory: a small model gains nothing from more than this many."""

CPU_DIRECTORY = Path("/sys/devices/system/cpu")


def resolve_threads(threads: int | None) -> int:
    """Return the number of threads asked for, or a sensible one.

    Raises:
        ConfigError: it is no whole number from 1 to `MAX_THREADS`.
    """
    if threads is None:
        return min(count_physical_cores(), MAX_DEFAULT_THREADS)
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise ConfigError(
            f"threads is {threads!r}; it must be a whole number from 1 to {MAX_THREADS}, or None "
            f"for {min(count_physical_cores(), MAX_DEFAULT_THREADS)}"
        )
    return threads


def count_physical_cores(directory: Path = CPU_DIRECTORY) -> int:
    """Return the cores that this process may use, hyperthreads not counted where Linux tells."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    cores: set[str] = set()
    for cpu in os.sched_getaffinity(0):
        try:
            cores.add(
                (directory / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text(
                    encoding="ascii"
                )
            )
        except OSError:
            cores.add(f"cpu{cpu}")
    return max(1, len(cores))


class WeightKind(NamedTuple):
    """What decides how llama.cpp multiplies by some weights."""

    type: str
    """As `ggml_type_name` has it, such as `q4_0`."""

    is_stack: bool = False
    """There are several matrices, as of experts: they are multiplied by code of their own."""


FASTER = frozenset({WeightKind("q4_0")})
"""Repacked on AVX2, faster for it, and the same bits in every shape."""

NOT_REPACKED = frozenset({"f32", "f16", "q4_1", "q5_0", "q8_0", "q6_K"})
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
    weight_kinds = set(kinds)
    return (
        find_profile(machine) == "x86-64-v3"
        and not weight_kinds.isdisjoint(FASTER)
        and all(kind in FASTER or kind.type in NOT_REPACKED for kind in weight_kinds)
    )

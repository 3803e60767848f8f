"""Threads and weight layout of the engine on this CPU.

The number of threads affects time only. The layout affects results: if llama.cpp repacks a file's
weights (REPACK), reading prompts is twice as fast with some models, by other code that gives
different bits. The layout is therefore part of a model's fingerprint, and depends only on the file
and the CPU architecture.
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
"""Maximum number of threads; more would abort. Source: ggml.h, `GGML_MAX_N_THREADS`."""

MAX_DEFAULT_THREADS = 4
"""Decoding is limited by memory bandwidth: a small model gains nothing from more threads."""

CPU_DIRECTORY = Path("/sys/devices/system/cpu")

NOT_REPACKED = frozenset({"f32", "f16", "q4_1", "q5_0", "q8_0", "q6_K"})
"""Types that repacking does not affect on AVX2. `llama-quantize` writes the output matrix of a Q4_0
file as Q6_K or Q8_0, and with an importance matrix some of its weights as Q4_1."""


class WeightKind(NamedTuple):
    """The properties of weights that determine how llama.cpp multiplies them."""

    type: str
    """Name by `ggml_type_name`, such as `q4_0`."""

    is_stack: bool = False
    """Whether it is a stack of matrices (experts), which llama.cpp multiplies by separate code."""


FASTER = frozenset({WeightKind("q4_0")})
"""Kinds repacked on AVX2: faster, with the same bits for every shape."""


def resolve_threads(threads: int | None) -> int:
    """Return the given number of threads, or the default.

    Raises:
        ConfigError: not an integer from 1 to `MAX_THREADS`.
    """
    if threads is None:
        return min(count_physical_cores(), MAX_DEFAULT_THREADS)
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise ConfigError(
            f"invalid threads {threads!r}: must be an integer from 1 to {MAX_THREADS}, or None "
            f"for {min(count_physical_cores(), MAX_DEFAULT_THREADS)}"
        )
    return threads


def count_physical_cores(directory: Path = CPU_DIRECTORY) -> int:
    """Return the number of cores available to this process, without hyperthreads where known."""
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


def is_repacked(kinds: Iterable[WeightKind], machine: str) -> bool:
    """Return whether a file's weights are repacked: only where that is faster and invariant.

    Measured with `benchmarks/invariance.py` on x86-64-v3: Q4_0 reads prompts twice as fast, with
    equal bits for all batches, splits and threads. Q4_K and Q3_K_M files (which contain Q4_K) get
    different bits for one token than for several. All other types compute the same bits at the same
    speed as without. Other architectures, types and experts were not measured, and are not
    repacked.

    Source of the repacked types: ggml/src/ggml-cpu/repack.cpp,
    `ggml_repack_get_optimal_repack_type`. The code of Q4_0 for one row and for four
    (arch/x86/repack.cpp, `gemv_q4_b32_8x8_q8_0_lut_avx` and `gemm_…`) adds the same integers block
    by block, in the same order, with the same fused operations.

    Input:
        kinds: kinds of all weights of the file.
        machine: CPU architecture as in Python, such as `x86_64`.
    """
    weight_kinds = set(kinds)
    return (
        find_profile(machine) == "x86-64-v3"
        and not weight_kinds.isdisjoint(FASTER)
        and all(kind in FASTER or kind.type in NOT_REPACKED for kind in weight_kinds)
    )

"""The canary: a hash of logits that shows whether compiler, libm or CPU compute other bits."""

from __future__ import annotations

import hashlib
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyevm_agents.models.llama.bindings import Llama
    from pyevm_agents.models.llama.context import LlamaContext

CANARY_TEXT = "Thought: deploy 10 USDC to addr1 (Größe, 量).\nAction: "
CANARY_SPLIT = (7, 1)
"""Tokens of the first pieces in the canary's second evaluation."""

CANARY_SINGLES = 8
"""Tokens at the end of the canary that its second evaluation evaluates one by one. A few pieces
reveal little, because activations are rounded to 8 bits before each product, which usually hides a
small difference. Source: `benchmarks/invariance.py`: with these pieces, 5 of 6 K-quantised files
reveal that their products are computed in tiles, with three pieces 3 of 6."""

PROCESSOR_LINES = (
    # x86
    *("vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags"),
    # ARM
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),
)
"""Lines of /proc/cpuinfo that tell processors apart; the others change by the second."""


def compute_logits_digest(logits: NDArray[np.float32]) -> str:
    """Return the SHA-256 of logits as little-endian float32, in hex."""
    return hashlib.sha256(logits.astype("<f4").tobytes()).hexdigest()


def compute_canary(llama: Llama, context: LlamaContext) -> str:
    """Return the digest of a fixed text's logits, which depends on compiler, libm, CPU and weights.

    Raises:
        ConfigError: the logits are not finite, or differ if the text is evaluated in pieces or
            after saving and restoring a prefix: generations would depend on earlier calls.
    """
    model = (
        f"architecture {llama.metadata('general.architecture')}, "
        f"file type {llama.metadata('general.file_type')}"
    )
    tokens = llama.tokenize(CANARY_TEXT, parse_special=False)
    context.forget()
    logits = context.evaluate(tokens)
    if not np.isfinite(logits).all():
        raise ConfigError(
            f"logits of the model ({model}) are not finite: its file is damaged, or its "
            "numbers overflow; check the file's SHA-256, or use another quantisation"
        )
    whole = compute_logits_digest(logits)
    context.forget()
    for end in _piece_ends(len(tokens)):
        logits = context.evaluate(tokens[:end])
    split = compute_logits_digest(logits)
    context.forget()
    context.evaluate(tokens[:-1])
    context.evaluate(tokens[-1:])
    restored = compute_logits_digest(context.evaluate(tokens))
    context.forget()
    if whole != split:
        raise ConfigError(
            f"This engine computes different bits for a text in one piece than in several with "
            f"this model ({model}): blocks would depend on earlier calls; use another quantisation"
        )
    if whole != restored:
        raise ConfigError(
            f"This engine computes different bits after restoring a saved prefix with this model "
            f"({model}): blocks would depend on earlier calls; pass prefix_cache_bytes=0, which "
            "disables saving"
        )
    return whole


def compute_hardware_digest(process: Path = Path("/proc")) -> str:
    """Return a digest of what a canary depends on beside the engine and the model.

    These are the processor, and the path, size and modification time of each library that this
    process has loaded (libm among them).

    Returns: hex; empty where the system has no /proc that tells, such as on macOS.
    """
    try:
        processor = (process / "cpuinfo").read_text()
        maps = (process / "self" / "maps").read_text()
    except (OSError, UnicodeDecodeError):
        return ""
    lines = {
        line for line in processor.splitlines() if line.partition(":")[0].strip() in PROCESSOR_LINES
    }
    if not lines:
        return ""
    for path in {line.split(maxsplit=5)[-1] for line in maps.splitlines() if ".so" in line}:
        try:
            status = Path(path).stat()
        except OSError:  # replaced since: its bits are unknown
            return ""
        lines.add(f"{path} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _piece_ends(count: int) -> list[int]:
    """Return the ends of the pieces in which `count` tokens are evaluated the second time."""
    singles = range(max(count - CANARY_SINGLES, 0), count + 1)
    return sorted({*accumulate(CANARY_SPLIT), *singles} & {*range(1, count + 1)})

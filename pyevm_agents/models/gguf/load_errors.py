"""Why llama.cpp did not load a file, from its own words, and what to do about it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN_REASON = "it gives no reason that is known here; download the file again, or name another"

REASONS: tuple[tuple[str, str], ...] = (
    (
        r"unknown model architecture: ''",
        "the file does not name its architecture; convert the model again",
    ),
    (
        r"unknown model architecture: '([^']+)'",
        "this version of llama.cpp does not know the architecture {0}; use another model",
    ),
    (
        (
            r"not within the file bounds|exceeds remaining file size|failed to read key|read error|"
            r"unexpectedly reached end"
        ),
        "the file is cut short or damaged; download it again",
    ),
    (
        r"insufficient memory|Cannot allocate memory|unable to allocate|failed to allocate",
        "there is not enough memory for it; use a smaller model or quantisation, or free memory",
    ),
    (
        r"tensor '([^']*)' not found|missing tensor '([^']*)'",
        "the file lacks the weights {0}, as one with a vocabulary alone does; name another",
    ),
    (
        r"key not found in model: (\S+)",
        "the file lacks the entry {0}; convert the model again, or name another",
    ),
    (
        r"does not exist in base model|has incorrect shape",
        "it was made for another model; name the one that it was made for, or leave it out",
    ),
    (
        r"wrong shape|wrong number of tensors|has invalid|failed to read",
        "the file is damaged, or was made for another version of llama.cpp; download it again",
    ),
)
"""What llama.cpp says, as a regular expression, and what that means. The first that fits."""


def explain_load_errors(words: Iterable[str]) -> str:
    """Return what llama.cpp's words mean, and what to do."""
    text = " ".join(words)
    for pattern, meaning in REASONS:
        match = re.search(pattern, text)
        if match is not None:
            return meaning.format(*(group for group in match.groups() if group is not None))
    return UNKNOWN_REASON


def describe_file(path: Path | str) -> str:
    """Return how an error names a file: with its size, where there is one."""
    try:
        size_bytes = Path(path).stat().st_size
    except OSError:
        return str(path)
    return f"{path} ({size_bytes:,} bytes)"

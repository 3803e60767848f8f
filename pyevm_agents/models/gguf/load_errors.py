"""Explanations of llama.cpp's errors on loading a file, and advice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN_REASON = "llama.cpp gives no known reason; download the file again, or pass another"

REASONS: tuple[tuple[str, str], ...] = (
    (
        r"unknown model architecture: ''",
        "the file does not specify its architecture; convert the model again",
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
        "the file is truncated or damaged; download it again",
    ),
    (
        r"insufficient memory|Cannot allocate memory|unable to allocate|failed to allocate",
        "there is not enough memory; use a smaller model or quantisation, or free memory",
    ),
    (
        r"tensor '([^']*)' not found|missing tensor '([^']*)'",
        "the file lacks the weights {0} (it may contain only a vocabulary); pass another",
    ),
    (
        r"key not found in model: (\S+)",
        "the file lacks the metadata entry {0}; convert the model again, or pass another",
    ),
    (
        r"does not exist in base model|has incorrect shape",
        "the adapter is for another model; pass the one for this model, or none",
    ),
    (
        r"wrong shape|wrong number of tensors|has invalid|failed to read",
        "the file is damaged, or for another version of llama.cpp; download it again",
    ),
)
"""Regular expressions of llama.cpp's errors and their explanations. The first match is used."""


def explain_load_errors(messages: Iterable[str]) -> str:
    """Return the explanation of llama.cpp's messages, with advice."""
    text = " ".join(messages)
    for pattern, meaning in REASONS:
        match = re.search(pattern, text)
        if match is not None:
            return meaning.format(*(group for group in match.groups() if group is not None))
    return UNKNOWN_REASON


def describe_file(path: Path | str) -> str:
    """Return a file's path for an error message, with the size if the file exists."""
    try:
        size_bytes = Path(path).stat().st_size
    except OSError:
        return str(path)
    return f"{path} ({size_bytes:,} bytes)"

"""Files of PyTorch: written as a whole or not at all, and read without running code of theirs."""

from __future__ import annotations

import io
import os
import pickle
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def save_file(path: Path, value: Mapping[str, Any]) -> None:
    """Write a file atomically."""
    unfinished = path.with_name(path.name + ".new")
    with unfinished.open("wb") as file:
        torch.save(dict(value), file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def load_file(path: Path) -> Any:  # noqa: ANN401 - what was saved
    """Read a file into the CPU's memory.

    Raises:
        OSError: the file can't be read.
        ValueError: the file is none of PyTorch's, or damaged.
    """
    data = path.read_bytes()
    try:
        return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, pickle.UnpicklingError, EOFError) as error:
        raise ValueError(str(error)) from error

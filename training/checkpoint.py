"""A training run on disk: all that it needs to go on as if it had not stopped."""

from __future__ import annotations

import io
import os
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = 1


class CheckpointError(Exception):
    """A checkpoint can't be read, or belongs to another run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A run between two steps."""

    step: int
    """Steps done."""

    elapsed_seconds: float
    adapter: Mapping[str, torch.Tensor]
    """Under the names of `Adapter.tensors`."""

    optimiser: Mapping[str, Any]
    random_state: torch.Tensor
    shaping: Mapping[str, object]
    """See `Options.shaping`."""

    base_sha256: str
    base_name: str
    base_licence: str
    data_sha256: str
    start_sha256: str = ""
    """Of the adapter's numbers that the run began with, where they were not new ones."""


def save(checkpoint: Checkpoint, path: Path) -> None:
    """Write a checkpoint; whoever reads the file finds the old one or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".new")
    with unfinished.open("wb") as file:
        torch.save({"format": FORMAT} | _fields(checkpoint), file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def _fields(checkpoint: Checkpoint) -> dict[str, Any]:
    return {name: getattr(checkpoint, name) for name in checkpoint.__slots__}


def load(path: Path) -> Checkpoint:
    """Read a checkpoint, its numbers into the CPU's memory.

    Raises:
        CheckpointError: there is none, or it is none of ours.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"There is no checkpoint {path}: {error.strerror}") from error
    try:
        found = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, pickle.UnpicklingError, EOFError) as error:
        raise CheckpointError(f"{path} is no checkpoint, or is damaged: {error}") from error
    if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
        raise CheckpointError(f"{path} is no checkpoint of format {FORMAT}; train anew")
    return Checkpoint(**found)

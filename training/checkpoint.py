"""Checkpoints: everything that a training run needs to resume as if it had not stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from training.torch_files import load_file, save_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import torch

FORMAT = 1


class CheckpointError(Exception):
    """A checkpoint can't be read, or belongs to another run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """State of a run between two steps."""

    step: int
    """Completed steps."""

    elapsed_seconds: float
    adapter: Mapping[str, torch.Tensor]
    """By the names of `Adapter.tensors`."""

    optimiser: Mapping[str, Any]
    random_state: torch.Tensor
    shaping: Mapping[str, object]
    """See `Options.shaping`."""

    base_sha256: str
    base_name: str
    base_licence: str
    data_sha256: str
    start_sha256: str = ""
    """SHA-256 of the initial adapter's numbers, if it was not new."""


def save(checkpoint: Checkpoint, path: Path) -> None:
    """Write a checkpoint atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(path, {"format": FORMAT} | _fields(checkpoint))


def _fields(checkpoint: Checkpoint) -> dict[str, Any]:
    return {name: getattr(checkpoint, name) for name in checkpoint.__slots__}


def load(path: Path) -> Checkpoint:
    """Read a checkpoint into the CPU's memory.

    Raises:
        CheckpointError: the file is missing, or not a checkpoint.
    """
    try:
        found = load_file(path)
    except OSError as error:
        raise CheckpointError(f"checkpoint {path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise CheckpointError(f"not a checkpoint, or damaged: {path}: {error}") from error
    if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
        raise CheckpointError(f"not a checkpoint of format {FORMAT}: {path}; train again")
    return Checkpoint(**found)

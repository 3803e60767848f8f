from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

import torch

from training import checkpoint
from training.checkpoint import Checkpoint, CheckpointError

if TYPE_CHECKING:
    from pathlib import Path

SAVED = Checkpoint(
    step=3,
    elapsed_seconds=1.5,
    adapter={"blk.0.attn_q.weight.lora_a": torch.arange(6.0).view(2, 3)},
    optimiser={"state": {0: {"step": torch.tensor(3.0)}}, "param_groups": []},
    random_state=torch.get_rng_state(),
    shaping={"layers": (0, 1), "decay": "linear", "alpha": 8.0},
    base_sha256="ab",
    base_name="Tiny",
    base_licence="cc0-1.0",
    data_sha256="cd",
)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "checkpoint.pt"
    checkpoint.save(SAVED, path)
    found = checkpoint.load(path)
    assert torch.equal(found.random_state, SAVED.random_state)
    assert found.adapter.keys() == SAVED.adapter.keys()
    for name in ("step", "elapsed_seconds", "shaping", "base_sha256", "start_sha256"):
        assert getattr(found, name) == getattr(SAVED, name)
    assert [file.name for file in path.parent.iterdir()] == ["checkpoint.pt"]


def test_a_write_that_fails_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint.pt"
    checkpoint.save(SAVED, path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save(dataclasses.replace(SAVED, step=4), path)
    assert checkpoint.load(path).step == 3


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    with pytest.raises(CheckpointError, match="can't be read: No such file"):
        checkpoint.load(path)
    path.write_text("no checkpoint")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        checkpoint.load(path)
    checkpoint.save(SAVED, path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(CheckpointError, match="not a checkpoint, or damaged"):
        checkpoint.load(path)
    torch.save({"format": 0}, path)
    with pytest.raises(CheckpointError, match="not a checkpoint of format 1"):
        checkpoint.load(path)

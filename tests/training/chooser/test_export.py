"""The command that exports a chooser, from a saved state to scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")

import torch

from pyevm_agents.models.chooser.chooser_file import open_chooser
from tests.tiny_chooser import HEADS, PIECES, make_state, write_tiny_chooser
from training.chooser.export import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", "utf-8")
    return path


def export(state: Path, vocabulary: Path, *options: str) -> int:
    out = state.with_suffix(".gguf")
    return main([str(state), str(vocabulary), str(out), "--heads", str(HEADS), *options])


def test_a_saved_state_is_exported(
    tmp_path: Path, vocabulary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tensors = {name: torch.from_numpy(np.array(each)) for name, each in make_state().items()}
    torch.save({"state": tensors, "config": {"seed": 7}}, tmp_path / "state.pt")
    assert export(tmp_path / "state.pt", vocabulary) == 0
    assert "state.gguf: " in capsys.readouterr().out
    expected = open_chooser(write_tiny_chooser(tmp_path / "tiny.gguf"))
    found = open_chooser(tmp_path / "state.gguf")
    assert found.score_moods(["pay alice"]) == expected.score_moods(["pay alice"])


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"tensors": {}}, "must have the keys state and config"),
        ({"state": {}, "config": {}}, "the state lacks encoder.embeddings.word_embeddings"),
    ],
)
def test_what_is_no_state_is_refused(
    tmp_path: Path,
    vocabulary: Path,
    capsys: pytest.CaptureFixture[str],
    saved: object,
    message: str,
) -> None:
    torch.save(saved, tmp_path / "state.pt")
    assert export(tmp_path / "state.pt", vocabulary) == 1
    assert message in capsys.readouterr().err
    assert export(tmp_path / "state.pt", vocabulary, "--frozen") == 1
    assert "can't be read as safetensors" in capsys.readouterr().err


def test_missing_and_foreign_files_are_refused(
    tmp_path: Path, vocabulary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(tmp_path / "absent.pt", vocabulary) == 1
    assert "absent.pt" in capsys.readouterr().err
    (tmp_path / "text.pt").write_text("no state")
    assert export(tmp_path / "text.pt", vocabulary) == 1
    assert "text.pt can't be read as a state" in capsys.readouterr().err

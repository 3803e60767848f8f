"""Scores of a chooser are compared between kernels and batches, and with those of integers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks.chooser_pairs import check_scores, hash_scores, main
from tests.tiny_chooser import write_tiny_chooser

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_scores_of_a_tiny_chooser_are_the_same_everywhere(tmp_path: Path) -> None:
    path, figures = write_tiny_chooser(tmp_path / "tiny.gguf"), tmp_path / "figures.json"
    assert main(["--count", "40", "--chooser", str(path), "--json", str(figures)]) == 0
    found = json.loads(figures.read_text())
    assert found["scores of integers"] > 0
    assert found["hash of scores"] == hash_scores(path, 40, 30, "other batches")


def test_other_scores_are_found(tmp_path: Path) -> None:
    path, other = (write_tiny_chooser(tmp_path / f"{seed}.gguf", seed) for seed in (1, 2))
    assert hash_scores(path, 9, 1, "") != hash_scores(other, 9, 1, "")
    with pytest.raises(ValueError, match="must be"):
        check_scores(path, other, 9, 1)

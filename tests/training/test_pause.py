"""A paused run waits, can be stopped meanwhile, and goes on as if it had not been paused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from training.pause import is_paused, main

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_is_paused_until_the_pause_ends(tmp_path: Path) -> None:
    assert not is_paused(tmp_path)
    for _ in range(2):
        assert main([str(tmp_path)]) == 0
        assert is_paused(tmp_path)
    for _ in range(2):
        assert main([str(tmp_path), "--end"]) == 0
        assert not is_paused(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("more", [(), ("--end",)])
def test_a_missing_folder_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    assert main([str(tmp_path / "none"), *more]) == 1
    assert capsys.readouterr().err == (
        f"no folder {tmp_path / 'none'}; pass the --out of a training run\n"
    )

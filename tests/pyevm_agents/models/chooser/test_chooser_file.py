"""A chooser's file: read as written, and refused in words if it is not one."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.chooser import chooser_file
from pyevm_agents.models.chooser.chooser_file import open_chooser
from pyevm_agents.models.gguf.files import HEADER
from pyevm_agents.models.gguf.header import read_header
from tests.tiny_chooser import HEADS, INNER, LATE_START, LAYERS, PIECES, WIDTH, write_tiny_chooser

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyevm_agents.models.gguf.header import GgufHeader

QUERY = "blk.0.attn_q"
KEPT = len(PIECES) - 6


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_chooser(tmp_path_factory.mktemp("chooser") / "tiny.gguf")


@pytest.fixture
def path(tmp_path: Path, written: Path) -> Path:
    return Path(shutil.copy(written, tmp_path / "chooser.gguf"))


def rewrite(
    path: Path,
    tensors: dict[str, NDArray[Any] | None] | None = None,
    facts: dict[str, Any] | None = None,
    architecture: str = "chooser",
) -> None:
    """Write a file anew with other tensors and entries; None removes one."""
    reader = gguf.GGUFReader(path)
    arrays = {each.name: np.array(each.data) for each in reader.tensors} | (tensors or {})
    entries = {
        name: field.contents()
        for name, field in reader.fields.items()
        if not name.startswith(("GGUF", "general"))
    }
    writer = gguf.GGUFWriter(path.with_name("new"), architecture)
    for name, value in (entries | (facts or {})).items():
        if isinstance(value, list):
            writer.add_array(name, value)
        elif isinstance(value, int):
            writer.add_int64(name, value)
        elif value is not None:
            writer.add_string(name, value)
    for name, array in arrays.items():
        if array is not None:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    path.with_name("new").replace(path)


def test_a_chooser_is_read_as_written(path: Path) -> None:
    chooser = open_chooser(path)
    assert chooser.digest == hashlib.sha256(path.read_bytes()).digest()
    weights = chooser._weights  # noqa: SLF001 - what was read
    encoder = weights.encoder
    assert (encoder.words.shape, encoder.positions.shape) == ((KEPT, WIDTH), (227, WIDTH))
    assert (len(encoder.layers), encoder.heads) == (LAYERS, HEADS)
    assert encoder.layers[0].projection.weights.shape == (WIDTH, 3 * WIDTH)
    assert encoder.layers[1].up.weights.shape == (WIDTH, INNER)
    assert weights.late_start == LATE_START * 2**24
    stored = {each.name: each.data for each in gguf.GGUFReader(path).tensors}
    up, key = encoder.layers[1].up, encoder.layers[1].projection
    assert np.array_equal(up.weights.T, stored["blk.1.ffn_up.weight"])
    assert np.array_equal(up.scales, stored["blk.1.ffn_up.scale"])
    assert np.array_equal(key.biases[WIDTH : 2 * WIDTH], stored["blk.1.attn_k.bias"])
    assert np.array_equal(weights.call.outer.weights.T, stored["call.1.weight"])


def test_a_file_written_anew_has_the_same_scores(path: Path) -> None:
    before = open_chooser(path)
    rewrite(path)
    after = open_chooser(path)
    assert after.digest != before.digest
    assert after.score_moods(["pay alice"]) == before.score_moods(["pay alice"])


def set_first(name: str, number: int) -> Any:  # noqa: ANN401 - a change of a file
    def change(path: Path) -> dict[str, NDArray[Any]]:
        (found,) = [x.data for x in gguf.GGUFReader(path).tensors if x.name == name]
        found = np.array(found)
        found.flat[0] = number
        return {name: found}

    return change


@pytest.mark.parametrize(
    ("name", "number", "message"),
    [
        (f"{QUERY}.weight", -128, "has -128: must be -127 to 127"),
        ("token_embd.weight", -128, "has -128: must be -127 to 127"),
        (f"{QUERY}.scale", -1, "has -1: must be 0 to 16,777,215"),
        (f"{QUERY}.scale", 2**24, "has 16,777,216: must be 0 to 16,777,215"),
        ("position_embd.scale", 2**24, "has 16,777,216: must be"),
        (f"{QUERY}.bias", 2**26, "has 67,108,864: must be -67,108,863 to 67,108,863"),
        ("mood.1.bias", -(2**26), "has -67,108,864: must be"),
        ("token_embd_norm.weight", 2**26, "has 67,108,864: must be"),
        ("blk.1.layer_output_norm.bias", -(2**31), "has -2,147,483,648: must be"),
    ],
)
def test_a_number_out_of_range_is_refused_at_its_edge(
    path: Path, name: str, number: int, message: str
) -> None:
    inside = number + (1 if number < 0 else -1)
    rewrite(path, set_first(name, max(inside, 1 - 2**26))(path))
    open_chooser(path).score_moods(["pay alice"])
    rewrite(path, set_first(name, number)(path))
    with pytest.raises(ConfigError, match=f"tensor '{re.escape(name)}' {message}.*download it"):
        open_chooser(path)


def zeros(*shape: int, kind: Any = np.int8) -> NDArray[Any]:  # noqa: ANN401 - a type of numbers
    return np.zeros(shape, kind)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({f"{QUERY}.weight": None}, f"missing tensor '{QUERY}.weight'"),
        ({"token_embd.weight": None}, "missing tensor 'token_embd.weight'"),
        ({"call.1.bias": None}, "missing tensor 'call.1.bias'"),
        ({"blk.2.attn_q.weight": zeros(16, 16)}, "unknown tensor 'blk.2.attn_q.weight'"),
        (
            {f"{QUERY}.weight": zeros(16, 17)},
            f"tensor '{QUERY}.weight' has the shape [17, 16]: must be [16, 16]",
        ),
        ({f"{QUERY}.scale": zeros(17, kind=np.int32)}, "has the shape [17]: must be [16]"),
        ({"blk.1.ffn_up.weight": zeros(25, 16)}, "has the shape [16, 25]: must be [16, 24]"),
        ({"position_embd.weight": zeros(226, 16)}, "has the shape [16, 226]: must be [16, 227]"),
        ({"token_embd.weight": zeros(KEPT - 1, 16)}, f"must be [16, {KEPT}]"),
        ({"token_embd.weight": zeros(KEPT, 513)}, "has the shape [513, "),
        ({"token_embd.weight": zeros(KEPT)}, "must have 2 dimensions, number 0 from 1 to 512"),
        ({"blk.0.ffn_up.weight": zeros(2049, 16)}, "number 1 from 1 to 2,048"),
        ({"mood.0.weight": zeros(2049, 32)}, "number 1 from 1 to 2,048"),
        (
            {f"{QUERY}.scale": np.full(16, np.nan, np.float32)},
            f"tensor '{QUERY}.scale' has the ggml type 0: must be I32",
        ),
        ({f"{QUERY}.weight": zeros(16, 16, kind=np.int32)}, "has the ggml type 26: must be I8"),
        ({f"{QUERY}.bias": zeros(16)}, "has the ggml type 24: must be I32"),
        ({"mood.0.bias": zeros(6, kind=np.int64)}, "has the ggml type 27: must be I32"),
    ],
)
def test_tensors_that_no_chooser_has_are_refused(
    path: Path, tensors: dict[str, NDArray[Any] | None], message: str
) -> None:
    rewrite(path, tensors)
    with pytest.raises(ConfigError, match=re.escape(message)):
        open_chooser(path)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"chooser.version": None}, "chooser.version is None: must be 1"),
        ({"chooser.version": 2}, "chooser.version is 2: must be 1"),
        ({"chooser.version": "1"}, "chooser.version is 1: must be 1"),
        ({"chooser.layers": 0}, "chooser.layers is 0: must be a whole number from 1 to 24"),
        ({"chooser.layers": 25}, "chooser.layers is 25: must be a whole number from 1 to 24"),
        ({"chooser.layers": 1}, "unknown tensor 'blk.1.attn_k.bias'"),
        ({"chooser.layers": 3}, "missing tensor 'blk.2.attn_q.weight'"),
        ({"chooser.heads": 3}, "chooser.heads is 3: must divide the width 16 into at most 128"),
        ({"chooser.heads": 17}, "chooser.heads is 17: must be a whole number from 1 to 16"),
        ({"chooser.late_start": 2**24 + 1}, "from -16,777,216 to 16,777,216"),
        ({"tokenizer.ggml.tokens": None}, "missing metadata entry 'tokenizer.ggml.tokens'"),
        ({"tokenizer.ggml.tokens": [1, 2]}, "must have texts that are not empty, each once"),
        ({"tokenizer.ggml.tokens": ["a", ""]}, "must have texts that are not empty, each once"),
        ({"tokenizer.ggml.tokens": ["a", "a"]}, "must have texts that are not empty, each once"),
        ({"tokenizer.ggml.tokens": ["[UNK]", "[CLS]"]}, "tokenizer.ggml.tokens lacks [SEP]"),
        ({"general.alignment": 0}, "general.alignment is 0: must be a positive number"),
    ],
)
def test_entries_that_no_chooser_has_are_refused(
    path: Path, facts: dict[str, Any], message: str
) -> None:
    rewrite(path, facts=facts)
    with pytest.raises(ConfigError, match=re.escape(message)):
        open_chooser(path)


def test_another_models_file_is_refused(path: Path) -> None:
    rewrite(path, architecture="llama")
    with pytest.raises(ConfigError, match=r"architecture is 'llama': must be 'chooser'"):
        open_chooser(path)


def test_a_file_that_is_too_large_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size_bytes = path.stat().st_size
    monkeypatch.setattr(chooser_file, "MAX_BYTES", size_bytes)
    open_chooser(path)
    monkeypatch.setattr(chooser_file, "MAX_BYTES", size_bytes - 1)
    with pytest.raises(ConfigError, match=f"must have at most {size_bytes - 1:,} bytes"):
        open_chooser(path)


def test_heads_that_are_too_wide_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser_file, "MAX_HEAD_WIDTH", WIDTH // HEADS)
    open_chooser(path)
    monkeypatch.setattr(chooser_file, "MAX_HEAD_WIDTH", WIDTH // HEADS - 1)
    with pytest.raises(ConfigError, match="must divide the width 16 into at most 7 each"):
        open_chooser(path)


def test_a_file_that_changes_while_it_is_read_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_and_change(changed: Path) -> GgufHeader:
        header = read_header(changed)
        changed.write_bytes(changed.read_bytes() + bytes(1))
        return header

    monkeypatch.setattr(chooser_file, "read_header", read_and_change)
    with pytest.raises(ConfigError, match="changed while it was read; try again"):
        open_chooser(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"chooser file .* does not exist; check its path"):
        open_chooser(tmp_path / "absent.gguf")


def test_two_tensors_of_one_name_are_refused(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace(b"blk.0.attn_k.bias", b"blk.0.attn_q.bias", 1))
    with pytest.raises(ConfigError, match="two tensors have the same name"):
        open_chooser(path)


@given(st.data())
def test_a_cut_or_altered_file_is_read_or_refused_in_words(
    written: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(written.read_bytes())
    path = tmp_path_factory.getbasetemp() / "altered.gguf"
    end = data.draw(st.integers(0, len(content)))
    place = data.draw(st.integers(0, len(content) - 9) | st.integers(0, 6_000))
    content[place : place + 8] = data.draw(st.binary(min_size=8, max_size=8))
    path.write_bytes(content[:end] if data.draw(st.booleans()) else content)
    try:
        chooser = open_chooser(path)
    except ConfigError as error:
        assert str(path) in str(error)  # noqa: PT017 - either is right
    else:
        assert isinstance(chooser.score_moods(["pay alice"])[0], int)


def test_every_cut_of_the_header_is_refused(written: Path, path: Path) -> None:
    content = written.read_bytes()
    for end in (*range(0, HEADER.size + 400, 7), len(content) - 29, len(content) // 2):
        path.write_bytes(content[:end])
        with pytest.raises(ConfigError, match=re.escape(str(path))):
            open_chooser(path)

"""Reading of GGUF headers, and rejection of truncated ones."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.adapters import adapter_bytes
from pyevm_agents.models.gguf.files import HEADER, find_default_model
from pyevm_agents.models.gguf.header import (
    MetadataEntry,
    TensorInfo,
    read_arrays,
    read_first_entries,
    read_header,
)

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b")
SMALL = adapter_bytes(
    {name: np.zeros(shape, dtype=np.float32) for name, shape in zip(NAMES, [(2, 5), (3, 2)])},  # noqa: B905 - two of each
    changes={"general.name": "größer", "some.number": 7},
)


def test_the_default_models_front() -> None:
    front = read_header(find_default_model())
    assert front.get_text("general.architecture") == "llama"
    assert front.entries["llama.block_count"] == MetadataEntry(4, 30)
    assert front.entries["tokenizer.ggml.tokens"] == MetadataEntry(9, None)
    assert front.get_text("llama.block_count") == front.get_text("absent") == ""
    assert len(front.tensors) == 272
    assert TensorInfo("blk.29.ffn_down.weight", 3, (1536, 576)) in front.tensors
    assert read_first_entries(find_default_model())["general.type"].value == "model"


def test_an_adapters_front(tmp_path: Path) -> None:
    path = tmp_path / "adapter.gguf"
    path.write_bytes(SMALL)
    front = read_header(path)
    assert (front.get_text("general.name"), front.entries["some.number"].value) == ("größer", 7)
    assert front.entries["adapter.lora.alpha"] == MetadataEntry(6, 16.0)
    assert front.tensors == (TensorInfo(NAMES[0], 1, (5, 2)), TensorInfo(NAMES[1], 1, (2, 3)))
    assert read_first_entries(path) == front.entries


def test_the_default_models_vocabulary() -> None:
    keys = ["tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.merges"]
    tokens, kinds, merges = read_arrays(find_default_model(), keys).values()
    assert (len(tokens), len(kinds), len(merges)) == (49_152, 49_152, 48_900)
    assert tokens[:3] == ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    assert (kinds.count(1), kinds.count(3)) == (49_135, 17)
    assert merges[0] == "Ġ t"


def test_an_array_that_is_none_or_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="missing metadata entry 'absent'"):
        read_arrays(find_default_model(), ["tokenizer.ggml.merges", "absent"])
    with pytest.raises(ValueError, match=r"metadata entry 'general\.name' is not an array"):
        read_arrays(find_default_model(), ["general.name"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER.pack(b"GGUF", 3, 0, 2), "ends inside the item at byte 24"),
        (HEADER.pack(b"GGUF", 3, 0, 1) + (2**63).to_bytes(8, "little"), "ends inside"),
        (HEADER.pack(b"GGUF", 3, 0, 1) + bytes(8) + b"\x63\0\0\0", "the unknown type 99"),
        (
            HEADER.pack(b"GGUF", 3, 0, 1) + bytes(8) + b"\x09\0\0\0" + b"\x09\0\0\0" + bytes(8),
            "array at byte 48 has the unknown type 9",
        ),
        (HEADER.pack(b"GGUF", 3, 1, 0) + bytes(8) + b"\x05\0\0\0", "has 5 dimensions"),
    ],
)
def test_what_is_not_whole_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file.gguf"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_header(path)
    assert read_first_entries(path) == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    position=st.integers(HEADER.size, len(SMALL) - 1), byte=st.integers(0, 255), cut=st.booleans()
)
def test_nothing_but_a_value_error_comes_of_damage(
    tmp_path: Path, position: int, byte: int, *, cut: bool
) -> None:
    content = bytearray(SMALL)
    content[position] = byte
    path = tmp_path / "file.gguf"
    path.write_bytes(content[:position] if cut else content)
    with suppress(ValueError):
        read_header(path)
    read_first_entries(path)

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

import numpy as np
import torch

from tests.training.tiny_base import random_tensors, write_base
from training.gguf_weights import WeightsError, read_adapter, read_base

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_gives_its_numbers_and_sizes(tmp_path: Path) -> None:
    path = write_base(tmp_path / "tiny.gguf")
    weights = read_base(path)
    shape = weights.shape
    assert (shape.layers, shape.width, shape.feed_forward, shape.vocabulary_tokens) == (
        3,
        64,
        96,
        60,
    )
    assert (shape.heads, shape.kv_heads, shape.head_width) == (4, 2, 16)
    assert shape.rope_base == 10_000.0
    assert shape.norm_epsilon == pytest.approx(1e-5)
    assert (weights.name, weights.licence) == ("Tiny", "cc0-1.0")
    assert weights.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    for name, tensor in random_tensors().items():
        assert np.array_equal(weights.tensors[name].numpy(), tensor)
    assert weights.output is weights.tensors["token_embd.weight"]


def test_an_output_matrix_of_its_own_is_used(tmp_path: Path) -> None:
    tensors = random_tensors()
    tensors["output.weight"] = 2 * tensors["token_embd.weight"]
    weights = read_base(write_base(tmp_path / "tiny.gguf", tensors=tensors))
    assert torch.equal(weights.output, 2 * weights.tensors["token_embd.weight"])


def test_what_the_forward_pass_does_not_compute_is_refused(tmp_path: Path) -> None:
    biased = random_tensors() | {"blk.0.attn_q.bias": np.zeros(64, dtype=np.float32)}
    with pytest.raises(WeightsError, match=r"'blk\.0\.attn_q\.bias', which"):
        read_base(write_base(tmp_path / "biased.gguf", tensors=biased))
    with pytest.raises(WeightsError, match="architecture 'qwen2'"):
        read_base(write_base(tmp_path / "other.gguf", architecture="qwen2"))
    with pytest.raises(WeightsError, match=r"scales rope \(yarn\)"):
        read_base(write_base(tmp_path / "scaled.gguf", rope_scaling="yarn"))


@pytest.mark.parametrize("missing", ["token_embd.weight", "blk.1.ffn_up.weight"])
def test_a_file_without_a_tensor_is_refused(tmp_path: Path, missing: str) -> None:
    tensors = random_tensors()
    del tensors[missing]
    with pytest.raises(WeightsError, match=f"lacks the tensor '{missing}'"):
        read_base(write_base(tmp_path / "tiny.gguf", tensors=tensors))


def test_what_is_no_gguf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="can't be read as GGUF"):
        read_base(tmp_path / "none.gguf")
    (tmp_path / "text.gguf").write_text("no model, but a text of some length")
    with pytest.raises(WeightsError, match="can't be read as GGUF"):
        read_base(tmp_path / "text.gguf")


def test_a_file_without_an_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no matrices of an adapter; pass another --start"):
        read_adapter(write_base(tmp_path / "tiny.gguf"))
    (tmp_path / "text.gguf").write_text("no model, but a text of some length")
    for name in ("text.gguf", "none.gguf"):
        with pytest.raises(WeightsError, match=r"can't be read: .*; pass another --start"):
            read_adapter(tmp_path / name)

from __future__ import annotations

from dataclasses import replace

import pytest

from pyevm_agents.bench.inference.model_shapes import (
    SHAPES,
    count_shape_parameters,
    count_tensor_bytes,
    list_tensors,
)
from pyevm_agents.errors import ConfigError
from tests.pyevm_agents.bench.tiny_model import TINY


def test_the_published_models_have_as_many_parameters() -> None:
    """Source: the counts of Qwen/Qwen2-0.5B's and Qwen2-1.5B's safetensors."""
    assert [count_shape_parameters(shape) for shape in SHAPES] == [494_032_768, 1_543_714_304]


def test_files_are_as_large_as_published_ones() -> None:
    """Q4_K_M files of these models have 398 and 986 million bytes, 6 of them the vocabulary."""
    assert [count_tensor_bytes(shape) for shape in SHAPES] == [391_859_712, 980_097_536]


def test_shapes_of_the_half_billion() -> None:
    by_name = {one.name: one for one in list_tensors(SHAPES[0])}
    assert len(by_name) == 2 + 24 * 12
    rows_and_columns = {
        "token_embd.weight": (151_936, 896, "Q8_0"),
        "blk.0.attn_q.weight": (896, 896, "Q5_0"),
        "blk.0.attn_q.bias": (1, 896, "F32"),
        "blk.3.attn_k.weight": (128, 896, "Q5_0"),
        "blk.0.attn_v.weight": (128, 896, "Q8_0"),
        "blk.3.attn_v.weight": (128, 896, "Q5_0"),
        "blk.3.ffn_gate.weight": (4_864, 896, "Q5_0"),
        "blk.0.ffn_down.weight": (896, 4_864, "Q6_K"),
        "blk.3.ffn_down.weight": (896, 4_864, "Q4_K"),
    }
    for name, (rows, columns, kind) in rows_and_columns.items():
        found = by_name[name]
        assert (found.rows, found.columns, found.kind.name) == (rows, columns, kind), name


def test_a_width_that_no_blocks_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="has 100 numbers: Q4_K_M wants a multiple of 32"):
        list_tensors(replace(TINY, width=100))

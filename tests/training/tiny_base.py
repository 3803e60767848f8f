"""A llama with random weights, small enough to train within a test, and data for it."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import gguf
import numpy as np
import torch

from training.gguf_weights import LAYER_NORMS, BaseWeights, read_base, tensor_name
from training.lora import Adapter, LoraPair, LoraShape, new_adapter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

LAYERS, WIDTH, FEED_FORWARD, HEADS, KV_HEADS, VOCABULARY = 3, 64, 96, 4, 2, 60
KV_WIDTH = WIDTH // HEADS * KV_HEADS
CPU = torch.device("cpu")

MATRICES = {
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (KV_WIDTH, WIDTH),
    "attn_v": (KV_WIDTH, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (FEED_FORWARD, WIDTH),
    "ffn_up": (FEED_FORWARD, WIDTH),
    "ffn_down": (WIDTH, FEED_FORWARD),
}


def random_tensors() -> dict[str, NDArray[np.float32]]:
    """Return all tensors of the tiny base."""
    numbers = np.random.default_rng(7)
    tensors = {
        "token_embd.weight": numbers.normal(size=(VOCABULARY, WIDTH)),
        "output_norm.weight": numbers.uniform(0.5, 1.5, size=WIDTH),
    }
    for layer in range(LAYERS):
        for part, shape in MATRICES.items():
            tensors[tensor_name(layer, part)] = numbers.normal(size=shape) * 0.15
        for part in LAYER_NORMS:
            tensors[tensor_name(layer, part)] = numbers.uniform(0.5, 1.5, size=WIDTH)
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def write_base(
    path: Path,
    *,
    architecture: str = "llama",
    tensors: Mapping[str, NDArray[np.float32]] | None = None,
    rope_scaling: str = "",
) -> Path:
    """Write the tiny base as a GGUF file."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("Tiny")
    writer.add_license("cc0-1.0")
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    if rope_scaling:
        writer.add_string("llama.rope.scaling.type", rope_scaling)
    for name, tensor in (random_tensors() if tensors is None else tensors).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tiny_base(folder: Path) -> BaseWeights:
    """Return the tiny base, read from its file."""
    return read_base(write_base(folder / "tiny.gguf"))


def busy_adapter(weights: BaseWeights, *, layers: tuple[int, ...] = (1, 2)) -> Adapter:
    """Return an adapter that changes its base's output."""
    adapter = new_adapter(weights, LoraShape(rank=4, alpha=8.0, layers=layers), 1, CPU)
    generator = torch.Generator().manual_seed(5)
    pairs = {
        name: LoraPair(
            pair.a, (torch.randn(pair.b.shape, generator=generator) * 0.1).requires_grad_()
        )
        for name, pair in adapter.pairs.items()
    }
    return Adapter(shape=adapter.shape, pairs=pairs)


def write_data(path: Path, *, groups: int = 6, seed: int = 1) -> Path:
    """Write groups whose requests repeat a text, which can be learned."""
    numbers = np.random.default_rng(seed)

    def tokens(count: int) -> list[int]:
        return [int(token) for token in numbers.integers(0, VOCABULARY, count)]

    rows = []
    for _ in range(groups):
        requests = []
        for length in (3, 5, 3):
            said = tokens(length)
            requests.append({"tokens": said + said, "learn": [0] * length + [1] * length})
        rows.append({"system": tokens(9), "requests": requests})
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode(), mtime=0))
    return path

"""LoRA adapters of random weights, to measure their cost and to test that they preserve the bits.

They have the form of a trained adapter and change the model's output, which then makes no sense.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.gguf.header import FLOAT32, STRING, read_header

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

LINEAR_LAYERS = (
    "attn_q",
    "attn_k",
    "attn_v",
    "attn_output",
    "ffn_gate",
    "ffn_up",
    "ffn_down",
)
"""The matrices of a layer of the llama architecture."""

RANK = 16
KINDS = {"F32": 0, "F16": 1, "Q8_0": 8}
"""ggml's types of numbers by name."""

BLOCK = 32
"""Numbers of Q8_0 that share a scale. Source: ggml-common.h, `QK8_0`."""

STRENGTH = 0.05
"""Standard deviation of B's numbers: the adapter changes the text but does not destroy it."""

ALIGNMENT = 32
SEED = 23


def write_random_adapter(  # noqa: PLR0913 - each by name, with its default
    like: Path,
    target: Path,
    *,
    kind: str = "F16",
    rank: int = RANK,
    parts: tuple[str, ...] = LINEAR_LAYERS,
    first_layer: int = 0,
) -> Path:
    """Write an adapter for a model file unless it exists; return its path.

    Input:
        kind: a key of `KINDS`; Q8_0 takes ranks that 32 divides.
        parts: the adapted matrices of each layer.
        first_layer: the lowest adapted layer.
    """
    if target.is_file():
        return target
    chance = np.random.default_rng(SEED)
    tensors: dict[str, NDArray[np.float32]] = {}
    for base in read_header(like).tensors:
        if not base.name.startswith("blk."):
            continue
        _, layer, part, _ = base.name.split(".")
        if part not in parts or int(layer) < first_layer:
            continue
        inner, outer = base.shape
        down = chance.standard_normal((rank, inner), dtype=np.float32)
        up = chance.standard_normal((outer, rank), dtype=np.float32)
        tensors[f"{base.name}.lora_a"] = down * np.float32(inner**-0.5)
        tensors[f"{base.name}.lora_b"] = up * np.float32(STRENGTH)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".part")
    partial.write_bytes(adapter_bytes(tensors, kind=kind, alpha=float(rank)))
    partial.rename(target)
    return target


def adapter_bytes(
    tensors: Mapping[str, NDArray[np.float32]],
    *,
    kind: str = "F16",
    alpha: object = float(RANK),
    changes: Mapping[str, object] | None = None,
) -> bytes:
    """Return the bytes of an adapter's file.

    Input:
        tensors: matrices by name, a row for each output.
        alpha: the addend is scaled by alpha / rank.
        changes: other entries; None leaves an entry out.
    """
    entries: dict[str, object] = {
        "general.type": "adapter",
        "general.architecture": "llama",
        "adapter.type": "lora",
        "adapter.lora.alpha": alpha,
        **(changes or {}),
    }
    kept = {key: value for key, value in entries.items() if value is not None}
    head = bytearray(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(kept)))
    for key, value in kept.items():
        head += _text(key) + _entry(value)
    body = bytearray()
    for name, values in tensors.items():
        shape = values.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", KINDS[kind], len(body))
        body += _numbers(values, kind)
        body += bytes(-len(body) % ALIGNMENT)
    return bytes(head) + bytes(-len(head) % ALIGNMENT) + bytes(body)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _entry(value: object) -> bytes:
    """Return the type and bytes of an entry: a text, a float32, or an integer."""
    if isinstance(value, str):
        return struct.pack("<I", STRING) + _text(value)
    if isinstance(value, float):
        return struct.pack("<If", FLOAT32, value)
    return struct.pack("<II", 4, value)


def _numbers(values: NDArray[np.float32], kind: str) -> bytes:
    if kind == "F32":
        return values.astype("<f4").tobytes()
    if kind == "F16":
        return values.astype("<f2").tobytes()
    blocks = values.reshape(-1, BLOCK)
    scales = np.abs(blocks).max(axis=1, keepdims=True) / 127
    rounded = np.rint(blocks / np.where(scales == 0, 1, scales)).astype(np.int8)
    rows = [
        scale.astype("<f2").tobytes() + row.tobytes()
        for scale, row in zip(scales[:, 0], rounded, strict=True)
    ]
    return b"".join(rows)

"""Model files in other quantisations, made with llama.cpp's own quantiser.

Two sources: the default model, which is quantised already and loses a little more (which does not
matter here), and a file with random weights whose widths are multiples of 256, as K-quants require.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import llama_cpp
import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

FILE_TYPES = {
    "F16": llama_cpp.LLAMA_FTYPE_MOSTLY_F16,
    "Q8_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0,
    "Q4_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0,
    "Q4_1": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_1,
    "Q5_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q5_0,
    "Q3_K_M": llama_cpp.LLAMA_FTYPE_MOSTLY_Q3_K_M,
    "Q4_K_M": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_K_M,
    "Q6_K": llama_cpp.LLAMA_FTYPE_MOSTLY_Q6_K,
    "IQ4_XS": llama_cpp.LLAMA_FTYPE_MOSTLY_IQ4_XS,
}
"""Quantisations by the name of llama.cpp's tools."""

WIDTH, INNER, LAYERS, HEADS, KV_HEADS = 256, 512, 2, 4, 2
"""The random model: like the default one, but small and with widths that K-quants divide."""

SEED = 19
ALIGNMENT = 32
UINT32, FLOAT32, STRING, ARRAY = 4, 6, 8, 9
F32, F16 = 0, 1
SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""GGUF's type of a metadata value to its size. Source: ggml/include/gguf.h, `gguf_type`."""


class QuantiserError(Exception):
    """llama.cpp's quantiser failed."""


def quantise(source: Path, target: Path, quantisation: str, *, layers: int = 0) -> Path:
    """Write a model file in another quantisation unless it exists; return its path.

    Input:
        layers: number of first layers to keep; 0 for all.

    Raises:
        QuantiserError: the quantiser fails.
    """
    if target.is_file():
        return target
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = FILE_TYPES[quantisation]
    parameters.allow_requantize = True
    total = block_count(source)
    pruned = list(range(layers, total)) if layers else []
    indices = (ctypes.c_int32 * (len(pruned) + 1))(*pruned, -1)
    if pruned:
        parameters.prune_layers = ctypes.cast(indices, ctypes.POINTER(ctypes.c_int32))
    partial = target.with_suffix(".part")
    status = llama_cpp.llama_model_quantize(
        str(source).encode(), str(partial).encode(), ctypes.byref(parameters)
    )
    if status != 0:
        raise QuantiserError(
            f"llama.cpp's quantiser returned {status} for {source.name} as {quantisation}"
        )
    partial.rename(target)
    return target


@dataclass(frozen=True, slots=True)
class Entry:
    """A value of a GGUF file's metadata, as its bytes."""

    kind: int
    data: bytes


def metadata_of(path: Path) -> dict[str, Entry]:
    """Return the metadata of a GGUF file."""
    content = path.read_bytes()
    _, _, _, count = struct.unpack_from("<4sIQQ", content)
    position = struct.calcsize("<4sIQQ")
    entries: dict[str, Entry] = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<Q", content, position)
        key = content[position + 8 : position + 8 + length].decode()
        position += 8 + length
        (kind,) = struct.unpack_from("<I", content, position)
        end = _end_of_value(content, position + 4, kind)
        entries[key] = Entry(kind, content[position + 4 : end])
        position = end
    return entries


def _end_of_value(content: bytes, position: int, kind: int) -> int:
    if kind == STRING:
        (length,) = struct.unpack_from("<Q", content, position)
        return position + 8 + int(length)
    if kind != ARRAY:
        return position + SCALAR_BYTES[kind]
    element, count = struct.unpack_from("<IQ", content, position)
    position += 12
    if element != STRING:
        return position + int(count) * SCALAR_BYTES[element]
    for _ in range(count):
        position = _end_of_value(content, position, STRING)
    return position


def block_count(path: Path) -> int:
    """Return the number of a model's layers."""
    (count,) = struct.unpack("<I", metadata_of(path)["llama.block_count"].data)
    return int(count)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def write_random_model(like: Path, target: Path) -> Path:
    """Write a small model of random weights with another model's vocabulary; return its path."""
    if target.is_file():
        return target
    source = metadata_of(like)
    entries = {key: entry for key, entry in source.items() if key.startswith("tokenizer.")}
    (vocabulary,) = struct.unpack_from("<Q", entries["tokenizer.ggml.tokens"].data, 4)
    entries["general.architecture"] = Entry(STRING, _text("llama"))
    entries["general.name"] = Entry(STRING, _text("random weights"))
    numbers = {
        "context_length": 2048,
        "embedding_length": WIDTH,
        "block_count": LAYERS,
        "feed_forward_length": INNER,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "rope.dimension_count": WIDTH // HEADS,
        "vocab_size": vocabulary,
    }
    for name, number in numbers.items():
        entries[f"llama.{name}"] = Entry(UINT32, struct.pack("<I", number))
    epsilon = struct.pack("<f", 1e-5)
    entries["llama.attention.layer_norm_rms_epsilon"] = Entry(FLOAT32, epsilon)
    partial = target.with_suffix(".part")
    partial.write_bytes(_gguf(entries, _shapes(vocabulary)))
    partial.rename(target)
    return target


def _shapes(vocabulary: int) -> dict[str, tuple[int, ...]]:
    """Return each tensor's shape as GGUF counts: the length of a row first."""
    narrow = WIDTH // HEADS * KV_HEADS
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (WIDTH, vocabulary),
        "output_norm.weight": (WIDTH,),
    }
    block = {
        "attn_norm": (WIDTH,),
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (WIDTH, narrow),
        "attn_v": (WIDTH, narrow),
        "attn_output": (WIDTH, WIDTH),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (WIDTH, INNER),
        "ffn_up": (WIDTH, INNER),
        "ffn_down": (INNER, WIDTH),
    }
    for layer in range(LAYERS):
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes


def _gguf(entries: dict[str, Entry], shapes: dict[str, tuple[int, ...]]) -> bytes:
    """Return a GGUF file with random numbers in these shapes."""
    chance = np.random.default_rng(SEED)
    head = bytearray(struct.pack("<4sIQQ", b"GGUF", 3, len(shapes), len(entries)))
    for key, entry in entries.items():
        head += _text(key) + struct.pack("<I", entry.kind) + entry.data
    body = bytearray()
    for name, shape in shapes.items():
        head += _text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        head += struct.pack("<IQ", F32 if len(shape) == 1 else F16, len(body))
        values = chance.standard_normal(shape[::-1], dtype=np.float32)
        if len(shape) == 1:
            body += (1 + 0.1 * values).astype("<f4").tobytes()
        else:
            body += (values * shape[0] ** -0.5).astype("<f2").tobytes()
        body += bytes(-len(body) % ALIGNMENT)
    return bytes(head) + bytes(-len(head) % ALIGNMENT) + bytes(body)

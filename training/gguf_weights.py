"""Weights of a base model from its GGUF file, as tensors.

They keep the file's layout. llama.cpp has the rows of q and k of the llama architecture permuted,
so that rope turns neighbouring pairs; the forward pass does the same, and a trained adapter fits
the file as it is.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gguf
import torch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ARCHITECTURE = "llama"

LAYER_LINEARS = (
    "attn_q",
    "attn_k",
    "attn_v",
    "attn_output",
    "ffn_gate",
    "ffn_up",
    "ffn_down",
)
"""Matrices of a layer in the order of their use, by llama.cpp's names."""

LAYER_NORMS = ("attn_norm", "ffn_norm")
EMBEDDING = "token_embd.weight"
OUTPUT = "output.weight"
OUTPUT_NORM = "output_norm.weight"


class WeightsError(Exception):
    """The base model's file can't be used: not GGUF, or not supported by `llama.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaShape:
    """Sizes and constants of a model of the llama architecture."""

    layers: int
    width: int
    """Size of a token's hidden state."""

    feed_forward: int
    heads: int
    kv_heads: int
    head_width: int
    vocabulary_tokens: int
    rope_base: float
    norm_epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseWeights:
    """A frozen model: float32 matrices of outputs x inputs."""

    shape: LlamaShape
    tensors: Mapping[str, torch.Tensor]
    sha256: str
    """SHA-256 of the whole file."""

    name: str
    licence: str

    def layer(self, index: int, part: str) -> torch.Tensor:
        """Return a matrix or norm of a layer."""
        return self.tensors[tensor_name(index, part)]

    @property
    def output(self) -> torch.Tensor:
        """Output matrix, from hidden state to logits: the embedding if the file has no other."""
        return self.tensors.get(OUTPUT, self.tensors[EMBEDDING])

    def to(self, device: torch.device) -> BaseWeights:
        """Return the same weights on a device."""
        return BaseWeights(
            shape=self.shape,
            tensors={name: tensor.to(device) for name, tensor in self.tensors.items()},
            sha256=self.sha256,
            name=self.name,
            licence=self.licence,
        )


def tensor_name(layer: int, part: str) -> str:
    """Return llama.cpp's name of a layer's matrix or norm."""
    return f"blk.{layer}.{part}.weight"


def read_base(path: Path) -> BaseWeights:
    """Read a GGUF file of the llama architecture, in any quantisation that gguf supports.

    Raises:
        WeightsError: the file can't be read, has another architecture, or has tensors that
            `llama.py` does not support: biases, rope factors, experts.
    """
    try:
        reader = gguf.GGUFReader(path)
    except (OSError, ValueError) as error:
        raise WeightsError(f"base {path} can't be read as GGUF: {error}; check --base") from error
    shape = _shape_of(reader, path)
    wanted = _expected_tensors(shape)
    tensors = {}
    for tensor in reader.tensors:
        if tensor.name not in wanted:
            raise WeightsError(
                f"{path} has the tensor {tensor.name!r}, which training/llama.py does not "
                "support; use a base of the plain llama architecture"
            )
        numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        tensors[tensor.name] = torch.from_numpy(numbers.copy())
    missing = wanted - tensors.keys() - {OUTPUT}
    if missing:
        raise WeightsError(f"{path} lacks the tensor {min(missing)!r}; download it again")
    return BaseWeights(
        shape=shape,
        tensors=tensors,
        sha256=_sha256(path),
        name=str(_optional(reader, "general.name", "")),
        licence=str(_optional(reader, "general.license", "")),
    )


def _expected_tensors(shape: LlamaShape) -> set[str]:
    parts = (*LAYER_LINEARS, *LAYER_NORMS)
    names = {tensor_name(layer, part) for layer in range(shape.layers) for part in parts}
    return names | {EMBEDDING, OUTPUT, OUTPUT_NORM}


def _shape_of(reader: gguf.GGUFReader, path: Path) -> LlamaShape:
    architecture = _optional(reader, "general.architecture", "")
    if architecture != ARCHITECTURE:
        raise WeightsError(
            f"{path} has the architecture {architecture!r}: must be {ARCHITECTURE!r}"
        )
    scaling = _optional(reader, f"{ARCHITECTURE}.rope.scaling.type", "none")
    if scaling != "none":
        raise WeightsError(f"{path} scales rope ({scaling}), which training/llama.py does not")
    width, heads = _number(reader, "embedding_length"), _number(reader, "attention.head_count")
    head_width = int(width) // int(heads)
    turned = _optional(reader, f"{ARCHITECTURE}.rope.dimension_count", head_width)
    if turned != head_width:
        raise WeightsError(
            f"{path} turns {turned} of {head_width} numbers of a head: must turn all"
        )
    embedding = next((t for t in reader.tensors if t.name == EMBEDDING), None)
    if embedding is None:
        raise WeightsError(f"{path} lacks the tensor {EMBEDDING!r}; download it again")
    return LlamaShape(
        layers=int(_number(reader, "block_count")),
        width=int(width),
        feed_forward=int(_number(reader, "feed_forward_length")),
        heads=int(heads),
        kv_heads=int(_optional(reader, f"{ARCHITECTURE}.attention.head_count_kv", heads)),
        head_width=head_width,
        vocabulary_tokens=int(embedding.shape[1]),
        rope_base=float(_optional(reader, f"{ARCHITECTURE}.rope.freq_base", 10_000.0)),
        norm_epsilon=float(_number(reader, "attention.layer_norm_rms_epsilon")),
    )


def _number(reader: gguf.GGUFReader, key: str) -> float:
    value = _optional(reader, f"{ARCHITECTURE}.{key}", None)
    if value is None:
        raise WeightsError(f"the base's file lacks {ARCHITECTURE}.{key}; download it again")
    return float(value)


def _optional(reader: gguf.GGUFReader, key: str, default: object) -> gguf.ReaderField:
    field = reader.get_field(key)
    return default if field is None else field.contents()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_adapter(path: Path) -> Mapping[str, torch.Tensor]:
    """Read the matrices of a LoRA adapter from its GGUF file, by llama.cpp's names.

    Raises:
        WeightsError: the file is not GGUF, or is no adapter.
    """
    try:
        reader = gguf.GGUFReader(path)
    except (OSError, ValueError) as error:
        raise WeightsError(
            f"adapter {path} can't be read: {error}; pass another --start"
        ) from error
    found = {
        tensor.name: torch.tensor(gguf.quants.dequantize(tensor.data, tensor.tensor_type))
        for tensor in reader.tensors
        if tensor.name.endswith((".lora_a", ".lora_b"))
    }
    if not found:
        raise WeightsError(f"{path} has no matrices of an adapter; pass another --start")
    return found

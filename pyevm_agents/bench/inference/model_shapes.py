"""Shapes of real models, and the tensors of the files.

The type of each tensor follows llama.cpp's rule for Q4_K_M. Source: src/llama-quant.cpp,
`llama_tensor_get_type_impl` and `tensor_type_fallback`; `test_random_models.py` compares the rule
with that function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

ARCHITECTURE = "qwen2"
QUANTISATION = "Q4_K_M"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """Sizes of a model of the qwen2 architecture, with output and embedding tied."""

    name: str
    layers: int
    width: int
    """Numbers in a token's hidden state."""

    heads: int
    kv_heads: int
    feed_forward: int
    vocabulary_tokens: int
    context_tokens: int = 32_768
    rope_base: float = 1_000_000.0
    norm_epsilon: float = 1e-6

    @property
    def kv_width(self) -> int:
        """Numbers in a token's keys, and in the values."""
        return self.kv_heads * self.width // self.heads


SHAPES = (
    ModelShape(
        name="qwen2-0.5b-random",
        layers=24,
        width=896,
        heads=14,
        kv_heads=2,
        feed_forward=4_864,
        vocabulary_tokens=151_936,
    ),
    ModelShape(
        name="qwen2-1.5b-random",
        layers=28,
        width=1_536,
        heads=12,
        kv_heads=2,
        feed_forward=8_960,
        vocabulary_tokens=151_936,
    ),
)
"""The two smallest shapes of Qwen2 and Qwen2.5. Source: `config.json` of Qwen/Qwen2-0.5B and
Qwen2-1.5B.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgmlType:
    """A tensor type of ggml: blocks of `numbers` numbers in `block_bytes` bytes."""

    name: str
    numbers: int
    block_bytes: int
    scale_at: int = 0
    """Offset of the scale, a 16-bit float, in a block."""

    spread: float = 1.0
    """Standard deviation of a block of random bytes at a scale of 1."""

    minimum_at: int | None = None
    """Offset of the second scale, of the subtracted minimum; None without one."""

    minimum: float = 0.0
    """The second scale, at a scale of 1, that makes the numbers' mean 0."""


F32 = GgmlType(name="F32", numbers=1, block_bytes=4)
Q4_K = GgmlType(name="Q4_K", numbers=256, block_bytes=144, spread=258.3, minimum_at=2, minimum=7.5)
Q5_0 = GgmlType(name="Q5_0", numbers=32, block_bytes=22, spread=9.23)
Q6_K = GgmlType(name="Q6_K", numbers=256, block_bytes=210, scale_at=208, spread=1_365.0)
Q8_0 = GgmlType(name="Q8_0", numbers=32, block_bytes=34, spread=73.9)
"""Source of the block layouts: ggml/src/ggml-common.h."""

FALLBACKS = {Q4_K: Q5_0, Q6_K: Q8_0}
"""llama.cpp's types for rows that are not a multiple of 256 numbers, such as rows of 896."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of a file."""

    name: str
    kind: GgmlType
    rows: int
    columns: int

    @property
    def parameters(self) -> int:
        """The count of numbers in the tensor."""
        return self.rows * self.columns

    @property
    def file_bytes(self) -> int:
        """The tensor's size in bytes."""
        return self.parameters // self.kind.numbers * self.kind.block_bytes


def list_tensors(shape: ModelShape) -> tuple[Tensor, ...]:
    """Return all tensors of a model, in file order.

    Raises: ConfigError: a row is not a multiple of 32 numbers, for which Q4_K_M has no blocks.
    """
    return tuple(_iter_tensors(shape))


def count_shape_parameters(shape: ModelShape) -> int:
    """Return the number of a model's parameters."""
    return sum(tensor.parameters for tensor in list_tensors(shape))


def count_tensor_bytes(shape: ModelShape) -> int:
    """Return the bytes of all tensors; a file also has the vocabulary."""
    return sum(tensor.file_bytes for tensor in list_tensors(shape))


def _iter_tensors(shape: ModelShape) -> Iterator[Tensor]:
    width, inner = shape.width, shape.feed_forward
    yield _make_matrix("token_embd", Q6_K, shape.vocabulary_tokens, width)
    yield _make_vector("output_norm.weight", width)
    for layer in range(shape.layers):
        better = Q6_K if _has_more_bits(layer, shape.layers) else Q4_K
        at = f"blk.{layer}"
        yield _make_vector(f"{at}.attn_norm.weight", width)
        for part, rows, kind in (
            ("attn_q", width, Q4_K),
            ("attn_k", shape.kv_width, Q4_K),
            ("attn_v", shape.kv_width, better),
        ):
            yield _make_matrix(f"{at}.{part}", kind, rows, width)
            yield _make_vector(f"{at}.{part}.bias", rows)
        yield _make_matrix(f"{at}.attn_output", Q4_K, width, width)
        yield _make_vector(f"{at}.ffn_norm.weight", width)
        yield _make_matrix(f"{at}.ffn_gate", Q4_K, inner, width)
        yield _make_matrix(f"{at}.ffn_up", Q4_K, inner, width)
        yield _make_matrix(f"{at}.ffn_down", better, width, inner)


def _has_more_bits(layer: int, layers: int) -> bool:
    """Return whether Q4_K_M stores a layer's `attn_v` and `ffn_down` in Q6_K: `use_more_bits`."""
    first = layers // 8
    return layer < first or layer >= 7 * layers // 8 or (layer - first) % 3 == 2  # noqa: PLR2004


def _make_matrix(name: str, kind: GgmlType, rows: int, columns: int) -> Tensor:
    if columns % kind.numbers:
        kind = FALLBACKS[kind]
    if columns % kind.numbers:
        raise ConfigError(
            f"a row of {name} has {columns} numbers: {QUANTISATION} wants a multiple of "
            f"{kind.numbers}"
        )
    return Tensor(name=f"{name}.weight", kind=kind, rows=rows, columns=columns)


def _make_vector(name: str, numbers: int) -> Tensor:
    return Tensor(name=name, kind=F32, rows=1, columns=numbers)

"""GGUF files of real architectures with random weights: how fast a model is, without having it.

Speed follows from shapes and quantisation, not from what the weights say. So the weights are random
bytes in valid blocks, which are written as fast as a disk takes them: llama.cpp's own quantisation
would first want all of them as floats, twelve times the file and minutes of work, and the `gguf`
package does not write K-quants at all. Each block's scale is such that a row's product with a
normalised state has a variance of about 1, as at the beginning of a training: nothing overflows,
and no logit is infinite.

Which type a tensor has is llama.cpp's rule for Q4_K_M. Source: src/llama-quant.cpp,
`llama_tensor_get_type_impl` and `tensor_type_fallback`; `test_random_models.py` holds it against
that function itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from pyevm_agents.bench.made_up_vocabulary import MadeUpVocabulary

ARCHITECTURE = "qwen2"
QUANTISATION = "Q4_K_M"
FILE_TYPE = 15
"""`LLAMA_FTYPE_MOSTLY_Q4_K_M`. Source: llama.h."""

QUANTISATION_VERSION = 2
"""Source: ggml.h, `GGML_QNT_VERSION`."""

SEED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of a model of the qwen2 architecture, its output tied to its embedding."""

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
        """Numbers in a token's keys, and in its values."""
        return self.kv_heads * self.width // self.heads


SHAPES = (
    Shape(
        name="qwen2-0.5b-random",
        layers=24,
        width=896,
        heads=14,
        kv_heads=2,
        feed_forward=4_864,
        vocabulary_tokens=151_936,
    ),
    Shape(
        name="qwen2-1.5b-random",
        layers=28,
        width=1_536,
        heads=12,
        kv_heads=2,
        feed_forward=8_960,
        vocabulary_tokens=151_936,
    ),
)
"""Qwen2's and Qwen2.5's two smallest. Source: `config.json` of Qwen/Qwen2-0.5B and Qwen2-1.5B."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of numbers as ggml stores it: blocks of so many numbers in so many bytes."""

    name: str
    numbers: int
    block_bytes: int
    scale_at: int = 0
    """Where in a block its scale is, a 16-bit float."""

    spread: float = 1.0
    """Standard deviation of a block's numbers at a scale of 1, its other bytes being random."""

    minimum_at: int | None = None
    """Where a second scale is, of what is subtracted; None where there is none."""

    minimum: float = 0.0
    """That scale at a scale of 1, so that the numbers' mean is 0."""


F32 = Kind(name="F32", numbers=1, block_bytes=4)
Q4_K = Kind(name="Q4_K", numbers=256, block_bytes=144, spread=258.3, minimum_at=2, minimum=7.5)
Q5_0 = Kind(name="Q5_0", numbers=32, block_bytes=22, spread=9.23)
Q6_K = Kind(name="Q6_K", numbers=256, block_bytes=210, scale_at=208, spread=1_365.0)
Q8_0 = Kind(name="Q8_0", numbers=32, block_bytes=34, spread=73.9)
"""Source of the blocks: ggml/src/ggml-common.h."""

FALLBACKS = {Q4_K: Q5_0, Q6_K: Q8_0}
"""What llama.cpp takes where a row is no multiple of 256 numbers, as rows of 896 are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of a file."""

    name: str
    kind: Kind
    rows: int
    columns: int

    @property
    def parameters(self) -> int:
        """Numbers in it."""
        return self.rows * self.columns

    @property
    def file_bytes(self) -> int:
        """Bytes that it takes."""
        return self.parameters // self.kind.numbers * self.kind.block_bytes


def tensors(shape: Shape) -> tuple[Tensor, ...]:
    """Return all tensors of a model, in the order of a file.

    Raises: ConfigError: a row is no multiple of 32 numbers, for which Q4_K_M has no blocks.
    """
    return tuple(_tensors(shape))


def parameters(shape: Shape) -> int:
    """Return how many numbers a model has."""
    return sum(tensor.parameters for tensor in tensors(shape))


def tensor_bytes(shape: Shape) -> int:
    """Return how many bytes all of them take; a file has its vocabulary besides."""
    return sum(tensor.file_bytes for tensor in tensors(shape))


def _tensors(shape: Shape) -> Iterator[Tensor]:
    width, inner = shape.width, shape.feed_forward
    yield _matrix("token_embd", Q6_K, shape.vocabulary_tokens, width)
    yield _vector("output_norm.weight", width)
    for layer in range(shape.layers):
        better = Q6_K if _has_more_bits(layer, shape.layers) else Q4_K
        at = f"blk.{layer}"
        yield _vector(f"{at}.attn_norm.weight", width)
        for part, rows, kind in (
            ("attn_q", width, Q4_K),
            ("attn_k", shape.kv_width, Q4_K),
            ("attn_v", shape.kv_width, better),
        ):
            yield _matrix(f"{at}.{part}", kind, rows, width)
            yield _vector(f"{at}.{part}.bias", rows)
        yield _matrix(f"{at}.attn_output", Q4_K, width, width)
        yield _vector(f"{at}.ffn_norm.weight", width)
        yield _matrix(f"{at}.ffn_gate", Q4_K, inner, width)
        yield _matrix(f"{at}.ffn_up", Q4_K, inner, width)
        yield _matrix(f"{at}.ffn_down", better, width, inner)


def _has_more_bits(layer: int, layers: int) -> bool:
    """Whether Q4_K_M stores a layer's values and its way down in Q6_K: `use_more_bits`."""
    first = layers // 8
    return layer < first or layer >= 7 * layers // 8 or (layer - first) % 3 == 2  # noqa: PLR2004


def _matrix(name: str, kind: Kind, rows: int, columns: int) -> Tensor:
    if columns % kind.numbers:
        kind = FALLBACKS[kind]
    if columns % kind.numbers:
        raise ConfigError(
            f"a row of {name} has {columns} numbers: {QUANTISATION} wants a multiple of "
            f"{kind.numbers}"
        )
    return Tensor(name=f"{name}.weight", kind=kind, rows=rows, columns=columns)


def _vector(name: str, numbers: int) -> Tensor:
    return Tensor(name=name, kind=F32, rows=1, columns=numbers)


def random_blocks(tensor: Tensor, generator: np.random.Generator) -> NDArray[np.uint8]:
    """Return a quantised matrix: random bytes, and scales that keep a product's variance at 1.

    Output: bytes, a line for each row.
    """
    kind = tensor.kind
    count = tensor.parameters // kind.numbers
    blocks = np.frombuffer(
        bytearray(generator.bytes(count * kind.block_bytes)), dtype=np.uint8
    ).reshape(count, kind.block_bytes)
    scale = 1 / (kind.spread * np.sqrt(tensor.columns))
    _put(blocks, kind.scale_at, scale)
    if kind.minimum_at is not None:
        _put(blocks, kind.minimum_at, scale * kind.minimum)
    return blocks.reshape(tensor.rows, -1)


def _put(blocks: NDArray[np.uint8], at: int, scale: float) -> None:
    blocks[:, at : at + 2] = np.frombuffer(np.array([scale], dtype="<f2").tobytes(), np.uint8)


def write_model(
    shape: Shape, path: Path, vocabulary: MadeUpVocabulary, *, seed: int = SEED
) -> None:
    """Write a model, whole or not at all: nothing is left where it fails or is interrupted.

    The same seed gives the same bytes.

    Raises:
        ConfigError: the `gguf` package is not installed; or the vocabulary is of another size.
        OSError: the disk is full, or can't be written.
    """
    if len(vocabulary.tokens) != shape.vocabulary_tokens:
        raise ConfigError(
            f"a vocabulary of {len(vocabulary.tokens)} tokens for {shape.name}, which has "
            f"{shape.vocabulary_tokens}"
        )
    unfinished = path.with_name(f"{path.name}.new")
    try:
        _write(shape, unfinished, vocabulary, np.random.default_rng(seed))
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _write(
    shape: Shape, path: Path, vocabulary: MadeUpVocabulary, generator: np.random.Generator
) -> None:
    gguf = require_gguf()
    writer = gguf.GGUFWriter(path, ARCHITECTURE)
    try:
        add_entries(writer, shape, vocabulary)
        for tensor in tensors(shape):
            if tensor.kind is F32:
                writer.add_tensor_info(
                    tensor.name, (tensor.columns,), np.dtype(np.float32), tensor.file_bytes
                )
            else:
                writer.add_tensor_info(
                    tensor.name,
                    (tensor.rows, tensor.file_bytes // tensor.rows),
                    np.dtype(np.uint8),
                    tensor.file_bytes,
                    raw_dtype=gguf.GGMLQuantizationType[tensor.kind.name],
                )
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for tensor in tensors(shape):
            writer.write_tensor_data(_numbers(tensor, generator))
    finally:
        writer.close()


def _numbers(
    tensor: Tensor, generator: np.random.Generator
) -> NDArray[np.uint8] | NDArray[np.float32]:
    if tensor.kind is not F32:
        return random_blocks(tensor, generator)
    value = 0.0 if tensor.name.endswith(".bias") else 1.0
    return np.full(tensor.columns, value, dtype=np.float32)


def add_entries(writer: Any, shape: Shape, vocabulary: MadeUpVocabulary) -> None:  # noqa: ANN401 - gguf has no types
    """Say what a model is, in a file that is being written: its sizes and its vocabulary."""
    writer.add_type("model")
    writer.add_name(shape.name)
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context_tokens)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_file_type(FILE_TYPE)
    writer.add_quantization_version(QUANTISATION_VERSION)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(vocabulary.splitting)
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.kinds)
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(vocabulary.beginning)
    writer.add_eos_token_id(vocabulary.end)
    writer.add_add_bos_token(False)  # noqa: FBT003 - gguf's own


def require_gguf() -> Any:  # noqa: ANN401 - gguf has no types
    """Return the `gguf` package.

    Raises: ConfigError: it is not installed.
    """
    try:
        import gguf  # noqa: PLC0415 - an extra that few need
    except ImportError as error:
        raise ConfigError(
            "models of other sizes are written with the package gguf, which is not installed: "
            "pip install 'pyevm-agents[bench]'"
        ) from error
    return gguf

"""GGUF files of real architectures with random weights, to measure speed without the weights.

Speed depends on shapes and quantisation, not on the values of the weights. The weights are random
bytes in valid blocks, written at the speed of the disk. llama.cpp's own quantisation would need all
weights as floats first, twelve times the file and minutes of work, and the `gguf` package does not
write K-quants. Each block's scale gives the product of a row and a normalised state a variance of
about 1, as at the start of training: nothing overflows, and no logit is infinite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pyevm_agents.bench.extras import require_package
from pyevm_agents.bench.inference.model_shapes import ARCHITECTURE, F32, list_tensors
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pyevm_agents.bench.inference.model_shapes import ModelShape, Tensor
    from pyevm_agents.bench.inference.synthetic_vocabulary import SyntheticVocabulary

FILE_TYPE = 15
"""`LLAMA_FTYPE_MOSTLY_Q4_K_M`. Source: llama.h."""

QUANTISATION_VERSION = 2
"""Source: ggml.h, `GGML_QNT_VERSION`."""

SEED = 7


def generate_blocks(tensor: Tensor, generator: np.random.Generator) -> NDArray[np.uint8]:
    """Return a quantised matrix of random bytes, with scales that keep a product's variance at 1.

    Output: bytes, a line for each row.
    """
    kind = tensor.kind
    count = tensor.parameters // kind.numbers
    blocks = np.frombuffer(
        bytearray(generator.bytes(count * kind.block_bytes)), dtype=np.uint8
    ).reshape(count, kind.block_bytes)
    scale = 1 / (kind.spread * np.sqrt(tensor.columns))
    _set_scale(blocks, kind.scale_at, scale)
    if kind.minimum_at is not None:
        _set_scale(blocks, kind.minimum_at, scale * kind.minimum)
    return blocks.reshape(tensor.rows, -1)


def _set_scale(blocks: NDArray[np.uint8], at: int, scale: float) -> None:
    blocks[:, at : at + 2] = np.frombuffer(np.array([scale], dtype="<f2").tobytes(), np.uint8)


def write_model(
    shape: ModelShape, path: Path, vocabulary: SyntheticVocabulary, *, seed: int = SEED
) -> None:
    """Write a model's file atomically: a failure or an interrupt leaves no file.

    The same seed gives the same bytes.

    Raises:
        ConfigError: the `gguf` package is not installed, or the vocabulary's size is not the
        shape's.
        OSError: the disk is full or not writable.
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
    shape: ModelShape, path: Path, vocabulary: SyntheticVocabulary, generator: np.random.Generator
) -> None:
    gguf = require_gguf()
    writer = gguf.GGUFWriter(path, ARCHITECTURE)
    try:
        add_entries(writer, shape, vocabulary)
        for tensor in list_tensors(shape):
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
        for tensor in list_tensors(shape):
            writer.write_tensor_data(_generate_tensor(tensor, generator))
    finally:
        writer.close()


def _generate_tensor(
    tensor: Tensor, generator: np.random.Generator
) -> NDArray[np.uint8] | NDArray[np.float32]:
    if tensor.kind is not F32:
        return generate_blocks(tensor, generator)
    value = 0.0 if tensor.name.endswith(".bias") else 1.0
    return np.full(tensor.columns, value, dtype=np.float32)


def add_entries(writer: Any, shape: ModelShape, vocabulary: SyntheticVocabulary) -> None:  # noqa: ANN401 - gguf has no types
    """Add a model's sizes and vocabulary to an open GGUF writer."""
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

    Raises: ConfigError: not installed.
    """
    require_package("gguf", use="models of other sizes")
    import gguf  # noqa: PLC0415 - an extra that few need

    return gguf

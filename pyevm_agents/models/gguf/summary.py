"""Summary of a GGUF model file for users: size, quantisation, licence. No rule reads it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.gguf.files import check_file
from pyevm_agents.models.gguf.header import read_header
from pyevm_agents.models.gguf.load_errors import describe_file

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.models.gguf.header import GgufHeader

FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
    30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4", 39: "NVFP4",
    40: "Q1_0",
}  # fmt: skip
"""Quantisations by the entry `general.file_type`. Source: llama.h, `llama_ftype`."""

STATE_BYTES = 2
"""Bytes of a number in llama.cpp's memory of evaluated tokens: float16, its default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """Facts of a model file's header."""

    name: str
    """Entry `general.name`; empty if missing."""

    architecture: str
    """Such as `llama`."""

    parameters: int
    """Numbers in all tensors of this file."""

    quantisation: str
    """Such as `Q4_K_M`; empty if the file does not specify it."""

    size_bytes: int

    trained_context_tokens: int
    """Context length of the model's training; 0 if the file does not specify it."""

    licence: str
    """SPDX identifier or name of the licence; empty if the file does not specify it."""

    licence_link: str
    """Address of the licence's text; empty if the file does not specify it."""

    state_bytes_per_token: int | None
    """Memory for an evaluated token; None if the header does not determine it."""


def read_summary(path: Path) -> ModelSummary:
    """Read a model file's header.

    Raises:
        ConfigError: the file is missing, unreadable, not GGUF, or truncated.
    """
    check_file(path)
    try:
        header = read_header(path)
    except ValueError as error:
        raise ConfigError(
            f"model file {describe_file(path)} is truncated or corrupt: {error}; download it again"
        ) from error
    architecture = header.get_text("general.architecture")
    file_type = _get_number(header, "general.file_type")
    licence = header.get_text("general.license.name") or header.get_text("general.license")
    return ModelSummary(
        name=header.get_text("general.name"),
        architecture=architecture,
        parameters=sum(math.prod(tensor.shape) for tensor in header.tensors),
        quantisation="" if file_type is None else FILE_TYPES.get(file_type, f"type {file_type}"),
        size_bytes=path.stat().st_size,
        trained_context_tokens=_get_number(header, f"{architecture}.context_length") or 0,
        licence=licence,
        licence_link=header.get_text("general.license.link"),
        state_bytes_per_token=_compute_state_bytes(header, architecture),
    )


def _get_number(header: GgufHeader, key: str) -> int | None:
    """Return an integer entry; None if missing or not a single integer."""
    entry = header.entries.get(key)
    value = None if entry is None else entry.value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _compute_state_bytes(header: GgufHeader, architecture: str) -> int | None:
    """Return the size of a token's keys and values in all layers, for plain attention."""

    def get(key: str) -> int | None:
        return _get_number(header, f"{architecture}.{key}")

    layers, width, heads = get("block_count"), get("embedding_length"), get("attention.head_count")
    if not layers or not width or not heads:
        return None
    shared_heads = f"{architecture}.attention.head_count_kv"
    # Some architectures have an array: a number for each layer.
    kv_heads = get("attention.head_count_kv") if shared_heads in header.entries else heads
    if kv_heads is None:
        return None
    key = get("attention.key_length") or width // heads
    value = get("attention.value_length") or width // heads
    return layers * kv_heads * (key + value) * STATE_BYTES

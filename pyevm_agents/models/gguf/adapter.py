"""GGUF files of LoRA adapters: which model an adapter fits, and whether llama.cpp can apply it.

llama.cpp aborts on assertions about the types of the entries read and the shapes of the matrices
multiplied, and ignores tensors that are not applied. These cases are checked here. For other unfit
files llama.cpp reports an error itself; see `load_errors.py`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from precompiles.decoding_rules import DecodingRules
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.gguf.files import check_file, find_default_adapter, resolve_path
from pyevm_agents.models.gguf.header import FLOAT32, STRING, read_first_entries, read_header
from pyevm_agents.models.gguf.load_errors import describe_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyevm_agents.models.gguf.header import GgufHeader, MetadataEntry, TensorInfo

TYPE, KIND, ARCHITECTURE = "general.type", "adapter.type", "general.architecture"
ALPHA, NAME = "adapter.lora.alpha", "general.name"
INVOCATION = "adapter.alora.invocation_tokens"
DECODING = "decoding."
CHOOSER = "chooser.sha256"

TENSOR_TYPES = {0: "F32", 1: "F16", 8: "Q8_0"}
"""Tensor types of an adapter that give bit-for-bit equal results for every batch shape. Source:
measured by `benchmarks/invariance.py`."""

TENSOR_NAME = re.compile(r"((?:blk\.\d+\.(?!\w*norm\.)\w+|output)\.weight)\.lora_([ab])")
"""Matrices to which llama.cpp adds an adapter's product. It ignores norms, and aborts on
embeddings that are the output matrix too."""

MATRIX_DIMENSIONS = 2

MAX_WIDTH = 2**24
"""Upper bound of a model's widths, a hundred times those of the largest models."""

MAX_COUNTS = {
    "block_count": 512,
    "expert_count": 512,
    "embedding_length": MAX_WIDTH,
    "feed_forward_length": MAX_WIDTH,
    "vocab_size": MAX_WIDTH,
    "attention.head_count": MAX_WIDTH,
    "attention.head_count_kv": MAX_WIDTH,
}
"""Upper bounds of a model's entries, after the name of its architecture. Source: llama.cpp,
src/llama-hparams.h, `LLAMA_MAX_LAYERS` and `LLAMA_MAX_EXPERTS`, at which it aborts."""


class NoAdapter(Enum):
    """The type of `NO_ADAPTER`."""

    NO_ADAPTER = "none"


NO_ADAPTER: Final = NoAdapter.NO_ADAPTER
"""Selects the default model without the adapter that is installed with it."""

Adapter: TypeAlias = "Path | str | NoAdapter | None"
"""An adapter: a GGUF file, no adapter, or None for the default. The default model's default is the
adapter installed with it; other models have none."""


def adapter_path(adapter: Adapter, *, is_default_model: bool) -> Path | None:
    """Return the adapter's file, or None for no adapter.

    Raises:
        ConfigError: the path is invalid.
    """
    if isinstance(adapter, NoAdapter):
        return None
    if adapter is None:
        return find_default_adapter() if is_default_model else None
    return resolve_path(adapter)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterFile:
    """A LoRA adapter in GGUF."""

    path: Path
    name: str
    """Name from the file's metadata, or the file's own name."""

    architecture: str
    """Architecture of the models that it fits, such as `llama`."""

    decoding: tuple[tuple[str, int], ...] = ()
    """The decoding rules that it was trained for, sorted by name: its entries `decoding.NAME`."""

    chooser: str = ""
    """SHA-256 of the chooser's file, in hexadecimal, that judges orders; empty for none. So the
    adapter's digest, and the model's, cover it."""

    def require_architecture(self, architecture: str) -> None:
        """Check that a model has the adapter's architecture.

        Raises:
            ConfigError: names both architectures.
        """
        if architecture != self.architecture:
            raise ConfigError(
                f"adapter file {describe_file(self.path)} is for the architecture "
                f"{self.architecture}, but the model's is {architecture}; pass the adapter that "
                "was trained for this model, or none"
            )


def check_files(model: Path, adapter: Path | None) -> None:
    """Check the headers of a model file and an adapter file, before an engine starts.

    Raises:
        ConfigError: see `files.check_file` and `read_adapter`; or the model file is an adapter, or
            has a count above those of every model.
    """
    check_file(model)
    entries = read_first_entries(model)
    _check_counts(model, entries)
    kind = entries.get("general.type")
    if kind is not None and kind.value == "adapter":
        raise ConfigError(
            f"model file {describe_file(model)} is an adapter, not a model; "
            "pass the model that it was trained for with --model, and this file with --adapter"
        )
    if adapter is not None:
        read_adapter(adapter)


def _check_counts(model: Path, entries: Mapping[str, MetadataEntry]) -> None:
    """Reject counts at which llama.cpp aborts the process, or allocates all memory."""
    for key, entry in entries.items():
        most = MAX_COUNTS.get(key.partition(".")[2])
        value = entry.value
        if most is not None and isinstance(value, int) and not 0 <= value <= most:
            raise ConfigError(
                f"model file {describe_file(model)}: {key} {value:,}: must be at most {most:,}; "
                "the file is damaged: download it again"
            )


def read_adapter(path: Path) -> AdapterFile:
    """Read an adapter's metadata, and check that llama.cpp can apply the adapter.

    Raises:
        ConfigError: the file is missing, unreadable, truncated, not a LoRA adapter, or one that
            llama.cpp can't apply completely.
    """
    check_file(path, "adapter")
    file = f"adapter file {describe_file(path)}"
    try:
        front = read_header(path)
    except ValueError as error:
        raise ConfigError(f"{file} is truncated or corrupt: {error}; download it again") from error
    _check_entries(file, front)
    _check_tensors(file, front.tensors)
    return AdapterFile(
        path=path,
        name=front.get_text(NAME) or path.stem,
        architecture=front.get_text(ARCHITECTURE),
        decoding=_read_decoding(file, front),
        chooser=_read_chooser(file, front),
    )


def _read_decoding(file: str, front: GgufHeader) -> tuple[tuple[str, int], ...]:
    rules = []
    for key, entry in sorted(front.entries.items()):
        if key.startswith(DECODING):
            if not isinstance(entry.value, int) or isinstance(entry.value, bool):
                raise ConfigError(f"{file}: {key} is {entry.value!r}: must be a whole number")
            rules.append((key.removeprefix(DECODING), entry.value))
    try:
        DecodingRules.parse(rules)
    except ValueError as error:
        raise ConfigError(
            f"{file}: {error}; or use the version of pyevm-agents that it was made for"
        ) from error
    return tuple(rules)


def _read_chooser(file: str, front: GgufHeader) -> str:
    chooser = front.get_text(CHOOSER)
    if chooser and not re.fullmatch("[0-9a-f]{64}", chooser):
        raise ConfigError(f"{file}: {CHOOSER} is {chooser!r}: must be 64 hexadecimal digits")
    return chooser


def _check_entries(file: str, front: GgufHeader) -> None:
    if front.get_text(TYPE) != "adapter":
        raise ConfigError(
            f"{file} is not an adapter: its {TYPE} is {front.get_text(TYPE)!r}; "
            "pass a model with --model, "
            "and an adapter with --adapter"
        )
    if front.get_text(KIND) != "lora" or INVOCATION in front.entries:
        kind = "activated LoRA" if INVOCATION in front.entries else front.get_text(KIND)
        raise ConfigError(
            f"{file} is an adapter of type {kind!r}; only LoRA that is always active is supported"
        )
    if front.entries.get(ARCHITECTURE) is None or front.entries[ARCHITECTURE].kind != STRING:
        raise ConfigError(f"{file} does not specify its architecture; convert it again")
    alpha = front.entries.get(ALPHA)
    if (
        alpha is None
        or alpha.kind != FLOAT32
        or not isinstance(alpha.value, float)
        or not math.isfinite(alpha.value)
        or alpha.value == 0
    ):
        value = None if alpha is None else alpha.value
        raise ConfigError(
            f"{file}: {ALPHA} is {value}: must be a float32 other than 0; convert it again"
        )


def _check_tensors(file: str, tensors: tuple[TensorInfo, ...]) -> None:
    if not tensors:
        raise ConfigError(f"{file} has no tensors, so it has no effect; leave it out")
    pairs: dict[str, dict[str, TensorInfo]] = {}
    for tensor in tensors:
        match = TENSOR_NAME.fullmatch(tensor.name)
        if match is None:
            raise ConfigError(
                f"{file} has the tensor {tensor.name!r}, which llama.cpp does not apply; train "
                "adapters of linear layers only"
            )
        if tensor.kind not in TENSOR_TYPES:
            raise ConfigError(
                f"{file} has the unsupported ggml type {tensor.kind} ({tensor.name!r}); convert it "
                f"to {', '.join(TENSOR_TYPES.values())}"
            )
        if len(tensor.shape) != MATRIX_DIMENSIONS or 0 in tensor.shape:
            raise ConfigError(
                f"{file} has the tensor {tensor.name!r} of shape {tensor.shape}; only "
                "matrices are supported, not experts"
            )
        pairs.setdefault(match[1], {})[match[2]] = tensor
    for name, pair in pairs.items():
        if pair.keys() != {"a", "b"} or pair["a"].shape[1] != pair["b"].shape[0]:
            raise ConfigError(
                f"{file} has no lora_a and lora_b of equal rank for {name!r}; convert it again"
            )

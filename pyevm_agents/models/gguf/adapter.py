"""A LoRA adapter's file: what it is for, and whether llama.cpp can apply it without aborting.

llama.cpp asserts the types of the entries that it reads, and what its products take; it passes over
what it does not apply. Whatever it says itself of a file that does not fit is left to it, see
`load_errors.py`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.gguf.files import check_file, find_default_adapter, resolve_path
from pyevm_agents.models.gguf.header import FLOAT32, STRING, read_general_type, read_header
from pyevm_agents.models.gguf.load_errors import describe_file

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.models.gguf.header import GgufHeader, TensorInfo

TYPE, KIND, ARCHITECTURE = "general.type", "adapter.type", "general.architecture"
ALPHA, NAME = "adapter.lora.alpha", "general.name"
INVOCATION = "adapter.alora.invocation_tokens"

TENSOR_TYPES = {0: "F32", 1: "F16", 8: "Q8_0"}
"""Types of an adapter's numbers that are measured to be bit for bit the same in every shape: see
`benchmarks/invariance.py`."""

TENSOR_NAME = re.compile(r"((?:blk\.\d+\.(?!\w*norm\.)\w+|output)\.weight)\.lora_([ab])")
"""Matrices to which llama.cpp adds an adapter's product. It passes over norms, and aborts over the
embeddings where they are the output's matrix as well."""

MATRIX_DIMENSIONS = 2


class NoAdapter(Enum):
    """The type of `NO_ADAPTER`."""

    NO_ADAPTER = "none"


NO_ADAPTER: Final = NoAdapter.NO_ADAPTER
"""Asks for the default model without the adapter that is installed with it."""

Adapter: TypeAlias = "Path | str | NoAdapter | None"
"""What changes a model: a GGUF file, nothing, or None for what is the model's own: an adapter is
installed with the default model, and none belongs to a file that is named."""


def adapter_path(adapter: Adapter, *, is_default_model: bool) -> Path | None:
    """Return the file that changes a model, or None.

    Raises:
        ConfigError: it is named by a path that leads nowhere.
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
    """Its own name, else that of the file."""

    architecture: str
    """That of the models it is for, such as `llama`."""

    def require_architecture(self, architecture: str) -> None:
        """Refuse to be applied to a model of another one.

        Raises:
            ConfigError: names both.
        """
        if architecture != self.architecture:
            raise ConfigError(
                f"The adapter file {describe_file(self.path)} is for the architecture "
                f"{self.architecture}, and the model's is {architecture}; name the adapter that "
                "was made for this model, or leave it out"
            )


def check_files(model: Path, adapter: Path | None) -> None:
    """Refuse a model's file and an adapter's that are visibly none, before an engine starts.

    Raises:
        ConfigError: see `files.check_file` and `read_adapter`; or the model is an adapter.
    """
    check_file(model)
    if read_general_type(model) == "adapter":
        raise ConfigError(
            f"The model file {describe_file(model)} is an adapter, which changes a model and is "
            "none; "
            "name the model that it was made for with --model, and this file with --adapter"
        )
    if adapter is not None:
        read_adapter(adapter)


def read_adapter(path: Path) -> AdapterFile:
    """Read what an adapter says of itself.

    Raises:
        ConfigError: missing, unreadable, cut short, no LoRA adapter, or none that llama.cpp
            applies as a whole.
    """
    check_file(path, "adapter")
    file = f"The adapter file {describe_file(path)}"
    try:
        front = read_header(path)
    except ValueError as error:
        raise ConfigError(f"{file} is cut short or corrupt: {error}; download it again") from error
    _check_entries(file, front)
    _check_tensors(file, front.tensors)
    return AdapterFile(
        path=path,
        name=front.get_text(NAME) or path.stem,
        architecture=front.get_text(ARCHITECTURE),
    )


def _check_entries(file: str, front: GgufHeader) -> None:
    if front.get_text(TYPE) != "adapter":
        raise ConfigError(
            f"{file} is no adapter: its {TYPE} is {front.get_text(TYPE)!r}; "
            "name a model with --model, "
            "and with --adapter what changes it"
        )
    if front.get_text(KIND) != "lora" or INVOCATION in front.entries:
        kind = "activated LoRA" if INVOCATION in front.entries else front.get_text(KIND)
        raise ConfigError(
            f"{file} is an adapter of the type {kind!r}; supported is a LoRA that is always on"
        )
    if front.entries.get(ARCHITECTURE) is None or front.entries[ARCHITECTURE].kind != STRING:
        raise ConfigError(f"{file} does not name its architecture; convert it again")
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
            f"{file} has {value} as its {ALPHA}, which must be a float32 other than 0; convert it "
            "again"
        )


def _check_tensors(file: str, tensors: tuple[TensorInfo, ...]) -> None:
    if not tensors:
        raise ConfigError(f"{file} has no tensors, so it changes nothing; leave it out")
    pairs: dict[str, dict[str, TensorInfo]] = {}
    for tensor in tensors:
        match = TENSOR_NAME.fullmatch(tensor.name)
        if match is None:
            raise ConfigError(
                f"{file} has the tensor {tensor.name!r}, which llama.cpp does not apply; adapt "
                "linear layers alone"
            )
        if tensor.kind not in TENSOR_TYPES:
            raise ConfigError(
                f"{file} has numbers of ggml's type {tensor.kind} in {tensor.name!r}; convert it "
                f"to {', '.join(TENSOR_TYPES.values())}"
            )
        if len(tensor.shape) != MATRIX_DIMENSIONS or 0 in tensor.shape:
            raise ConfigError(
                f"{file} has the tensor {tensor.name!r} of the shape {tensor.shape}; supported are "
                "matrices, so no experts'"
            )
        pairs.setdefault(match[1], {})[match[2]] = tensor
    for name, pair in pairs.items():
        if pair.keys() != {"a", "b"} or pair["a"].shape[1] != pair["b"].shape[0]:
            raise ConfigError(
                f"{file} has no lora_a and lora_b of one rank for {name!r}; convert it again"
            )

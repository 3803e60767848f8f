"""Quantisation of a trained chooser to 8 bits, and its GGUF file.

A row of a matrix is divided by its largest number / 127, rounded to units of 2^-26. NumPy and gguf
do all of it, without PyTorch. The same state and vocabulary give the same bytes.
`pyevm_agents/models/chooser/chooser_file.py` describes the file.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, TypeAlias

import gguf
import numpy as np

from precompiles.chooser import MAX_INPUT_TOKENS
from pyevm_agents.models.chooser.chooser_file import (
    ARCHITECTURE,
    EMBEDDING_NORM,
    HEADS_KEY,
    LATE_START_KEY,
    LAYERS_KEY,
    MAX_BYTES,
    PIECES_KEY,
    POSITIONS,
    VERSION,
    VERSION_KEY,
    WORDS,
    name_layer,
)
from pyevm_agents.models.chooser.encoder import MAX_WEIGHT, NUMBER_END, SCALE_BITS, SCALE_END
from pyevm_agents.models.chooser.sentence_chooser import LATE_BITS
from pyevm_agents.models.chooser.tables import UNIT_BITS
from pyevm_agents.models.chooser.wordpiece import is_reachable
from training.set_rules import write_beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    State: TypeAlias = Mapping[str, NDArray[np.float32]]

HEAD_WIDTH = 64
"""Numbers between the two layers of a head."""

LAYER_PARTS = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
"""Parts of a layer: BERT's names, and the file's."""

HEADS = {"head_mood": "mood", "head_call": "call"}
HEAD_LAYERS = {0: 0, 2: 1}
"""Layers of a head in the state, where 1 is tanh, and in the file."""

EMBEDDINGS = "encoder.embeddings"


class ChooserExportError(Exception):
    """The state can't be written: a tensor is missing, or a number is out of range."""


def write_chooser(
    state: State,
    pieces: Sequence[str],
    path: Path,
    *,
    heads: int = 12,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Write a chooser's file. Pieces that no text can become are left out.

    Input:
        state: arrays by the trainer's names: `encoder.*` as BERT's, `head_call.*`, `head_mood.*`,
            `late0`.
        pieces: the vocabulary by token ID.
        heads: heads of attention.
        facts: texts that the file states as `training.NAME`.

    Raises:
        ChooserExportError: a tensor is missing or has another shape, a number is not finite or out
            of the file's range, or the file would exceed `MAX_BYTES`.
    """
    writer = gguf.GGUFWriter(None, ARCHITECTURE)
    writer.add_type("model")
    writer.add_uint32(VERSION_KEY, VERSION)
    writer.add_uint32(HEADS_KEY, heads)
    for name, value in sorted((facts or {}).items()):
        writer.add_string(f"training.{name}", value)
    _Quantiser(writer, state).add_weights(pieces, heads)
    unfinished = write_beside(writer, path)
    size_bytes = unfinished.stat().st_size
    if size_bytes > MAX_BYTES:
        unfinished.unlink()
        raise ChooserExportError(
            f"the chooser would have {size_bytes:,} bytes: must have at most {MAX_BYTES:,}; use a "
            "smaller vocabulary or encoder"
        )
    unfinished.replace(path)


class _Quantiser:
    """Adds a state's tensors to a file."""

    def __init__(self, writer: gguf.GGUFWriter, state: State) -> None:
        self._writer = writer
        self._state = state

    def add_weights(self, pieces: Sequence[str], heads: int) -> None:
        """Add everything that depends on the state."""
        words = self._get(f"{EMBEDDINGS}.word_embeddings.weight", 2)
        if len(words) != len(pieces):
            raise ChooserExportError(
                f"vocabulary of {len(pieces):,} pieces: must have {len(words):,}, one for each "
                "word embedding; pass the vocabulary of the encoder"
            )
        kept = [token for token, piece in enumerate(pieces) if is_reachable(piece)]
        self._writer.add_array(PIECES_KEY, [pieces[token] for token in kept])
        late_start = round(float(self._get("late0", 0)) * (1 << LATE_BITS))
        self._writer.add_int64(LATE_START_KEY, late_start)
        self._add_rows(WORDS, words[kept])
        self._add_rows(POSITIONS, self._read_positions())
        self._add_norm(EMBEDDING_NORM, f"{EMBEDDINGS}.LayerNorm")
        layers = 0
        while f"encoder.encoder.layer.{layers}.attention.self.query.weight" in self._state:
            for source, part in LAYER_PARTS.items():
                name, found = name_layer(layers, part), f"encoder.encoder.layer.{layers}.{source}"
                if part.endswith("norm"):
                    self._add_norm(name, found)
                else:
                    width = words.shape[1] / heads
                    self._add_linear(name, found, width**-0.5 if part == "attn_q" else 1.0)
            layers += 1
        self._writer.add_uint32(LAYERS_KEY, layers)
        for source, name in HEADS.items():
            for layer, place in HEAD_LAYERS.items():
                self._add_linear(f"{name}.{place}", f"{source}.{layer}")

    def _read_positions(self) -> Floats:
        """Return the rows of the positions in use, with the row of token type 0."""
        rows = self._get(f"{EMBEDDINGS}.position_embeddings.weight", 2)
        if len(rows) < MAX_INPUT_TOKENS:
            raise ChooserExportError(
                f"{len(rows)} positions: must be at least {MAX_INPUT_TOKENS}; use another encoder"
            )
        kind = self._get(f"{EMBEDDINGS}.token_type_embeddings.weight", 2)[0]
        total: Floats = rows[:MAX_INPUT_TOKENS] + kind
        return total

    def _add_linear(self, name: str, source: str, factor: float = 1.0) -> None:
        self._add_rows(name, self._get(f"{source}.weight", 2) * factor)
        self._add_numbers(f"{name}.bias", self._get(f"{source}.bias", 1) * factor)

    def _add_norm(self, name: str, source: str) -> None:
        gains = self._get(f"{source}.weight", 1)
        self._add_numbers(f"{name}.weight", gains * len(gains) ** 0.5)
        self._add_numbers(f"{name}.bias", self._get(f"{source}.bias", 1))

    def _add_rows(self, name: str, rows: Floats) -> None:
        weights, scales = quantise_rows(rows)
        if scales.max() >= SCALE_END:
            raise ChooserExportError(
                f"{name} has numbers up to {np.abs(rows).max():.3g}: must be below "
                f"{MAX_WEIGHT * SCALE_END >> SCALE_BITS}; train with a lower rate"
            )
        self._writer.add_tensor(f"{name}.weight", weights)
        self._writer.add_tensor(f"{name}.scale", scales)

    def _add_numbers(self, name: str, numbers: Floats) -> None:
        units = np.rint(numbers * (1 << UNIT_BITS))
        if np.abs(units).max() >= NUMBER_END:
            raise ChooserExportError(
                f"{name} has numbers up to {np.abs(numbers).max():.3g}: must be below "
                f"{NUMBER_END >> UNIT_BITS}; train with a lower rate"
            )
        self._writer.add_tensor(name, units.astype(np.int32))

    def _get(self, name: str, dimensions: int) -> Floats:
        """Return a tensor in float64."""
        found = self._state.get(name)
        if found is None:
            raise ChooserExportError(f"the state lacks {name}; save the whole model's state")
        if found.ndim != dimensions or not np.isfinite(found).all():
            raise ChooserExportError(
                f"{name} of shape {[*found.shape]}: must be finite numbers of {dimensions} "
                "dimensions; train with a lower rate, or save the whole model's state"
            )
        return found.astype(np.float64)


def quantise_rows(rows: Floats) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Return rows as numbers of 8 bits, and their scales in units of 2^-26.

    A row is about the product of both. Its largest number is 127 or -127; a row of zeros has the
    scale 1.
    """
    largest = np.abs(rows).max(axis=1)
    scales = np.maximum(np.ceil(largest / MAX_WEIGHT * (1 << SCALE_BITS)), 1)
    weights = np.rint(rows * (1 << SCALE_BITS) / scales[:, None])
    return weights.astype(np.int8), np.minimum(scales, SCALE_END).astype(np.int32)


def read_pieces(path: Path) -> tuple[str, ...]:
    """Read a vocabulary, a piece each line."""
    return tuple(path.read_text("utf-8").removesuffix("\n").split("\n"))


def read_safetensors(path: Path) -> State:
    """Read a file of float32 tensors.

    Raises:
        ChooserExportError: another format, or another type of numbers.
    """
    data = path.read_bytes()
    try:
        (size,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + size])
        header.pop("__metadata__", None)
        tensors = {}
        for name, entry in header.items():
            if entry["dtype"] == "F32":
                start, end = entry["data_offsets"]
                numbers = np.frombuffer(data[8 + size + start : 8 + size + end], "<f4")
                tensors[name] = numbers.reshape(entry["shape"])
    except (KeyError, TypeError, ValueError, struct.error) as error:
        raise ChooserExportError(
            f"{path} can't be read as safetensors: {error}; download it again"
        ) from error
    return tensors


def build_frozen_state(encoder: State) -> State:
    """Return the state of an encoder that is not trained yet: its heads have zeros.

    Input:  tensors of BERT, with or without the prefix `bert.`.
    """
    named = {f"encoder.{name.removeprefix('bert.')}": each for name, each in encoder.items()}
    width = named[f"{EMBEDDINGS}.LayerNorm.weight"].shape[0]
    shapes = {"0": (HEAD_WIDTH, 2 * width), "2": (1, HEAD_WIDTH)}
    for head in HEADS:
        for layer, shape in shapes.items():
            named[f"{head}.{layer}.weight"] = np.zeros(shape, np.float32)
            named[f"{head}.{layer}.bias"] = np.zeros(shape[:1], np.float32)
    named["late0"] = np.zeros((), np.float32)
    return named

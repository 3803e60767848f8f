"""A chooser's GGUF file: numbers of 8 and 32 bits, the vocabulary, and the shape.

Tensors are named as llama.cpp names BERT's. A linear layer has `weight` (I8, outputs x inputs, -127
to 127), `scale` and `bias` (I32, one for each output); a norm has `weight` and `bias` (I32);
`encoder.py` has their units. The two heads are `mood` and `call`, each with layers 0 and 1.
Attention's queries are already divided by the square root of a head's width, positions contain the
token type's row, and a norm's weights are times the square root of the width.

llama.cpp can't evaluate the file. `training/chooser/weights.py` writes it.
"""

from __future__ import annotations

from os import SEEK_END
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from precompiles.chooser import MAX_INPUT_TOKENS
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.chooser.encoder import (
    MAX_HEAD_WIDTH,
    MAX_INPUTS,
    MAX_WEIGHT,
    MAX_WIDTH,
    NUMBER_END,
    SCALE_END,
    EncoderWeights,
    Layer,
    Linear,
    Norm,
    scale_rows,
)
from pyevm_agents.models.chooser.sentence_chooser import (
    LATE_BITS,
    ChooserWeights,
    Head,
    SentenceChooser,
)
from pyevm_agents.models.chooser.wordpiece import SPECIAL_PIECES, WordPiece
from pyevm_agents.models.gguf.files import FileStamp, hash_file
from pyevm_agents.models.gguf.header import read_arrays, read_header
from pyevm_agents.models.gguf.load_errors import describe_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from pyevm_agents.models.gguf.header import GgufHeader, TensorInfo

    Integers: TypeAlias = NDArray[np.signedinteger]

ARCHITECTURE = "chooser"
VERSION_KEY, VERSION = "chooser.version", 1
LAYERS_KEY, HEADS_KEY = "chooser.layers", "chooser.heads"
LATE_START_KEY = "chooser.late_start"
"""Late interaction at the start of training, in units of 2^-24."""

PIECES_KEY = "tokenizer.ggml.tokens"
WORDS, POSITIONS = "token_embd", "position_embd"
EMBEDDING_NORM = "token_embd_norm"

I8, I32 = 24, 26
"""Types of numbers. Source: ggml.h, `ggml_type`."""

NAMES = {I8: "I8", I32: "I32"}
FORMS: Mapping[int, np.dtype[np.signedinteger]] = {I8: np.dtype("<i1"), I32: np.dtype("<i4")}

MAX_BYTES = 25_000_000
"""Upper bound of a file: MiniLM's 22 million weights, and the vocabulary."""

MAX_LAYERS = 24
MATRIX_DIMENSIONS = 2


def name_layer(layer: int, part: str) -> str:
    """Return the name of a layer's part, such as `blk.0.attn_q`."""
    return f"blk.{layer}.{part}"


def open_chooser(path: Path) -> SentenceChooser:
    """Read a chooser's file.

    Raises:
        ConfigError: the file is missing, damaged, of another version or no chooser's, or changes
            while it is read; the message names the part.
        EngineFault: this machine's products of float32 are not exact.
    """
    digest = hash_file(path, role="chooser")
    stamp = FileStamp.from_path(path)
    file = f"chooser file {describe_file(path)}"
    if stamp.size_bytes > MAX_BYTES:
        raise ConfigError(f"{file}: must have at most {MAX_BYTES:,} bytes; export a smaller one")
    try:
        header = read_header(path)
        _require_version(header)
        pieces = _read_pieces(path)
        with path.open("rb") as opened:
            weights = _WeightsReader(opened, header).read_weights(len(pieces))
    except ValueError as error:
        raise ConfigError(f"{file}: {error}; download it again") from error
    if FileStamp.from_path(path) != stamp:
        raise ConfigError(f"{file} changed while it was read; try again when it is complete")
    return SentenceChooser(weights, WordPiece(pieces), digest)


def _require_version(header: GgufHeader) -> None:
    found = header.get_text("general.architecture")
    if found != ARCHITECTURE:
        raise ValueError(f"general.architecture is {found!r}: must be {ARCHITECTURE!r}")
    _get_number(header, VERSION_KEY, VERSION, VERSION)


def _get_number(header: GgufHeader, key: str, least: int, most: int) -> int:
    entry = header.entries.get(key)
    value = None if entry is None else entry.value
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        allowed = str(least) if least == most else f"a whole number from {least:,} to {most:,}"
        raise ValueError(f"{key} is {value}: must be {allowed}")
    return value


def _read_pieces(path: Path) -> tuple[str, ...]:
    found = read_arrays(path, [PIECES_KEY])[PIECES_KEY]
    pieces = tuple(piece for piece in found if isinstance(piece, str) and piece)
    if len(set(pieces)) < len(found):
        raise ValueError(f"{PIECES_KEY} must have texts that are not empty, each once")
    missing = [piece for piece in SPECIAL_PIECES if piece not in pieces]
    if missing:
        raise ValueError(f"{PIECES_KEY} lacks {missing[0]}")
    return pieces


class _WeightsReader:
    """Reads tensors by their names, each once, and checks shapes and numbers."""

    def __init__(self, file: BinaryIO, header: GgufHeader) -> None:
        self._file = file
        self._size_bytes = file.seek(0, SEEK_END)
        self._header = header
        self._unread = {tensor.name: tensor for tensor in header.tensors}
        if len(self._unread) < len(header.tensors):
            raise ValueError("two tensors have the same name")

    def read_weights(self, pieces: int) -> ChooserWeights:
        """Return all weights, for a vocabulary of so many pieces."""
        header = self._header
        width = self._measure(f"{WORDS}.weight", 0, MAX_WIDTH)
        inner = self._measure(f"{name_layer(0, 'ffn_up')}.weight", 1, MAX_INPUTS)
        heads = _get_number(header, HEADS_KEY, 1, width)
        if width % heads or width // heads > MAX_HEAD_WIDTH:
            raise ValueError(
                f"{HEADS_KEY} is {heads}: must divide the width {width} into at most "
                f"{MAX_HEAD_WIDTH} each"
            )
        words, word_scales = self._read_rows(WORDS, pieces, width)
        places, place_scales = self._read_rows(POSITIONS, MAX_INPUT_TOKENS, width)
        layers = range(_get_number(header, LAYERS_KEY, 1, MAX_LAYERS))
        weights = ChooserWeights(
            encoder=EncoderWeights(
                words=words,
                word_scales=word_scales,
                positions=scale_rows(places, place_scales),
                norm=self._read_norm(EMBEDDING_NORM, width),
                layers=tuple(self._read_layer(layer, width, inner) for layer in layers),
                heads=heads,
            ),
            mood=self._read_head("mood", width),
            call=self._read_head("call", width),
            late_start=_get_number(header, LATE_START_KEY, -1 << LATE_BITS, 1 << LATE_BITS),
        )
        if self._unread:
            raise ValueError(f"unknown tensor {min(self._unread)!r}")
        return weights

    def _read_layer(self, layer: int, width: int, inner: int) -> Layer:
        def linear(part: str, inputs: int, outputs: int) -> Linear:
            return self._read_linear(name_layer(layer, part), inputs, outputs)

        def norm(part: str) -> Norm:
            return self._read_norm(name_layer(layer, part), width)

        return Layer(
            projection=_join([linear(f"attn_{part}", width, width) for part in "qkv"]),
            output=linear("attn_output", width, width),
            output_norm=norm("attn_output_norm"),
            up=linear("ffn_up", width, inner),
            down=linear("ffn_down", inner, width),
            down_norm=norm("layer_output_norm"),
        )

    def _read_head(self, name: str, width: int) -> Head:
        inner = self._measure(f"{name}.0.weight", 1, MAX_INPUTS)
        return Head(
            inner=self._read_linear(f"{name}.0", 2 * width, inner),
            outer=self._read_linear(f"{name}.1", inner, 1),
        )

    def _read_linear(self, name: str, inputs: int, outputs: int) -> Linear:
        weights, scales = self._read_rows(name, outputs, inputs)
        return Linear(
            weights=np.ascontiguousarray(weights.T, np.float32),
            scales=scales,
            biases=self._read_numbers(f"{name}.bias", outputs, 1 - NUMBER_END, NUMBER_END - 1),
        )

    def _read_norm(self, name: str, width: int) -> Norm:
        gains, biases = (
            self._read_numbers(f"{name}.{part}", width, 1 - NUMBER_END, NUMBER_END - 1)
            for part in ("weight", "bias")
        )
        return Norm(gains=gains, biases=biases)

    def _read_rows(
        self, name: str, rows: int, columns: int
    ) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        weights = self._read(f"{name}.weight", I8, (rows, columns), -MAX_WEIGHT, MAX_WEIGHT)
        return weights.astype(np.int8), self._read_numbers(f"{name}.scale", rows, 0, SCALE_END - 1)

    def _read_numbers(self, name: str, count: int, least: int, most: int) -> NDArray[np.float64]:
        return self._read(name, I32, (count,), least, most).astype(np.float64)

    def _find(self, name: str) -> TensorInfo:
        tensor = self._unread.get(name)
        if tensor is None:
            raise ValueError(f"missing tensor {name!r}")
        return tensor

    def _measure(self, name: str, dimension: int, most: int) -> int:
        """Return a dimension of a matrix, 0 for the length of a row."""
        shape = self._find(name).shape
        if len(shape) != MATRIX_DIMENSIONS or not 1 <= shape[dimension] <= most:
            raise ValueError(
                f"tensor {name!r} has the shape {[*shape]}: must have {MATRIX_DIMENSIONS} "
                f"dimensions, number {dimension} from 1 to {most:,}"
            )
        return shape[dimension]

    def _read(self, name: str, kind: int, shape: Sequence[int], least: int, most: int) -> Integers:
        """Return a tensor, rows first."""
        tensor = self._find(name)
        del self._unread[name]
        form = FORMS[kind]
        if tensor.kind != kind:
            raise ValueError(
                f"tensor {name!r} has the ggml type {tensor.kind}: must be {NAMES[kind]}"
            )
        if tensor.shape != tuple(reversed(shape)):
            raise ValueError(
                f"tensor {name!r} has the shape {[*tensor.shape]}: must be {[*reversed(shape)]}"
            )
        size_bytes = int(np.prod(shape)) * form.itemsize
        start = self._header.data_start + tensor.offset
        if start + size_bytes > self._size_bytes:
            raise ValueError(f"the file ends inside tensor {name!r}")
        self._file.seek(start)
        numbers: Integers = np.frombuffer(self._file.read(size_bytes), form).reshape(shape)
        if numbers.min() < least or numbers.max() > most:
            worst = numbers.min() if numbers.min() < least else numbers.max()
            raise ValueError(f"tensor {name!r} has {worst:,}: must be {least:,} to {most:,}")
        return numbers


def _join(parts: Sequence[Linear]) -> Linear:
    """Return a linear layer with the outputs of several ones of the same input."""
    return Linear(
        weights=np.ascontiguousarray(np.concatenate([part.weights for part in parts], axis=1)),
        scales=np.concatenate([part.scales for part in parts]),
        biases=np.concatenate([part.biases for part in parts]),
    )

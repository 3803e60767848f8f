"""The chooser: a BERT encoder with two heads, and late interaction of sentence and call.

    mood: [CLS] sentence [SEP]            head_mood([first; mean])
    call: [CLS] sentence [SEP] call [SEP] head_call([first; mean]) + 15 (late - late0)

`first` is the first token's hidden state, `mean` the mean over all tokens. `late` is the mean, over
the sentence's own tokens, of the best cosine with one of the call's own tokens; `late0` is its mean
before training. Scores are logits in nats.

Names of the parameters are those of Hugging Face's `BertModel`, with the prefix `encoder.`.

Source: Devlin et al., BERT, 2018; Khattab and Zaharia, ColBERT, 2020.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pyevm_agents.models.chooser.sentence_chooser import LATE_WEIGHT
from pyevm_agents.models.chooser.wordpiece import SPECIAL_PIECES, WordPiece
from training.chooser.weights import (
    HEAD_WIDTH,
    ChooserExportError,
    read_pieces,
    read_safetensors,
)
from training.torch_files import load_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

WEIGHTS, SHAPE, VOCABULARY = "model.safetensors", "config.json", "vocab.txt"
"""Files of a base's folder."""

DROPOUT = 0.1
"""Share of the hidden numbers that a training step leaves out, as BERT's own training did."""


class BaseError(Exception):
    """A file of the base is missing, or not what it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of an encoder."""

    vocabulary: int
    positions: int
    layers: int
    width: int
    heads: int
    inner_width: int
    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Inputs of one kind, padded at the end."""

    tokens: Tensor
    """(inputs, length)"""

    lengths: Tensor
    """Tokens of each input, special ones included."""

    sentences: Tensor
    """Tokens of each input's sentence, without special ones."""


class Attention(nn.Module):
    """Self-attention, and the linear and norm after it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.self = nn.ModuleDict(
            {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        )
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(width, width), "LayerNorm": nn.LayerNorm(width, shape.epsilon)}
        )

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """Return the next hidden states (inputs, length, width)."""
        count, length, width = hidden.shape
        query, key, value = (
            part(hidden).view(count, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.self.values()
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(count, length, width)
        added = functional.dropout(self.output["dense"](mixed), DROPOUT, self.training)
        out: Tensor = self.output["LayerNorm"](hidden + added)
        return out


class Layer(nn.Module):
    """A layer of the encoder."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, inner = shape.width, shape.inner_width
        self.attention = Attention(shape)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(inner, width), "LayerNorm": nn.LayerNorm(width, shape.epsilon)}
        )

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """Return the next hidden states (inputs, length, width)."""
        hidden = self.attention(hidden, mask)
        inner = functional.gelu(self.intermediate["dense"](hidden))
        added = functional.dropout(self.output["dense"](inner), DROPOUT, self.training)
        out: Tensor = self.output["LayerNorm"](hidden + added)
        return out


class Encoder(nn.Module):
    """BERT without a pooler; all tokens are of type 0."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(shape.vocabulary, width),
                "position_embeddings": nn.Embedding(shape.positions, width),
                "token_type_embeddings": nn.Embedding(2, width),
                "LayerNorm": nn.LayerNorm(width, shape.epsilon),
            }
        )
        self.encoder = nn.ModuleDict(
            {"layer": nn.ModuleList(Layer(shape) for _ in range(shape.layers))}
        )
        self.fixed_layers = 0
        """Lower layers that are not trained, as are the embeddings if there are any."""

    def fix(self, layers: int) -> None:
        """Leave the embeddings and the lower layers as they are."""
        self.fixed_layers = layers
        for module in (self.embeddings, *self.encoder["layer"][:layers]):
            module.requires_grad_(requires_grad=False)

    def train(self, mode: bool = True) -> Self:  # noqa: FBT001, FBT002 - PyTorch's signature
        """Set training or evaluation; what is fixed stays as in evaluation."""
        super().train(mode)
        for module in self.encoder["layer"][: self.fixed_layers]:
            module.eval()
        return self

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return the last hidden states (inputs, length, width) of padded inputs."""
        places = torch.arange(tokens.shape[1])
        # Without padding no mask is needed, which is faster.
        is_padded = bool((lengths < tokens.shape[1]).any())
        mask = (places < lengths[:, None])[:, None, None, :] if is_padded else None
        layers = self.encoder["layer"]
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.fixed_layers):
            hidden = self.embeddings["word_embeddings"](tokens)
            hidden = hidden + self.embeddings["position_embeddings"](places)
            hidden = hidden + self.embeddings["token_type_embeddings"].weight[0]
            hidden = self.embeddings["LayerNorm"](hidden)
            for layer in layers[: self.fixed_layers]:
                hidden = layer(hidden, mask)
        for layer in layers[self.fixed_layers :]:
            hidden = layer(hidden, mask)
        out: Tensor = hidden
        return out


class Chooser(nn.Module):
    """The encoder with both heads."""

    def __init__(self, shape: Shape, late0: float = 0.0) -> None:
        super().__init__()
        self.shape, self.late0 = shape, late0
        self.encoder = Encoder(shape)
        self.head_call, self.head_mood = (
            nn.Sequential(
                nn.Linear(2 * shape.width, HEAD_WIDTH), nn.Tanh(), nn.Linear(HEAD_WIDTH, 1)
            )
            for _ in range(2)
        )

    def score_calls(self, batch: Batch) -> Tensor:
        """Return the score of each pair of a sentence and a call."""
        hidden = self.encoder(batch.tokens, batch.lengths).float()
        late = interact(hidden, batch)
        score: Tensor = self.head_call(self._pool(hidden, batch)).squeeze(1)
        return score + LATE_WEIGHT * (late - self.late0)

    def score_moods(self, batch: Batch) -> Tensor:
        """Return the score of each sentence's mood."""
        hidden = self.encoder(batch.tokens, batch.lengths).float()
        score: Tensor = self.head_mood(self._pool(hidden, batch)).squeeze(1)
        return score

    def measure_late(self, batch: Batch) -> Tensor:
        """Return the late interaction of each pair."""
        return interact(self.encoder(batch.tokens, batch.lengths).float(), batch)

    def _pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        return functional.dropout(_pool(hidden, batch), DROPOUT, self.training)


def interact(hidden: Tensor, batch: Batch) -> Tensor:
    """Return the late interaction of each pair from the hidden states."""
    places = torch.arange(hidden.shape[1])
    ends = batch.sentences[:, None] + 1
    is_sentence = (places >= 1) & (places < ends)
    is_call = (places > ends) & (places < batch.lengths[:, None] - 1)
    unit = functional.normalize(hidden, dim=2)
    cosines = unit @ unit.transpose(1, 2)
    best = cosines.masked_fill(~is_call[:, None, :], -1.0).amax(2)
    return (best * is_sentence).sum(1) / batch.sentences


def _pool(hidden: Tensor, batch: Batch) -> Tensor:
    places = torch.arange(hidden.shape[1])
    is_token = (places < batch.lengths[:, None])[:, :, None]
    mean = (hidden * is_token).sum(1) / batch.lengths[:, None]
    return torch.cat([hidden[:, 0], mean], 1)


def read_shape(folder: Path) -> Shape:
    """Read the sizes of a base.

    Raises: BaseError: the file can't be read, or is of another kind of network.
    """
    try:
        found = json.loads((folder / SHAPE).read_text("utf-8"))
        kind = (found["model_type"], found["hidden_act"])
        if kind != ("bert", "gelu"):
            raise BaseError(f"base {folder}: is of kind {kind}; pass one of ('bert', 'gelu')")
        return Shape(
            vocabulary=found["vocab_size"],
            positions=found["max_position_embeddings"],
            layers=found["num_hidden_layers"],
            width=found["hidden_size"],
            heads=found["num_attention_heads"],
            inner_width=found["intermediate_size"],
            epsilon=found["layer_norm_eps"],
        )
    except (OSError, ValueError, KeyError) as error:
        raise BaseError(f"base {folder / SHAPE} can't be read: {error}; pass its folder") from error


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the float32 tensors of a safetensors file, less a pooler's.

    Raises: BaseError: the file can't be read.
    """
    try:
        found = read_safetensors(path)
    except (OSError, ChooserExportError) as error:
        raise BaseError(f"weights {path} can't be read: {error}; pass safetensors") from error
    return {
        name: torch.from_numpy(numbers.copy())
        for name, numbers in found.items()
        if not name.startswith("pooler.")
    }


def read_vocabulary(folder: Path) -> WordPiece:
    """Read the vocabulary of a base.

    Raises: BaseError: the file can't be read, or lacks a special piece.
    """
    path = folder / VOCABULARY
    try:
        pieces = read_pieces(path)
    except (OSError, ValueError) as error:
        raise BaseError(f"vocabulary {path} can't be read: {error}; pass its folder") from error
    missing = [one for one in SPECIAL_PIECES if one not in pieces]
    if missing:
        raise BaseError(f"vocabulary {path} lacks {', '.join(missing)}; pass one of BERT")
    return WordPiece(pieces)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a base's file.

    Raises: BaseError: it can't be read.
    """
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BaseError(f"base {path} can't be read: {error.strerror}; pass its folder") from error


def load_run_file(path: Path) -> dict[str, Any]:
    """Read a file of a training run into the CPU's memory.

    Raises: BaseError: it can't be read.
    """
    try:
        found: dict[str, Any] = load_file(path)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0]
        raise BaseError(f"{path} can't be read: {reason}; pass a file of a run") from error
    return found


def make_chooser(folder: Path, seed: int) -> Chooser:
    """Return a chooser with a base's encoder, and new heads.

    The call's score is that of late interaction alone at the start.

    Raises: BaseError: the base can't be read, or its weights do not fit its sizes.
    """
    shape = read_shape(folder)
    torch.manual_seed(seed)
    chooser = Chooser(shape)
    nn.init.zeros_(chooser.head_call[2].weight)
    nn.init.zeros_(chooser.head_call[2].bias)
    try:
        chooser.encoder.load_state_dict(read_weights(folder / WEIGHTS))
    except RuntimeError as error:
        raise BaseError(f"weights {folder / WEIGHTS} do not fit {shape}: {error}") from error
    chooser.eval()
    return chooser


def describe(chooser: Chooser) -> dict[str, Any]:
    """Return sizes and constants, as `load_chooser` reads them."""
    return {"shape": asdict(chooser.shape), "late0": chooser.late0, "late_weight": LATE_WEIGHT}


def load_chooser(state: Mapping[str, Tensor], config: Mapping[str, Any]) -> Chooser:
    """Return the chooser of a file that training wrote."""
    chooser = Chooser(Shape(**config["shape"]), config["late0"])
    chooser.load_state_dict({name: one for name, one in state.items() if name != "late0"})
    chooser.eval()
    return chooser

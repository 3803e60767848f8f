"""A chooser of random weights, small enough for an oracle in Python's integers."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from precompiles.chooser import MAX_INPUT_TOKENS
from training.chooser.weights import LAYER_PARTS, write_chooser

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    State: TypeAlias = dict[str, NDArray[np.float32]]

LAYERS, WIDTH, INNER, HEADS, HEAD_INNER = 2, 16, 24, 2, 6
LATE_START = 0.25

WORDS = ("pay", "##ing", "alice", "stop", "the", "7", ".", ",", "don", "'", "”", "æ")
UNREACHABLE = ("[PAD]", "[unused0]", "中", "##ö", "Upper", "naïve")
PIECES = (
    *UNREACHABLE[:3],
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *WORDS,
    *UNREACHABLE[3:],
    *string.ascii_lowercase,
    *(f"##{letter}" for letter in string.ascii_lowercase),
)
"""A vocabulary in which each word of ASCII letters has tokens."""


SATURATED = ("attention.self.query", "attention.self.value", "intermediate.dense")
"""Parts of a layer whose outputs saturate, if they are large."""


def make_state(seed: int = 1, strength: float = 1.0) -> State:
    """Return a state as a trainer saves it, whose scores differ by some nats.

    Input:  a factor of the parts that saturate.
    """
    chance = np.random.default_rng(seed)

    def draw(*shape: int, spread: float = 1.0, mean: float = 0.0) -> NDArray[np.float32]:
        return chance.normal(mean, spread, shape).astype(np.float32)

    state = {
        "encoder.embeddings.word_embeddings.weight": draw(len(PIECES), WIDTH),
        "encoder.embeddings.position_embeddings.weight": draw(
            MAX_INPUT_TOKENS + 3, WIDTH, spread=0.3
        ),
        "encoder.embeddings.token_type_embeddings.weight": draw(2, WIDTH),
        "late0": np.array(LATE_START, np.float32),
    }
    norms = ["encoder.embeddings.LayerNorm"]
    matrices = {
        f"head_{head}.{layer}": shape
        for head in ("mood", "call")
        for layer, shape in (("0", (HEAD_INNER, 2 * WIDTH)), ("2", (1, HEAD_INNER)))
    }
    sizes = {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
    for layer in range(LAYERS):
        prefix = f"encoder.encoder.layer.{layer}"
        norms += [f"{prefix}.{part}" for part in LAYER_PARTS if part.endswith("LayerNorm")]
        matrices |= {
            f"{prefix}.{part}": sizes.get(part, (WIDTH, WIDTH))
            for part in LAYER_PARTS
            if not part.endswith("LayerNorm")
        }
    for name in norms:
        state[f"{name}.weight"] = draw(WIDTH, spread=0.2, mean=1.0)
        state[f"{name}.bias"] = draw(WIDTH, spread=0.2)
    for name, shape in matrices.items():
        factor = strength if name.endswith(SATURATED) else 1.0
        state[f"{name}.weight"] = draw(*shape, spread=factor * shape[1] ** -0.5)
        state[f"{name}.bias"] = draw(shape[0], spread=0.2)
    return state


def write_tiny_chooser(path: Path, seed: int = 1, strength: float = 1.0) -> Path:
    """Write the chooser's file."""
    write_chooser(make_state(seed, strength), PIECES, path, heads=HEADS)
    return path

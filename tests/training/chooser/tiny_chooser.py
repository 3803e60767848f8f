"""A tiny encoder with random weights, and a few pairs."""

from __future__ import annotations

import gzip
import json
import random
import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz", "=", "."]
SHAPE = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "vocab_size": len(PIECES),
    "max_position_embeddings": 64,
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "layer_norm_eps": 1e-12,
}


def write_base(folder: Path) -> Path:
    """Write the files of a base."""
    import torch  # noqa: PLC0415 - tests of the data need none

    from training.chooser.network import Encoder, read_shape  # noqa: PLC0415 - needs PyTorch

    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    (folder / "config.json").write_text(json.dumps(SHAPE))
    torch.manual_seed(7)
    write_safetensors(folder / "model.safetensors", Encoder(read_shape(folder)).state_dict())
    return folder


def write_safetensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors in float32, and one that is none of the encoder's."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        numbers = tensor.numpy().astype("<f4").tobytes()
        offsets = [len(data), len(data) + len(numbers)]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": offsets}
        data += numbers
    end = [len(data), len(data) + 8]
    header["embeddings.position_ids"] = {"dtype": "I64", "shape": [1], "data_offsets": end}
    data += np.zeros(1, "<i8").tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_pairs(path: Path, count: int = 90, *, choices: int = 0) -> Path:
    """Write pairs: a sentence of letters orders the call that begins with the same letter.

    Choices of a call follow: of three with other letters, or two without the right one.
    """
    rng = random.Random(3)  # noqa: S311 - made-up data
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for _ in range(count):
            letters = rng.choices("abcdef", k=rng.randint(2, 9))
            accepts = rng.random() < 0.5
            first = letters[0] if accepts else "z"
            row = {
                "sentence": " ".join(letters),
                "call": f"{first} = {' '.join(rng.choices('uvw', k=rng.randint(1, 5)))}",
                "kind": "plain" if accepts else "value",
                "accepts": accepts,
                "orders": rng.choice([True, False, None]),
                "family": "letters",
                "part": "calibration",
            }
            file.write(json.dumps(row) + "\n")
        for _ in range(choices):
            letters = rng.sample("abcdef", k=3)
            right = rng.choice([0, 1, 2, None])
            calls = [f"{one} = u" for one in letters if right is not None or one != letters[0]]
            chosen = {"clause": letters[right or 0], "calls": calls, "right": right}
            file.write(json.dumps(chosen | {"setting": "plain"}) + "\n")
    return path

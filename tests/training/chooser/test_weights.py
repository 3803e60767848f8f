"""Export of a chooser: 8 bits a row, a vocabulary without the unreachable, errors in words."""

from __future__ import annotations

import json
import re
import struct
from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.models.chooser.chooser_file import open_chooser
from pyevm_agents.models.chooser.encoder import SCALE_END
from tests.tiny_chooser import HEADS, PIECES, UNREACHABLE, WIDTH, make_state
from training.chooser import weights as chooser_weights
from training.chooser.weights import (
    ChooserExportError,
    build_frozen_state,
    quantise_rows,
    read_safetensors,
    write_chooser,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

LAYER = "encoder.encoder.layer.0"
EMBEDDINGS = "encoder.embeddings"


def read_tensors(path: Path) -> dict[str, NDArray[np.int32]]:
    return {each.name: each.data for each in gguf.GGUFReader(path).tensors}


@given(st.integers(0, 2**32 - 1), st.floats(-24, 2))
def test_a_quantised_row_is_near_the_row(seed: int, exponent: float) -> None:
    rows = np.random.default_rng(seed).normal(size=(3, 9)) * 2**exponent
    rows[1] = 0
    weights, scales = quantise_rows(rows)
    assert np.abs(weights).max() <= 127
    assert weights[1].tolist() == [0] * 9
    steps = scales[:, None] / 2.0**26
    assert (np.abs(weights * steps - rows) <= steps * 0.5001).all()
    assert (scales <= np.abs(rows).max(axis=1) / 127 * 2**26 + 1).all()


def test_the_file_has_what_the_trainer_saved(tmp_path: Path) -> None:
    path, state = tmp_path / "chooser.gguf", make_state()
    write_chooser(state, PIECES, path, heads=HEADS, facts={"seed": "7"})
    reader = gguf.GGUFReader(path)
    said = {key: field.contents() for key, field in reader.fields.items()}
    assert (said["general.architecture"], said["training.seed"]) == ("chooser", "7")
    kept = [piece for piece in PIECES if piece not in UNREACHABLE]
    assert said["tokenizer.ggml.tokens"] == kept
    tensors = read_tensors(path)

    def dequantise(name: str) -> NDArray[np.float64]:
        found: NDArray[np.float64] = tensors[f"{name}.weight"] * (
            tensors[f"{name}.scale"][:, None] / 2.0**26
        )
        return found

    def is_near(found: NDArray[np.float64], exact: NDArray[np.float32]) -> bool:
        return bool(np.abs(found - exact).max() <= np.abs(exact).max() / 250)

    words = state[f"{EMBEDDINGS}.word_embeddings.weight"]
    assert is_near(dequantise("token_embd"), words[[PIECES.index(piece) for piece in kept]])
    places = state[f"{EMBEDDINGS}.position_embeddings.weight"][:227]
    kinds = state[f"{EMBEDDINGS}.token_type_embeddings.weight"]
    assert is_near(dequantise("position_embd"), places + kinds[0])
    query, key = (state[f"{LAYER}.attention.self.{part}.weight"] for part in ("query", "key"))
    assert is_near(dequantise("blk.0.attn_q"), query / (WIDTH / HEADS) ** 0.5)
    assert is_near(dequantise("blk.0.attn_k"), key)
    assert is_near(dequantise("call.0"), state["head_call.0.weight"])
    bias = state[f"{LAYER}.attention.self.query.bias"] / (WIDTH / HEADS) ** 0.5
    assert np.abs(tensors["blk.0.attn_q.bias"] - bias * 2**16).max() <= 0.5
    gains = state[f"{LAYER}.output.LayerNorm.weight"].astype(float) * WIDTH**0.5
    assert np.abs(tensors["blk.0.layer_output_norm.weight"] - gains * 2**16).max() <= 0.5


def test_the_same_state_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_chooser(make_state(), PIECES, tmp_path / name, heads=HEADS, facts={"b": "", "a": ""})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"late0": None}, "the state lacks late0; save the whole model's state"),
        ({f"{LAYER}.output.dense.bias": None}, f"the state lacks {LAYER}.output.dense.bias"),
        ({"head_mood.2.weight": np.zeros(6)}, "head_mood.2.weight of shape [6]: must be finite"),
        ({"head_mood.2.bias": np.array([np.nan])}, "head_mood.2.bias of shape [1]: must be finite"),
        (
            {"head_mood.2.weight": np.full((1, 6), 32.0)},
            "mood.1 has numbers up to 32: must be below 31",
        ),
        ({"head_mood.2.bias": np.full(1, 1024.0)}, "mood.1.bias has numbers up to 1.02e+03: must"),
        (
            {f"{EMBEDDINGS}.position_embeddings.weight": np.zeros((226, WIDTH))},
            "226 positions: must be at least 227",
        ),
        (
            {f"{EMBEDDINGS}.word_embeddings.weight": np.zeros((3, WIDTH))},
            f"vocabulary of {len(PIECES)} pieces: must have 3, one for each word embedding",
        ),
    ],
)
def test_a_state_that_does_not_fit_is_refused(
    tmp_path: Path, changes: Mapping[str, NDArray[np.float32] | None], message: str
) -> None:
    changed = {**make_state(), **changes}
    state = {name: each for name, each in changed.items() if each is not None}
    with pytest.raises(ChooserExportError, match=re.escape(message)):
        write_chooser(state, PIECES, tmp_path / "chooser.gguf", heads=HEADS)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_too_large_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chooser_weights, "MAX_BYTES", 1000)
    with pytest.raises(ChooserExportError, match=r"bytes: must have at most 1,000; use a smaller"):
        write_chooser(make_state(), PIECES, tmp_path / "chooser.gguf", heads=HEADS)
    assert list(tmp_path.iterdir()) == []


def test_the_largest_scale_is_written(tmp_path: Path) -> None:
    most = 127 * (SCALE_END - 1) / 2**26
    state = make_state() | {"head_mood.2.weight": np.full((1, 6), most, np.float64)}
    write_chooser(state, PIECES, tmp_path / "chooser.gguf", heads=HEADS)
    assert read_tensors(tmp_path / "chooser.gguf")["mood.1.scale"].tolist() == [SCALE_END - 1]


def write_safetensors(path: Path, state: Mapping[str, NDArray[np.float32]]) -> None:
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in state.items():
        offsets = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": "F32", "shape": [*array.shape], "data_offsets": offsets}  # type: ignore[dict-item]
        data += array.tobytes()
    header["ids"] = {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]}  # type: ignore[dict-item]
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_a_frozen_encoder_has_heads_of_zeros(tmp_path: Path, prefix: str) -> None:
    state = {
        name.replace("encoder.", prefix, 1): each
        for name, each in make_state().items()
        if name.startswith("encoder.")
    }
    write_safetensors(tmp_path / "model.safetensors", state)
    frozen = build_frozen_state(read_safetensors(tmp_path / "model.safetensors"))
    assert frozen["head_call.0.weight"].shape == (64, 2 * WIDTH)
    write_chooser(frozen, PIECES, tmp_path / "chooser.gguf", heads=HEADS)
    chooser = open_chooser(tmp_path / "chooser.gguf")
    assert chooser.score_moods(["pay alice", "stop"]) == (0, 0)
    (same,) = chooser.score_calls([("pay alice", "pay alice")])
    assert 0 < same <= 15 * 2**16


@pytest.mark.parametrize("content", [b"", bytes(8), b"\xff" * 9, struct.pack("<Q", 2) + b"[]"])
def test_what_is_not_safetensors_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ChooserExportError, match="can't be read as safetensors"):
        read_safetensors(tmp_path / "model")

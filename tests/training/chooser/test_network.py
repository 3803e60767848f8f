from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")

import torch

from pyevm_agents.models.chooser.sentence_chooser import LATE_WEIGHT
from tests.training.chooser.tiny_chooser import SHAPE, write_base, write_safetensors
from training.chooser.batches import Examples
from training.chooser.network import (
    BaseError,
    Batch,
    interact,
    load_chooser,
    make_chooser,
    read_shape,
    read_vocabulary,
)

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = Examples(
    tokens=((2, 5, 6, 3, 7, 8, 9, 3), (2, 5, 3, 7, 3), (2, 5, 6, 7, 3, 9, 3)), sentences=(2, 1, 3)
)


def test_a_score_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    chooser = make_chooser(write_base(tmp_path), 1)
    torch.nn.init.normal_(chooser.head_call[2].weight)
    with torch.no_grad():
        for compute in (chooser.score_calls, chooser.score_moods):
            together = compute(EXAMPLES.batch([0, 1, 2]))
            alone = torch.cat([compute(EXAMPLES.batch([place])) for place in range(3)])
            assert torch.allclose(together, alone, atol=1e-5)


def test_the_first_score_of_a_call_is_late_interaction(tmp_path: Path) -> None:
    chooser = make_chooser(write_base(tmp_path), 1)
    chooser.late0 = 0.25
    batch = EXAMPLES.batch([0, 2])
    with torch.no_grad():
        late = chooser.measure_late(batch)
        assert torch.allclose(chooser.score_calls(batch), LATE_WEIGHT * (late - 0.25))


def test_late_interaction_has_no_special_token_and_no_padding() -> None:
    hidden = torch.tensor(
        [
            # [CLS], two of the sentence, [SEP], two of the call, [SEP], padding
            [[9.0, 9], [1, 0], [0, 2], [1, 1], [3, 0], [3, 4], [0, 1], [0, 1]],
        ]
    )
    batch = Batch(
        tokens=torch.zeros(1, 8, dtype=torch.int64),
        lengths=torch.tensor([7]),
        sentences=torch.tensor([2]),
    )
    # The best cosines are 1 (with 3, 0) and 0.8 (with 3, 4).
    assert interact(hidden, batch).item() == pytest.approx(0.9)


def test_fixed_layers_have_no_gradient(tmp_path: Path) -> None:
    chooser = make_chooser(write_base(tmp_path), 1)
    chooser.encoder.fix(1)
    torch.nn.init.normal_(chooser.head_call[2].weight)
    chooser.score_calls(EXAMPLES.batch([0, 1])).sum().backward()
    found = {name for name, one in chooser.named_parameters() if one.grad is not None}
    assert all(name.startswith(("encoder.encoder.layer.1.", "head_call.")) for name in found)
    assert any(name.startswith("encoder.encoder.layer.1.attention.self.query") for name in found)


def test_a_chooser_is_read_again(tmp_path: Path) -> None:
    chooser = make_chooser(write_base(tmp_path), 1)
    config = {"shape": {**_shape(tmp_path)}, "late0": 0.5}
    state = chooser.state_dict() | {"late0": torch.tensor(0.5)}
    again = load_chooser(state, config)
    assert again.late0 == 0.5
    batch = EXAMPLES.batch([0])
    with torch.no_grad():
        assert torch.equal(again.score_moods(batch), chooser.score_moods(batch))


def _shape(folder: Path) -> dict[str, object]:
    shape = read_shape(folder)
    return {name: getattr(shape, name) for name in shape.__slots__}


def test_a_base_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BaseError, match="can't be read"):
        make_chooser(tmp_path, 1)
    folder = write_base(tmp_path)
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace('"bert"', '"gpt2"'))
    with pytest.raises(BaseError, match="is of kind"):
        make_chooser(folder, 1)
    (folder / "config.json").write_text(
        text.replace('"num_hidden_layers": 2', '"num_hidden_layers": 3')
    )
    with pytest.raises(BaseError, match="do not fit"):
        make_chooser(folder, 1)
    (folder / "config.json").write_text(text)
    (folder / "model.safetensors").write_bytes(b"GGUF")
    with pytest.raises(BaseError, match="pass safetensors"):
        make_chooser(folder, 1)
    write_safetensors(folder / "model.safetensors", {"x": torch.zeros(1)})
    with pytest.raises(BaseError, match="do not fit"):
        make_chooser(folder, 1)
    assert SHAPE["num_hidden_layers"] == 2


def test_a_vocabulary_needs_the_special_pieces(tmp_path: Path) -> None:
    with pytest.raises(BaseError, match="can't be read"):
        read_vocabulary(tmp_path)
    (tmp_path / "vocab.txt").write_text("[UNK]\n[SEP]\n")
    with pytest.raises(BaseError, match=r"lacks \[CLS\]"):
        read_vocabulary(tmp_path)

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

import gguf
import numpy as np
import torch

from tests.training.tiny_base import CPU, busy_adapter, tiny_base
from training import checkpoint
from training.checkpoint import Checkpoint
from training.export import MAX_BYTES, ExportError, export, main
from training.lora import LoraShape, adapter_of
from training.training_run import read_start

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def trained(tmp_path: Path) -> Checkpoint:
    weights = tiny_base(tmp_path)
    return Checkpoint(
        step=3,
        elapsed_seconds=1.5,
        adapter=busy_adapter(weights).tensors(),
        optimiser={},
        random_state=torch.get_rng_state(),
        shaping={"seed": 5, "rank": 4, "alpha": 8.0, "layers": (1, 2), "decay": "linear"},
        base_sha256=weights.sha256,
        base_name=weights.name,
        base_licence=weights.licence,
        data_sha256="cd",
    )


def test_the_file_holds_the_adapter_as_llama_cpp_reads_it(
    tmp_path: Path, trained: Checkpoint
) -> None:
    path = tmp_path / "adapter.gguf"
    export(trained, path)
    reader = gguf.GGUFReader(path)
    said = {key: field.contents() for key, field in reader.fields.items()}
    assert said["general.type"] == "adapter"
    assert said["general.architecture"] == "llama"
    assert said["general.license"] == "cc0-1.0"
    assert (said["adapter.type"], said["adapter.lora.alpha"]) == ("lora", 8.0)
    assert said["training.base_sha256"] == trained.base_sha256
    assert (said["training.seed"], said["training.layers"]) == ("5", "1,2")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    assert tensors.keys() == trained.adapter.keys()
    for name, numbers in trained.adapter.items():
        assert tensors[name].tensor_type == gguf.GGMLQuantizationType.F16
        assert np.array_equal(tensors[name].data, numbers.half().numpy())
    # Names ggml's way, the inner dimension first.
    assert tensors["blk.1.ffn_up.weight.lora_a"].shape.tolist() == [64, 4]
    assert tensors["blk.1.ffn_up.weight.lora_b"].shape.tolist() == [4, 96]


def test_the_same_checkpoint_gives_the_same_bytes(tmp_path: Path, trained: Checkpoint) -> None:
    for name in ("one", "other"):
        export(trained, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_numbers_may_stay_whole(tmp_path: Path, trained: Checkpoint) -> None:
    export(trained, tmp_path / "adapter.gguf", numbers="f32")
    for tensor in gguf.GGUFReader(tmp_path / "adapter.gguf").tensors:
        assert np.array_equal(tensor.data, trained.adapter[tensor.name].numpy())


@pytest.mark.parametrize(("numbers", "tolerance"), [("f32", 0.0), ("f16", 1e-3)])
def test_an_exported_adapter_can_be_trained_on(
    tmp_path: Path, trained: Checkpoint, numbers: str, tolerance: float
) -> None:
    path = tmp_path / "adapter.gguf"
    export(trained, path, numbers=numbers)
    found = read_start(path)
    assert found.keys() == trained.adapter.keys()
    for name, matrix in trained.adapter.items():
        torch.testing.assert_close(found[name], matrix, rtol=tolerance, atol=tolerance)
    shape = LoraShape(rank=4, alpha=8.0, layers=(1, 2))
    assert adapter_of(shape, found, CPU).tensors().keys() == found.keys()


def test_blocks_of_bytes_take_half_and_need_a_rank_that_fills_them(
    tmp_path: Path, trained: Checkpoint
) -> None:
    path = tmp_path / "adapter.gguf"
    with pytest.raises(
        ExportError, match=r"lora_b has rows of 4: must be a multiple of q8_0's blocks"
    ):
        export(trained, path, numbers="q8_0")
    name = "blk.1.attn_q.weight.lora_a"
    matrix = torch.linspace(-1, 1, 64 * 32).reshape(32, 64)
    export(dataclasses.replace(trained, adapter={name: matrix}), path, numbers="q8_0")
    (tensor,) = gguf.GGUFReader(path).tensors
    assert tensor.tensor_type == gguf.GGMLQuantizationType.Q8_0
    read = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    assert np.abs(read - matrix.numpy()).max() < 1 / 127


def test_what_does_not_fit_is_refused_and_leaves_no_file(
    tmp_path: Path, trained: Checkpoint
) -> None:
    path = tmp_path / "adapter.gguf"
    name = "blk.1.attn_q.weight.lora_a"
    huge = trained.adapter[name].new_zeros(MAX_BYTES // 2 // 64, 64)
    with pytest.raises(ExportError, match=f"must be at most {MAX_BYTES:,}"):
        export(dataclasses.replace(trained, adapter={name: huge}), path)
    with pytest.raises(
        ExportError, match=r"blk\.1.* has numbers up to 70000.0, out of f16's range"
    ):
        export(dataclasses.replace(trained, adapter={name: torch.full((4, 64), 7e4)}), path)
    assert [file.name for file in tmp_path.iterdir()] == ["tiny.gguf"]


def test_the_command_says_what_it_wrote_or_why_not(
    tmp_path: Path, trained: Checkpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, out = tmp_path / "checkpoint.pt", tmp_path / "adapter.gguf"
    assert main([str(saved), str(out)]) == 1
    assert "can't be read: No such file" in capsys.readouterr().err
    checkpoint.save(trained, saved)
    assert main([str(saved), str(out)]) == 0
    assert f"{out}: {out.stat().st_size:,} bytes" in capsys.readouterr().out

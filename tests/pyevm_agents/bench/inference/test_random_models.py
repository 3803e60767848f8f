from __future__ import annotations

import ctypes
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import gguf
import llama_cpp
import numpy as np
import pytest

from precompiles.language_model import GenerationRequest, Segment
from pyevm_agents.bench.inference import random_models
from pyevm_agents.bench.inference.model_shapes import (
    ARCHITECTURE,
    Q4_K,
    Q5_0,
    Q6_K,
    Q8_0,
    GgmlType,
    ModelShape,
    Tensor,
    count_shape_parameters,
    count_tensor_bytes,
    list_tensors,
)
from pyevm_agents.bench.inference.random_models import (
    FILE_TYPE,
    add_entries,
    generate_blocks,
    require_gguf,
    write_model,
)
from pyevm_agents.bench.inference.synthetic_vocabulary import SyntheticVocabulary
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel
from tests.pyevm_agents.bench.tiny_model import TINY, tiny_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SMALL = ModelShape(
    name="small",
    layers=9,
    width=256,
    heads=4,
    kv_heads=2,
    feed_forward=512,
    vocabulary_tokens=64,
)
LETTERS = SyntheticVocabulary(
    splitting="smollm",
    tokens=[f"t{index}" for index in range(64)],
    kinds=[1] * 64,
    merges=[],
    beginning=0,
    end=1,
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaModel]:
    with LlamaModel(tiny_model(tmp_path_factory.mktemp("tiny")), threads=1) as model:
        yield model


def write_floats(shape: ModelShape, path: Path) -> None:
    writer = gguf.GGUFWriter(path, ARCHITECTURE)
    add_entries(writer, shape, LETTERS)
    for one in list_tensors(shape):
        is_vector = one.rows == 1
        numbers = np.ones((one.rows, one.columns), np.float32 if is_vector else np.float16)
        writer.add_tensor(one.name, numbers[0] if is_vector else numbers)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("width", [256, 288])
def test_types_are_those_that_llama_cpp_itself_chooses(tmp_path: Path, width: int) -> None:
    shape = replace(SMALL, width=width)
    floats, quantised = tmp_path / "floats.gguf", tmp_path / "quantised.gguf"
    write_floats(shape, floats)
    options = llama_cpp.llama_model_quantize_default_params()
    options.ftype = FILE_TYPE
    status = llama_cpp.llama_model_quantize(
        str(floats).encode(), str(quantised).encode(), ctypes.byref(options)
    )
    assert status == 0
    theirs = {one.name: one.tensor_type.name for one in gguf.GGUFReader(quantised).tensors}
    assert {one.name: one.kind.name for one in list_tensors(shape)} == theirs


@pytest.mark.parametrize("kind", [Q4_K, Q5_0, Q6_K, Q8_0], ids=lambda kind: kind.name)
def test_random_blocks_keep_the_variance_of_a_product_at_one(kind: GgmlType) -> None:
    tensor = Tensor(name="x", kind=kind, rows=64, columns=1_536)
    blocks = generate_blocks(tensor, np.random.default_rng(3))
    assert blocks.nbytes == tensor.file_bytes
    numbers = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[kind.name])
    assert numbers.shape == (64, 1_536)
    assert np.isfinite(numbers).all()
    spread = float(numbers.std()) * 1_536**0.5
    assert spread == pytest.approx(1.0, rel=0.06)
    assert abs(float(numbers.mean())) < 0.1 * float(numbers.std())


def test_the_file_is_as_large_as_told_and_the_same_each_time(tmp_path: Path) -> None:
    paths = [tmp_path / "one.gguf", tmp_path / "two.gguf"]
    for path in paths:
        write_model(SMALL, path, LETTERS)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    reader = gguf.GGUFReader(paths[0])
    assert sum(one.n_elements for one in reader.tensors) == count_shape_parameters(SMALL)
    assert sum(one.n_bytes for one in reader.tensors) == count_tensor_bytes(SMALL)
    write_model(SMALL, paths[1], LETTERS, seed=8)
    assert paths[0].read_bytes() != paths[1].read_bytes()


@pytest.mark.slow
def test_a_tiny_model_generates_and_always_the_same(tiny: LlamaModel) -> None:
    facts = tiny.profile_facts
    assert (facts.architecture, facts.vocabulary_tokens) == ("qwen2", 50_000)
    tokens = tiny.tokenize((Segment(text="Deposit 10 USDC into the pool"),))
    request = GenerationRequest(
        segments=(), prompt_tokens=tokens, grammar="start: /[^\\n]{400}/\n", max_tokens=8
    )
    said = tiny.generate(request)
    assert len(said.tokens) == 8
    assert said.forced_tokens == 0
    assert tiny.generate(request) == said
    tiny.forget()
    assert tiny.generate(request) == said
    assert replace(tiny.generate_reference(request), margin=None) == replace(said, margin=None)


def test_a_vocabulary_of_another_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a vocabulary of 64 tokens for tiny-random, which has"):
        write_model(TINY, tmp_path / "tiny.gguf", LETTERS)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_nothing_is_left_of_a_file_that_was_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    real, calls = generate_blocks, []

    def fails(tensor: Tensor, generator: np.random.Generator) -> object:
        calls.append(tensor)
        if len(calls) == 3:
            raise error
        return real(tensor, generator)

    monkeypatch.setattr(random_models, "generate_blocks", fails)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write_model(SMALL, tmp_path / "small.gguf", LETTERS)
    assert len(calls) == 3
    assert not [*tmp_path.iterdir()]


def test_without_the_package_an_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ConfigError, match=r"pip install 'gguf[^']+'"):
        require_gguf()

"""Weights are repacked only where that is faster and invariant."""

from __future__ import annotations

import json
import platform
import struct
from typing import TYPE_CHECKING

import pytest

from benchmarks.invariance import model_file
from precompiles.language_model import Segment
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel, Vocabulary
from pyevm_agents.models.engine_messages import EngineRequest
from pyevm_agents.models.gguf.files import HEADER, find_default_model
from pyevm_agents.models.llama.cpu import NOT_REPACKED, WeightKind, is_repacked

if TYPE_CHECKING:
    from pathlib import Path

F32, Q4_0, Q6_K = WeightKind("f32"), WeightKind("q4_0"), WeightKind("q6_K")
SEED_TEXT = (Segment(text="Deploy 10 USDC to addr1, then say what is left of it. " * 5),)


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param([Q4_0], id="nothing else"),
        pytest.param([F32, Q4_0, Q6_K], id="as llama-quantize writes it"),
        pytest.param([F32, Q4_0, WeightKind("q8_0")], id="rows that 256 does not divide"),
        pytest.param([Q4_0, *map(WeightKind, NOT_REPACKED)], id="whatever is left alone"),
    ],
)
@pytest.mark.parametrize("machine", ["x86_64", "AMD64"])
def test_q4_0_is_repacked(kinds: list[WeightKind], machine: str) -> None:
    assert is_repacked(kinds, machine)


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param([], id="no weights known"),
        pytest.param([F32, WeightKind("q4_1")], id="the default model"),
        pytest.param(map(WeightKind, NOT_REPACKED), id="nothing to gain"),
        pytest.param([F32, WeightKind("q4_K"), Q6_K], id="Q4_K_M, which is not invariant"),
        pytest.param([F32, Q4_0, WeightKind("q4_K")], id="Q4_0 with some Q4_K"),
        pytest.param([F32, Q4_0, WeightKind("iq4_nl")], id="a type that nobody measured"),
        pytest.param([F32, Q4_0, WeightKind("of 2040")], id="a type that nobody knows"),
        pytest.param([F32, Q4_0, WeightKind("q4_0", is_stack=True)], id="experts"),
    ],
)
def test_what_is_not_measured_or_not_invariant_is_not(kinds: list[WeightKind]) -> None:
    assert not is_repacked(kinds, "x86_64")


@pytest.mark.parametrize("machine", ["aarch64", "arm64", "riscv64"])
def test_other_architectures_repack_nothing(machine: str) -> None:
    assert not is_repacked([F32, Q4_0], machine)


def kinds_of(path: Path) -> set[WeightKind]:
    from pyevm_agents.models.llama.bindings import read_weight_kinds  # noqa: PLC0415 - loads llama.cpp

    return read_weight_kinds(str(path))


def gguf(*shape: int, parts: int | None = None) -> bytes:
    """Return a file of one Q4_0 tensor, with the metadata of a split model if it has parts."""
    key = b"split.count"
    entry = struct.pack("<Q", len(key)) + key + struct.pack("<IH", 2, parts or 0)
    head = HEADER.pack(b"GGUF", 3, 1, parts is not None) + entry * (parts is not None)
    head += struct.pack(f"<QcI{len(shape)}QIQ", 1, b"w", len(shape), *shape, 2, 0)
    return head.ljust(-(-len(head) // 32) * 32, b"\0") + bytes(4096)


def test_the_kinds_of_weights_are_read_from_the_file(tmp_path: Path) -> None:
    assert kinds_of(find_default_model()) == {F32, WeightKind("q4_1"), WeightKind("q8_0")}
    path = tmp_path / "small.gguf"
    for content, kinds in (
        (gguf(32, 8), {Q4_0}),
        (gguf(32, 8, 4), {WeightKind("q4_0", is_stack=True)}),
        (gguf(32, 8, parts=2), set()),
    ):
        path.write_bytes(content)
        assert kinds_of(path) == kinds


def test_a_file_that_ggml_cannot_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(gguf(32, 8)[:40])
    with pytest.raises(ConfigError, match=r"can't load the model file .*cut.gguf \(40 bytes\)"):
        kinds_of(path)


@pytest.fixture(scope="module")
def q4_0(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default model's first layers as Q4_0."""
    return model_file("Q4_0", tmp_path_factory.mktemp("models"), layers=2)


def logits(model: LlamaModel, tokens: list[int], *, batch_tokens: int = 512) -> str:
    request = EngineRequest(operation="logits", tokens=tokens, max_tokens=batch_tokens)
    return model.engine.ask(request)["logits"]


@pytest.mark.slow
def test_a_repacked_model_gives_the_same_bits_in_every_shape(q4_0: Path) -> None:
    found: dict[str, str] = {}
    fingerprints = set()
    for threads in (1, 2):
        with LlamaModel(q4_0, threads=threads) as model:
            tokens = list(model.tokenize(SEED_TEXT))[:70]
            fingerprints.add(model.profile_facts.fingerprint)
            for batch_tokens in (512, 16, 5, 4, 3, 1):
                model.engine.ask(EngineRequest(operation="forget"))
                name = f"{threads} threads, batch {batch_tokens}"
                found[name] = logits(model, tokens, batch_tokens=batch_tokens)
            for split in (7, 40, 68):
                model.engine.ask(EngineRequest(operation="forget"))
                logits(model, tokens[:split] + [9] * 8)
                found[f"{threads} threads, {split} kept"] = logits(model, tokens)
    assert len(set(found.values())) == 1, found
    (fingerprint,) = fingerprints
    expected = is_repacked([Q4_0], platform.machine())
    assert json.loads(fingerprint)["repacked"] is expected
    with Vocabulary(q4_0) as vocabulary:
        assert json.loads(vocabulary.profile_facts.fingerprint)["repacked"] is expected

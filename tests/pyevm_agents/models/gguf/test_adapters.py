"""An adapter changes a model's identity and generations, not its determinism."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.adapters import adapter_bytes, write_random_adapter
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models import NO_ADAPTER, LlamaModel, ScriptedModel, Vocabulary
from pyevm_agents.models.engine_messages import EngineRequest
from pyevm_agents.models.gguf import files as gguf
from pyevm_agents.models.gguf.files import find_default_model
from pyevm_agents.models.llama import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyevm_agents.models.engine_messages import StatsMessage
    from tests.pyevm_agents.models.conftest import MakeRequest

BOUND = 2 * (744 + 60 * 23_056)
"""Size of two states of 60 tokens: small enough to evict some."""


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter of random weights for all linear layers of the default model."""
    folder = tmp_path_factory.mktemp("adapters")
    return write_random_adapter(find_default_model(), folder / "random.gguf")


@pytest.fixture(scope="module")
def adapted(adapter: Path) -> Iterator[LlamaModel]:
    """The default model with that adapter and a small prefix cache."""
    with LlamaModel(adapter=adapter, threads=2, prefix_cache_bytes=BOUND) as model:
        yield model


@pytest.fixture(scope="module")
def alone(adapter: Path) -> Iterator[LlamaModel]:
    """The default model with that adapter, in a separate process without prefix cache."""
    with LlamaModel(adapter=str(adapter), threads=1, prefix_cache_bytes=0) as model:
        yield model


@pytest.fixture(scope="module")
def bare() -> Iterator[LlamaModel]:
    """The default model without adapter."""
    with LlamaModel(adapter=NO_ADAPTER, threads=1) as model:
        yield model


def small(path: Path, seed: int = 1, name: str | None = None) -> Path:
    """Write an adapter of one matrix."""
    chance = np.random.default_rng(seed)
    tensors = {
        f"blk.29.ffn_down.weight.lora_{side}": chance.standard_normal(shape, dtype=np.float32)
        for side, shape in (("a", (4, 1536)), ("b", (576, 4)))
    }
    path.write_bytes(adapter_bytes(tensors, changes={"general.name": name}))
    return path


def logits(
    model: LlamaModel, tokens: list[int], *, batch_tokens: int = 512
) -> tuple[str, StatsMessage]:
    reply = model.engine.ask(
        EngineRequest(operation="logits", tokens=tokens, max_tokens=batch_tokens)
    )
    return reply["logits"], reply["work"]


def fresh(model: LlamaModel, tokens: list[int], *, batch_tokens: int = 512) -> str:
    model.forget()
    return logits(model, tokens, batch_tokens=batch_tokens)[0]


def canary_of(model: LlamaModel | Vocabulary) -> str:
    canary: str = json.loads(model.profile_facts.fingerprint)["canary"]
    return canary


@pytest.mark.slow
def test_the_digest_is_that_of_both_files(
    adapter: Path, adapted: LlamaModel, bare: LlamaModel
) -> None:
    files = (find_default_model(), adapter)
    both = b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)
    assert adapted.profile_facts.digest == hashlib.sha256(both).digest()
    assert bare.profile_facts.digest == both[:32]
    assert adapted.adapter == adapter
    assert bare.adapter is None


@pytest.mark.slow
def test_an_adapter_changes_the_canary_the_name_and_the_digest_alone(
    adapted: LlamaModel, alone: LlamaModel, bare: LlamaModel
) -> None:
    assert canary_of(adapted) != canary_of(bare)
    assert adapted.profile_facts == alone.profile_facts
    facts, plain = adapted.profile_facts, bare.profile_facts
    assert facts.name == "random"
    assert (
        replace(facts, digest=plain.digest, name=plain.name, fingerprint=plain.fingerprint) == plain
    )


@pytest.mark.slow
def test_models_without_weights_have_the_digest_of_the_model_that_they_stand_for(
    adapter: Path, adapted: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = adapted.profile_facts
    with Vocabulary(adapter=adapter) as vocabulary:
        assert replace(vocabulary.profile_facts, fingerprint=expected.fingerprint) == expected
        assert canary_of(vocabulary) == ""
    monkeypatch.setattr(gguf, "DEFAULT_ADAPTER", adapter)
    with ScriptedModel([]) as scripted, Vocabulary(adapter=NO_ADAPTER) as plain:
        assert scripted.profile_facts.digest == expected.digest
        assert plain.profile_facts.digest == gguf.hash_file(find_default_model())
    assert LlamaModel().adapter == adapter
    assert LlamaModel(find_default_model()).adapter is None


@pytest.mark.slow
def test_all_shapes_give_the_same_bits(adapted: LlamaModel, alone: LlamaModel) -> None:
    prompt = [1000 + 7 * number for number in range(60)]
    found = {"alone": fresh(alone, prompt)}
    for batch_tokens in (512, 64, 8, 1):
        found[f"batch {batch_tokens}"] = fresh(adapted, prompt, batch_tokens=batch_tokens)
    for split in (7, 40):
        fresh(adapted, prompt[:split])
        found[f"split after {split}"] = logits(adapted, prompt)[0]
    assert len(set(found.values())) == 1, found


@pytest.mark.slow
def test_random_interleavings_give_the_bits_of_a_fresh_context(
    adapted: LlamaModel, alone: LlamaModel
) -> None:
    chance = random.Random(7)  # noqa: S311 - a seed, so that a failure comes again
    trunks = [[chance.randrange(1000, 40_000) for _ in range(60)] for _ in range(3)]
    prompts = [trunk[: chance.randrange(20, 60)] for trunk in trunks for _ in range(2)]
    prompts += [[*prompt[:-5], 9, 9, 9] for prompt in prompts]
    expected = [fresh(alone, prompt) for prompt in prompts]
    adapted.forget()
    reused = restored = 0
    for _ in range(20):
        number = chance.randrange(len(prompts))
        found, work = logits(adapted, prompts[number])
        assert found == expected[number], prompts[number]
        reused += work["reused_tokens"]
        restored += work["restored_tokens"]
        if chance.random() < 0.3:  # As an output would grow.
            logits(adapted, [*prompts[number], 7])
    assert reused > restored > 0


@pytest.mark.slow
def test_a_generation_is_the_references_whole_or_resumed(
    adapted: LlamaModel, alone: LlamaModel, bare: LlamaModel, make_request: MakeRequest
) -> None:
    request = make_request(max_tokens=24)
    expected = alone.generate_reference(request)
    assert adapted.generate(request) == adapted.generate_reference(request) == expected
    assert expected != bare.generate(request)
    cut = adapted.generate(replace(request, max_tokens=9))
    assert adapted.resume(request, cut) == expected


@pytest.mark.slow
def test_a_fresh_process_has_the_adapter_again(adapted: LlamaModel) -> None:
    before = fresh(adapted, [5, 6, 7])
    process_id = adapted.engine.process_id
    assert process_id is not None
    os.kill(process_id, signal.SIGKILL)
    with pytest.raises(EngineFault, match="SIGKILL"):
        fresh(adapted, [5, 6, 7])
    assert fresh(adapted, [5, 6, 7]) == before
    assert adapted.engine.process_id != process_id


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tensors", "changes", "message"),
    [
        (
            {"blk.0.attn_q.weight": ((4, 512), (576, 4))},
            {},
            "the adapter is for another model; pass the one for this model, or none",
        ),
        (
            {"blk.30.attn_q.weight": ((4, 576), (576, 4))},
            {},
            "the adapter is for another model; pass the one for this model, or none",
        ),
        (
            {"blk.0.attn_q.weight": ((4, 576), (576, 4))},
            {"general.architecture": "qwen3"},
            "is for the architecture qwen3, but the model's is llama; pass the adapter that",
        ),
    ],
)
def test_an_adapter_for_another_model_is_refused(
    tmp_path: Path,
    tensors: dict[str, tuple[tuple[int, int], tuple[int, int]]],
    changes: dict[str, object],
    message: str,
) -> None:
    path = tmp_path / "other.gguf"
    numbers = {
        f"{name}.lora_{side}": np.ones(shape, dtype=np.float32)
        for name, shapes in tensors.items()
        for side, shape in zip("ab", shapes, strict=True)
    }
    path.write_bytes(adapter_bytes(numbers, changes=changes))
    with pytest.raises(ConfigError) as caught, LlamaModel(adapter=path) as model:
        _ = model.profile_facts
    size = f"({path.stat().st_size:,} bytes)"
    assert message in str(caught.value)
    assert f"dapter file {path} {size}" in str(caught.value)


@pytest.mark.slow
def test_an_adapter_cut_short_is_refused(tmp_path: Path) -> None:
    path = small(tmp_path / "cut.gguf")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ConfigError, match="truncated or damaged; download it again"):
        _ = LlamaModel(adapter=path).profile_facts


@pytest.mark.slow
def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    path = small(tmp_path / "nan.gguf")
    path.write_bytes(path.read_bytes()[:-4000] + b"\xff" * 4000)
    with pytest.raises(ConfigError, match="are not finite"):
        _ = LlamaModel(adapter=path).profile_facts


@pytest.mark.slow
def test_facts_are_kept_for_a_model_and_its_adapter(tmp_path: Path) -> None:
    path, folder = small(tmp_path / "adapter.gguf", name="Agent"), tmp_path / "facts"
    with LlamaModel(adapter=path, threads=1, kept_facts=folder) as model:
        facts = model.profile_facts
    assert facts.name == "Agent"
    with LlamaModel(adapter=path, threads=1, kept_facts=folder) as model:
        assert model.profile_facts == facts
        assert model.engine.process_id is None
    small(path, seed=2)
    with LlamaModel(adapter=path, threads=1, kept_facts=folder) as model:
        assert model.profile_facts.digest != facts.digest
        assert canary_of(model) != json.loads(facts.fingerprint)["canary"]
        path.unlink()
        os.kill(model.engine.process_id or 0, signal.SIGKILL)
        with pytest.raises(EngineFault, match="SIGKILL"):
            model.forget()
        with pytest.raises(EngineFault, match="can't be restarted: adapter file"):
            model.forget()


@pytest.mark.slow
def test_an_adapter_that_changes_while_a_chain_runs_is_a_fault(tmp_path: Path) -> None:
    path = small(tmp_path / "adapter.gguf")
    with Vocabulary(adapter=path) as model:
        _ = model.profile_facts
        os.kill(model.engine.process_id or 0, signal.SIGKILL)
        small(path, seed=2)
        with pytest.raises(EngineFault):
            model.detokenize((5,))
        with pytest.raises(
            EngineFault, match=r"with the adapter .*adapter.gguf or its engine changed .*digest"
        ):
            model.detokenize((5,))


def test_an_adapter_that_changes_after_it_was_hashed_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small(tmp_path / "adapter.gguf")

    def change_after(
        model: Path, adapter: Path | None, report: Callable[[int, int], None]
    ) -> bytes:
        found = gguf.hash_model(model, adapter, report)
        small(path, seed=2)
        return found

    monkeypatch.setattr(engine, "hash_model", change_after)
    with (
        Vocabulary(adapter=path) as model,
        pytest.raises(EngineFault, match=r"adapter file .* changed since its SHA-256 was computed"),
    ):
        _ = model.profile_facts

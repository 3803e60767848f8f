from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

import torch

from tests.training.tiny_base import CPU, busy_adapter, tiny_base
from training.lora import Linear, LoraPair, LoraShape, adapter_of, new_adapter

if TYPE_CHECKING:
    from pathlib import Path


def numbers(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def pair(outputs: int, inputs: int, rank: int) -> LoraPair:
    return LoraPair(numbers(rank, inputs).requires_grad_(), numbers(outputs, rank).requires_grad_())


def test_a_product_is_that_of_the_sum_and_so_are_its_gradients() -> None:
    matrices = [numbers(5, 7), numbers(3, 7), numbers(4, 7)]
    pairs = [pair(5, 7, 2), None, pair(4, 7, 2)]
    inputs = numbers(9, 7).requires_grad_()
    linear = Linear(matrices, pairs, 1.5)
    linear.merge()
    ours = linear(inputs, 0.0)
    plain = torch.cat(
        [
            inputs @ (m if p is None else m + 1.5 * p.b @ p.a).T
            for m, p in zip(matrices, pairs, strict=True)
        ],
        dim=1,
    )
    torch.testing.assert_close(ours, plain)
    learned = [inputs, *(side for p in pairs if p is not None for side in (p.a, p.b))]
    weight = numbers(9, 12)
    for one, other in zip(
        torch.autograd.grad((ours * weight).sum(), learned),
        torch.autograd.grad((plain * weight).sum(), learned),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_dropout_hides_inputs_from_the_pairs_and_keeps_their_mean() -> None:
    torch.manual_seed(1)
    linear = Linear([numbers(5, 7), numbers(3, 7)], [pair(5, 7, 2), None], 1.5)
    linear.merge()
    inputs = numbers(9, 7)
    whole = linear(inputs, 0.0)
    dropped = torch.stack([linear(inputs, 0.5) for _ in range(4_000)])
    assert dropped[0, :, :5].ne(whole[:, :5]).any()
    torch.testing.assert_close(dropped[0, :, 5:], whole[:, 5:])
    torch.testing.assert_close(dropped.mean(dim=0), whole, rtol=0.1, atol=1.0)


def test_a_matrix_without_a_pair_is_the_base_s(tmp_path: Path) -> None:
    matrix = tiny_base(tmp_path).layer(0, "attn_q")
    inputs = torch.ones(2, matrix.shape[1], requires_grad=True)
    product = Linear([matrix], [None], 1.0)(inputs, 0.5)
    torch.testing.assert_close(product, inputs @ matrix.T)


def test_a_new_adapter_changes_nothing_and_follows_from_its_seed(tmp_path: Path) -> None:
    weights = tiny_base(tmp_path)
    shape = LoraShape(rank=4, alpha=8.0, layers=(0, 2), parts=("attn_q", "ffn_down"))
    one, same, other = (new_adapter(weights, shape, seed, CPU).tensors() for seed in (1, 1, 2))
    assert sorted(one) == [
        f"blk.{layer}.{part}.weight.lora_{side}"
        for layer in (0, 2)
        for part in ("attn_q", "ffn_down")
        for side in "ab"
    ]
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["blk.0.attn_q.weight.lora_a"], other["blk.0.attn_q.weight.lora_a"])
    assert not any(one[name].any() for name in one if name.endswith("b"))


def test_an_adapter_comes_back_from_its_tensors(tmp_path: Path) -> None:
    adapter = busy_adapter(tiny_base(tmp_path))
    tensors = adapter.tensors()
    again = adapter_of(adapter.shape, tensors, CPU)
    assert all(torch.equal(again.tensors()[name], tensors[name]) for name in tensors)
    assert all(matrix.requires_grad for matrix in again.parameters())
    with pytest.raises(ValueError, match="has rank 4, not 5"):
        adapter_of(LoraShape(rank=5, alpha=8.0, layers=(1,)), tensors, CPU)
    with pytest.raises(ValueError, match=r"lacks 'blk\.0"):
        adapter_of(LoraShape(rank=4, alpha=8.0, layers=(0,)), tensors, CPU)

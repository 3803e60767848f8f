from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

import torch

from training.attention import BUNCH_REQUESTS, MAX_PADDING, attend, bunches

SYSTEM = 11
HEADS, KV_HEADS, WIDTH = 6, 2, 8
CPU = torch.device("cpu")


def masked(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, lengths: list[int]
) -> torch.Tensor:
    """Compute the same with a mask over the whole sequence, in the simplest way."""
    owner = torch.tensor([-1] * SYSTEM + [n for n, c in enumerate(lengths) for _ in range(c)])
    seen = (owner.unsqueeze(1) == owner) | (owner == -1)
    seen &= torch.ones_like(seen).tril()
    shared = HEADS // KV_HEADS
    keys, values = (part.repeat_interleave(shared, dim=1) for part in (keys, values))
    scores = torch.einsum("qhd,khd->hqk", queries, keys) / WIDTH**0.5
    shares = scores.masked_fill(~seen, -torch.inf).softmax(dim=2)
    return torch.einsum("hqk,khd->qhd", shares, values)


@pytest.mark.parametrize(
    "lengths", [[1], [4, 4, 4], [1, 2, 3, 30], [20, 21, 21, 22, 22, 23], [5] * 11 + [40]]
)
def test_each_request_reads_the_system_and_itself_alone(lengths: list[int]) -> None:
    generator = torch.Generator().manual_seed(1)
    tokens = SYSTEM + sum(lengths)
    parts = queries, keys, values = tuple(
        torch.randn(
            tokens, heads, WIDTH, generator=generator, dtype=torch.float64, requires_grad=True
        )
        for heads in (HEADS, KV_HEADS, KV_HEADS)
    )
    weight = torch.randn(tokens, HEADS, WIDTH, generator=generator, dtype=torch.float64)
    ours = attend(queries, keys, values, SYSTEM, list(bunches(SYSTEM, lengths, CPU)))
    plain = masked(queries, keys, values, lengths)
    torch.testing.assert_close(ours, plain)
    for one, other in zip(
        torch.autograd.grad((ours * weight).sum(), parts),
        torch.autograd.grad((plain * weight).sum(), parts),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_bunches_are_of_similar_length_and_hold_all() -> None:
    lengths = sorted([3, 3, 9, 9, 9, 10, 50, 55, 56] + [70] * 20)
    found = list(bunches(SYSTEM, lengths, CPU))
    assert [length for bunch in found for length in bunch.lengths] == lengths
    for bunch in found:
        assert len(bunch.lengths) <= BUNCH_REQUESTS
        assert max(bunch.lengths) <= MAX_PADDING * min(bunch.lengths) or len(bunch.lengths) == 1

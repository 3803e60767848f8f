"""Forward pass of the llama architecture over packed sequences, with a LoRA adapter.

Like llama.cpp's, but in float32 throughout; llama.cpp rounds the inputs of quantised matrices to 8
bits. The loss needs the logits of few tokens, so the end of the last layer and the output matrix
are computed only for those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import rms_norm, silu

from training.attention import attend, bunches
from training.gguf_weights import EMBEDDING, OUTPUT_NORM, tensor_name
from training.lora import Linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.autograd.function import FunctionCtx

    from training.attention import Bunch
    from training.gguf_weights import BaseWeights
    from training.lora import Adapter
    from training.packing import Packed

LOSS_ROWS = 128
"""Rows of logits that are in memory at the same time."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Loss of a sequence's learned tokens."""

    total: torch.Tensor
    """Weighted sum of the tokens' negative log-likelihoods; its gradient reaches the adapter."""

    correct: int
    """Number of tokens that were the most likely one."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Layout of a sequence, shared by all layers."""

    turns: torch.Tensor
    system_tokens: int
    bunches: Sequence[Bunch]


class Llama:
    """A frozen base with a trainable adapter."""

    def __init__(self, weights: BaseWeights, adapter: Adapter, *, dropout: float = 0.0) -> None:
        """Create a model from a base and an adapter on the same device.

        Input:
            dropout: see `Linear.__call__`; applies to `loss`, not to `logits`.
        """
        self._weights = weights
        self._adapter = adapter
        self._dropout = dropout
        self._layers = [_Layer(weights, adapter, index) for index in range(weights.shape.layers)]
        width = weights.shape.head_width
        exponents = torch.arange(0, width, 2, dtype=torch.float64) / width
        self._frequencies = weights.shape.rope_base**-exponents
        self.merge()

    def merge(self) -> None:
        """Merge the adapter's current numbers; required after each change of them."""
        for layer in self._layers:
            layer.merge()

    def loss(self, packed: Packed, *, is_training: bool = True) -> Loss:
        """Compute the loss of the learned tokens, with dropout only if `is_training`."""
        hidden = self._hidden(packed, self._dropout if is_training else 0.0)
        total, correct = _LearnedLoss.apply(
            hidden, self._weights.output, packed.targets, packed.weights
        )
        return Loss(total, int(correct))

    def logits(self, packed: Packed) -> torch.Tensor:
        """Return the logits after each of the sequence's `rows`."""
        with torch.no_grad():
            return self._hidden(packed, 0.0) @ self._weights.output.T

    def _hidden(self, packed: Packed, dropout: float) -> torch.Tensor:
        hidden = self._weights.tensors[EMBEDDING][packed.tokens]
        angles = torch.outer(packed.positions.cpu().double(), self._frequencies)
        turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
        layout = _Layout(
            turns.to(hidden.device).unsqueeze(1),
            packed.system_tokens,
            list(bunches(packed.system_tokens, packed.lengths, hidden.device)),
        )
        for layer in self._layers[:-1]:
            hidden = layer(hidden, layout, dropout)
        hidden = self._layers[-1](hidden, layout, dropout, rows=packed.rows)
        return _normed(hidden, self._weights.tensors[OUTPUT_NORM], self._weights)


class _Layer:
    """A transformer block."""

    def __init__(self, weights: BaseWeights, adapter: Adapter, index: int) -> None:
        def linear(*parts: str) -> Linear:
            return Linear(
                [weights.layer(index, part) for part in parts],
                [adapter.pairs.get(tensor_name(index, part)) for part in parts],
                adapter.shape.scale,
            )

        self._weights = weights
        self._attention_norm = weights.layer(index, "attn_norm")
        self._qkv = linear("attn_q", "attn_k", "attn_v")
        self._output = linear("attn_output")
        self._feed_forward_norm = weights.layer(index, "ffn_norm")
        self._gate_up = linear("ffn_gate", "ffn_up")
        self._down = linear("ffn_down")

    def merge(self) -> None:
        for linear in (self._qkv, self._output, self._gate_up, self._down):
            linear.merge()

    def __call__(
        self,
        hidden: torch.Tensor,
        layout: _Layout,
        dropout: float,
        rows: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the next layer's hidden states, only of `rows` if given."""
        seen = self._attend(_normed(hidden, self._attention_norm, self._weights), layout, dropout)
        if rows is not None:
            hidden, seen = hidden[rows], seen[rows]
        hidden = hidden + self._output(seen, dropout)
        normed = _normed(hidden, self._feed_forward_norm, self._weights)
        gate, up = self._gate_up(normed, dropout).chunk(2, dim=1)
        return hidden + self._down(silu(gate) * up, dropout)

    def _attend(self, normed: torch.Tensor, layout: _Layout, dropout: float) -> torch.Tensor:
        shape = self._weights.shape
        turned_heads = shape.heads + shape.kv_heads
        heads = self._qkv(normed, dropout).view(
            len(normed), turned_heads + shape.kv_heads, shape.head_width
        )
        turned, values = heads.split([turned_heads, shape.kv_heads], dim=1)
        queries, keys = _turned(turned, layout.turns).split([shape.heads, shape.kv_heads], dim=1)
        return attend(queries, keys, values, layout.system_tokens, layout.bunches).flatten(1)


def _normed(hidden: torch.Tensor, gain: torch.Tensor, weights: BaseWeights) -> torch.Tensor:
    return rms_norm(hidden, gain.shape, gain, weights.shape.norm_epsilon)


def _turned(heads: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    """Apply rope: rotate each pair of neighbouring numbers by its position's angle."""
    points = torch.view_as_complex(heads.unflatten(2, (-1, 2)))
    return torch.view_as_real(points * turns).flatten(2)


class _LearnedLoss(torch.autograd.Function):
    """Cross entropy, a weighted sum over rows, without holding the logits of all rows.

    The gradient is computed in the forward pass, while the logits of a piece are in memory.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        hidden: torch.Tensor,
        output: torch.Tensor,
        targets: torch.Tensor,
        weights: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        total = hidden.new_zeros(())
        correct = torch.zeros((), dtype=torch.int64, device=hidden.device)
        change = torch.empty_like(hidden) if ctx.needs_input_grad[0] else None
        for start in range(0, len(hidden), LOSS_ROWS):
            piece = slice(start, start + LOSS_ROWS)
            logits, wanted = hidden[piece] @ output.T, targets[piece].unsqueeze(1)
            weight = weights[piece].unsqueeze(1)
            correct += (logits.argmax(dim=1, keepdim=True) == wanted).sum()
            logits -= logits.logsumexp(dim=1, keepdim=True)
            total -= (weight * logits.gather(1, wanted)).sum()
            if change is not None:
                probabilities = logits.exp_()
                probabilities.scatter_add_(1, wanted, -torch.ones_like(wanted, dtype=hidden.dtype))
                change[piece] = (weight * probabilities) @ output
        ctx.save_for_backward(change)
        ctx.mark_non_differentiable(correct)
        return total, correct

    @staticmethod
    def backward(
        ctx: FunctionCtx, total_change: torch.Tensor, _: None
    ) -> tuple[torch.Tensor, None, None, None]:
        (change,) = ctx.saved_tensors
        return change * total_change, None, None, None

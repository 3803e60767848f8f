"""LoRA adapters: pairs of small matrices for a frozen model's matrices, and their products.

An adapted matrix is W + scale·B·A. The sum is computed once per matrix before a step, so a forward
pass costs the same as the base's; the backward pass needs no gradient of W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from training.gguf_weights import LAYER_LINEARS, tensor_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch.autograd.function import FunctionCtx

    from training.gguf_weights import BaseWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraShape:
    """The adapted matrices, rank and scale."""

    rank: int
    alpha: float
    """The change is scaled by `alpha / rank`, as in llama.cpp."""

    layers: tuple[int, ...]
    parts: tuple[str, ...] = LAYER_LINEARS

    @property
    def scale(self) -> float:
        """Factor of B·A."""
        return self.alpha / self.rank


@dataclass(frozen=True, slots=True)
class LoraPair:
    """The change of a matrix: `b @ a`, with `a` of rank x inputs and `b` of outputs x rank."""

    a: torch.Tensor
    b: torch.Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """Pairs by their matrix's name in the GGUF file."""

    shape: LoraShape
    pairs: Mapping[str, LoraPair]

    def parameters(self) -> Iterator[torch.Tensor]:
        """Yield all trainable parameters, in a fixed order."""
        for name in sorted(self.pairs):
            yield self.pairs[name].a
            yield self.pairs[name].b

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the matrices by llama.cpp's names."""
        return {
            f"{name}.lora_{side}": matrix.detach()
            for name in sorted(self.pairs)
            for side, matrix in (("a", self.pairs[name].a), ("b", self.pairs[name].b))
        }


def new_adapter(weights: BaseWeights, shape: LoraShape, seed: int, device: torch.device) -> Adapter:
    """Create an adapter without effect: A random, B zero.

    Source: LoRA (Hu et al., 2021), section 4.1; the range of A is that of its authors' code.
    """
    generator = torch.Generator().manual_seed(seed)
    pairs = {}
    for layer in shape.layers:
        for part in shape.parts:
            outputs, inputs = weights.layer(layer, part).shape
            bound = 1 / math.sqrt(inputs)
            a = torch.empty(shape.rank, inputs).uniform_(-bound, bound, generator=generator)
            pairs[tensor_name(layer, part)] = LoraPair(
                a.to(device).requires_grad_(),
                torch.zeros(outputs, shape.rank, device=device, requires_grad=True),
            )
    return Adapter(shape=shape, pairs=pairs)


def adapter_of(
    shape: LoraShape, tensors: Mapping[str, torch.Tensor], device: torch.device
) -> Adapter:
    """Create a trainable adapter from the result of `Adapter.tensors`.

    Raises:
        ValueError: the tensors do not match the shape.
    """
    pairs = {}
    for layer in shape.layers:
        for part in shape.parts:
            name = tensor_name(layer, part)
            try:
                a, b = (tensors[f"{name}.lora_{side}"].to(device).clone() for side in "ab")
            except KeyError as error:
                raise ValueError(
                    f"the initial adapter lacks {error}; pass the --layers and --parts it "
                    "was trained with"
                ) from error
            if len(a) != shape.rank:
                raise ValueError(
                    f"the initial adapter has rank {len(a)}, not {shape.rank}; pass --rank {len(a)}"
                )
            pairs[name] = LoraPair(a.requires_grad_(), b.requires_grad_())
    return Adapter(shape=shape, pairs=pairs)


class Linear:
    """Matrices of a layer that have the same input, concatenated, with their pairs."""

    def __init__(
        self, matrices: Sequence[torch.Tensor], pairs: Sequence[LoraPair | None], scale: float
    ) -> None:
        """Concatenate frozen matrices; each has a pair or None."""
        self._widths = [len(matrix) for matrix in matrices]
        self._frozen = torch.cat(list(matrices))
        self._pairs = pairs
        self._scale = scale
        self._merged = self._frozen if self._is_frozen else torch.empty_like(self._frozen)

    @property
    def _is_frozen(self) -> bool:
        return not any(self._pairs)

    def merge(self) -> None:
        """Recompute the sums from the current pairs."""
        if self._is_frozen:
            return
        with torch.no_grad():
            starts = self._frozen.split(self._widths)
            for start, sums, pair in zip(
                starts, self._merged.split(self._widths), self._pairs, strict=True
            ):
                if pair is None:
                    sums.copy_(start)
                else:
                    torch.addmm(start, pair.b, pair.a, alpha=self._scale, out=sums)

    def __call__(self, inputs: torch.Tensor, dropout: float) -> torch.Tensor:
        """Return the products of each row, concatenated.

        Input:
            dropout: share of the inputs that is dropped for the pairs, but not for the base.
        """
        if self._is_frozen:
            return inputs @ self._frozen.T
        if dropout:
            return self._with_dropout(inputs, dropout)
        flat = [side for pair in self._pairs if pair is not None for side in (pair.a, pair.b)]
        starts = [
            start
            for start, pair in zip(self._starts(), self._pairs, strict=True)
            if pair is not None
        ]
        return _AdaptedProduct.apply(inputs, self._merged, self._scale, starts, *flat)

    def _starts(self) -> list[int]:
        return [sum(self._widths[:index]) for index in range(len(self._widths))]

    def _with_dropout(self, inputs: torch.Tensor, dropout: float) -> torch.Tensor:
        seen = torch.nn.functional.dropout(inputs, dropout)
        changes = [
            inputs.new_zeros(len(inputs), width)
            if pair is None
            else (seen @ pair.a.T) @ pair.b.T * self._scale
            for width, pair in zip(self._widths, self._pairs, strict=True)
        ]
        return inputs @ self._frozen.T + torch.cat(changes, dim=1)


class _AdaptedProduct(torch.autograd.Function):
    """`inputs @ merged.T`, with gradients for the inputs and the pairs, but not for the sum.

    With u = dy·B and v = x·Aᵀ: dA = scale·uᵀ·x and dB = scale·dyᵀ·v. The A's of one input are
    stacked, because products with 16 columns are slow.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        inputs: torch.Tensor,
        merged: torch.Tensor,
        scale: float,
        starts: list[int],
        *flat: torch.Tensor,
    ) -> torch.Tensor:
        ctx.save_for_backward(inputs, merged, *flat)
        ctx.scale, ctx.starts = scale, starts
        return inputs @ merged.T

    @staticmethod
    def backward(ctx: FunctionCtx, change: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        inputs, merged, *flat = ctx.saved_tensors
        rows, columns = flat[0::2], flat[1::2]
        rank = len(rows[0])
        changes = [
            change[:, start : start + len(b)] for start, b in zip(ctx.starts, columns, strict=True)
        ]
        left = torch.cat([part @ b for part, b in zip(changes, columns, strict=True)], dim=1)
        right = inputs @ torch.cat(rows).T
        gradients = []
        row_gradients = (left.T @ inputs).mul_(ctx.scale).split(rank)
        for part, row_gradient, seen in zip(
            changes, row_gradients, right.split(rank, dim=1), strict=True
        ):
            gradients += [row_gradient, (part.T @ seen).mul_(ctx.scale)]
        input_change = change @ merged if ctx.needs_input_grad[0] else None
        return (input_change, None, None, None, *gradients)

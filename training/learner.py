"""Training steps: a base with its adapter, an optimiser, and the order of the data."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch

from training.llama import Llama
from training.packing import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from training.gguf_weights import BaseWeights
    from training.lora import Adapter
    from training.packing import Group, Packed


class DivergedError(Exception):
    """The loss or its gradient is not finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of a training step or a validation."""

    loss: float
    """Weighted mean of the learned tokens' loss, in nats."""

    correct: float
    """Share of the learned tokens that were the most likely token."""

    learned_tokens: int
    tokens: int
    """Number of all evaluated tokens."""

    gradient_norm: float = 0.0
    """Norm of the gradient before clipping."""


class Learner:
    """Trains an adapter."""

    def __init__(
        self,
        weights: BaseWeights,
        adapter: Adapter,
        *,
        max_tokens: int,
        clip: float,
        weight_decay: float,
        dropout: float,
        device: torch.device,
    ) -> None:
        """Create an optimiser for an adapter. Base and adapter must be on `device`."""
        self.adapter = adapter
        self._model = Llama(weights, adapter, dropout=dropout)
        self._parameters = list(adapter.parameters())
        self._optimiser = torch.optim.AdamW(self._parameters, weight_decay=weight_decay)
        self._max_tokens = max_tokens
        self._clip = clip
        self._device = device

    def optimiser_state(self) -> Mapping[str, object]:
        """Return the optimiser's state."""
        state: Mapping[str, object] = self._optimiser.state_dict()
        return state

    def restore_optimiser(self, state: Mapping[str, object]) -> None:
        """Restore an optimiser's state."""
        self._optimiser.load_state_dict(dict(state))

    def step(
        self, groups: Sequence[Group], learning_rate: float, is_stopped: Callable[[], bool]
    ) -> Outcome | None:
        """Train on groups; return None, without any change, if stopped meanwhile.

        Raises:
            DivergedError: the gradient is not finite.
        """
        learned = sum(group.learned_tokens for group in groups)
        weight = sum(group.weight for group in groups)
        self._optimiser.zero_grad(set_to_none=True)
        total, correct, tokens = 0.0, 0, 0
        for packed in self._sequences(groups):
            if is_stopped():
                return None
            loss = self._model.loss(packed)
            (loss.total / weight).backward()
            total += loss.total.item()
            correct += loss.correct
            tokens += len(packed.tokens)
        norm = float(torch.nn.utils.clip_grad_norm_(self._parameters, self._clip))
        if not norm < float("inf"):
            raise DivergedError(
                f"the gradient's norm is {norm} at a mean loss of {total / weight:.3f}; resume "
                "from the last checkpoint with a lower --learning-rate, or start again"
            )
        for settings in self._optimiser.param_groups:
            settings["lr"] = learning_rate
        self._optimiser.step()
        self._model.merge()
        return Outcome(
            loss=total / weight,
            correct=correct / learned,
            learned_tokens=learned,
            tokens=tokens,
            gradient_norm=norm,
        )

    def validate(self, groups: Iterable[Group], is_stopped: Callable[[], bool]) -> Outcome | None:
        """Compute the loss without training; return None if stopped meanwhile."""
        total, weight, correct, learned, tokens = 0.0, 0.0, 0, 0, 0
        with torch.no_grad():
            for packed in self._sequences(groups):
                if is_stopped():
                    return None
                loss = self._model.loss(packed, is_training=False)
                total += loss.total.item()
                weight += float(packed.weights.sum())
                correct += loss.correct
                learned += len(packed.targets)
                tokens += len(packed.tokens)
        return Outcome(
            loss=total / weight, correct=correct / learned, learned_tokens=learned, tokens=tokens
        )

    def _sequences(self, groups: Iterable[Group]) -> Iterable[Packed]:
        packed = chain.from_iterable(pack(group, max_tokens=self._max_tokens) for group in groups)
        return (sequence.to(self._device) for sequence in packed)


def batch_of(step: int, *, count: int, batch: int, seed: int) -> list[int]:
    """Return which of `count` groups a step (from 0) trains on: shuffled anew in each epoch.

    A pure function, so that a resumed run needs only its step.
    """
    places = range(step * batch, (step + 1) * batch)
    orders = {
        epoch: np.random.default_rng((seed % 2**64, epoch)).permutation(count)
        for epoch in {place // count for place in places}
    }
    return [int(orders[place // count][place % count]) for place in places]

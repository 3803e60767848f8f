"""A model of Qwen2's architecture that is small enough for a test: 40 ms to write, 1 ms a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.inference.model_shapes import ModelShape
from pyevm_agents.bench.runs.model_sizes import ensure_model_file

if TYPE_CHECKING:
    from pathlib import Path

TINY = ModelShape(
    name="tiny-random",
    layers=2,
    width=256,
    heads=4,
    kv_heads=2,
    feed_forward=512,
    vocabulary_tokens=50_000,
    context_tokens=8_192,
)


def tiny_model(folder: Path) -> Path:
    """Write the model into a folder, where it is not there yet."""
    return ensure_model_file(TINY, folder)


class SilentObserver:
    """Keeps its notifications."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, int]] = []
        self.steps: list[str] = []

    def begin_part(self, title: str, steps: int) -> None:
        self.parts.append((title, steps))

    def finish_step(self, detail: str) -> None:
        self.steps.append(detail)

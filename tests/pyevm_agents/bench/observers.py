"""Observers of a benchmark's progress, for tests."""

from __future__ import annotations


class Counting:
    """Counts announced steps and completed ones."""

    def __init__(self) -> None:
        self.promised: list[tuple[str, int]] = []
        self.steps: list[str] = []

    def begin_part(self, title: str, steps: int) -> None:
        """Take note of a part."""
        self.promised.append((title, steps))

    def finish_step(self, detail: str) -> None:
        """Take note of a step."""
        self.steps.append(detail)

"""What all commands write to: two consoles, and a line that tells what is going on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.markup import escape

from precompiles.text import escape_line

if TYPE_CHECKING:
    from rich.status import Status

    from pyevm_agents.models import Progress

out = Console(highlight=False)
err = Console(highlight=False, stderr=True)


def is_live() -> bool:
    """Return whether one line of the terminal can be written again and again."""
    return err.is_terminal and not err.is_dumb_terminal


class Watch:
    """Tells what the model is doing: on one live line in a terminal, in plain lines elsewhere."""

    def __init__(self) -> None:
        """Say nothing yet."""
        self._status: Status | None = None
        self._phase = ""
        self._generation = 0

    def __enter__(self) -> Self:
        """Begin."""
        self.say("loading the model")
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the live line."""
        self.stop()

    def say(self, text: str) -> None:
        """Say what happens now."""
        if not is_live():
            err.print(f"… {text}", soft_wrap=True, markup=False)
            return
        if self._status is None:
            self._status = err.status("", spinner="dots")
            self._status.start()
        self._status.update(escape(text[: max(20, err.width - 4)]))

    def stop(self) -> None:
        """Clear the live line."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def progress(self, progress: Progress) -> None:
        """Say how far a generation is."""
        if progress.phase != self._phase:
            self._generation += progress.phase == "prompt"
            self._phase = progress.phase
            if not is_live():
                verb = "reading the prompt" if progress.phase == "prompt" else "writing"
                self.say(f"step {self._generation}: {verb}")
        if is_live():
            self.say(self._line(progress))

    def _line(self, progress: Progress) -> str:
        step = f"step {self._generation}"
        if progress.phase == "prompt":
            return f"{step}: reading {progress.done_tokens} of {progress.total_tokens} tokens"
        text = escape_line(" ".join(progress.text.split()))
        room = max(20, err.width - len(step) - 24)
        return f"{step}: writing, {progress.done_tokens} tokens  {text[-room:]}"

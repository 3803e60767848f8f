"""Progress of a model: loading, prompt evaluation and output."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Callable

Phase: TypeAlias = Literal["hash", "start", "load", "check", "prompt", "output"]
PHASES: dict[str, Phase] = {phase: phase for phase in get_args(Phase)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a model's current phase.

    The phases: hash the file (in bytes), start the engine, load the weights (in percent) and check
    their canary, once each; then, for each generation, evaluate the prompt and generate the output
    (in tokens).
    """

    phase: Phase
    done: int
    total: int
    """By phase: bytes, 100 (percent), prompt tokens, or the limit of output tokens."""

    text: str = ""
    """Output text so far."""

    @property
    def is_loading(self) -> bool:
        """Whether the model is still loading, and no generation has started."""
        return self.phase not in {"prompt", "output"}


class ProgressRelay:
    """Forwards progress reports to a callback until the callback raises.

    An `Exception` from the callback (such as a disconnected client) does not cancel the work, which
    continues, and the result is cached for the next caller. Any other `BaseException` (such as
    Ctrl-C) cancels the work.
    """

    def __init__(self, listen: Callable[[Progress], None] | None) -> None:
        """Create a relay.

        Input:
            listen: the callback, or None to drop reports.
        """
        self._listen = listen
        self._error: Exception | None = None

    @property
    def wants_reports(self) -> bool:
        """Whether a callback is set."""
        return self._listen is not None

    def report(self, phase: str, done: int, total: int, text: str) -> None:
        """Call the callback, unless one call has raised."""
        if self._listen is None or self._error is not None:
            return
        try:
            self._listen(Progress(phase=PHASES[phase], done=done, total=total, text=text))
        except Exception as error:  # noqa: BLE001 - an error of the callback is not the model's
            self._error = error

    def warn_of_error(self) -> None:
        """Issue a warning if the callback raised, and enable the callback again."""
        error, self._error = self._error, None
        if error is not None:
            warnings.warn(
                f"progress callback raised {type(error).__name__}: {error}; the generation "
                "completed without it. Make the callback handle its own errors",
                RuntimeWarning,
                stacklevel=2,
            )

"""How far a model is with loading, reading and writing, for whoever wants to know."""

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
    """How far a model is.

    A file is hashed (counted in bytes), its engine started, its weights loaded (in percent) and
    their bits checked, once each; a generation reads its prompt and writes its output (in tokens).
    """

    phase: Phase
    done: int
    total: int
    """Bytes, 100 for percent, tokens of the prompt, or the limit of the output's tokens."""

    text: str = ""
    """The output so far."""

    @property
    def is_loading(self) -> bool:
        """Whether no generation has begun."""
        return self.phase not in {"prompt", "output"}


class ProgressRelay:
    """Passes reports on until the one who listens raises.

    A caller that left, such as a client that hung up, cancels nothing: the work goes on to its end
    and its result is kept for the next who asks. What is no `Exception`, such as Ctrl-C, does
    cancel.
    """

    def __init__(self, listen: Callable[[Progress], None] | None) -> None:
        """Pass reports on to `listen`, if there is one."""
        self._listen = listen
        self._error: Exception | None = None

    @property
    def wants_reports(self) -> bool:
        """Whether anybody listens."""
        return self._listen is not None

    def report(self, phase: str, done: int, total: int, text: str) -> None:
        """Pass a report on."""
        if self._listen is None or self._error is not None:
            return
        try:
            self._listen(Progress(phase=PHASES[phase], done=done, total=total, text=text))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not the model's
            self._error = error

    def warn_of_error(self) -> None:
        """Warn of what the one who listened raised; listen again."""
        error, self._error = self._error, None
        if error is not None:
            warnings.warn(
                f"The progress report raised {error!r}; the model went on to its end without it. "
                "Let it raise nothing",
                RuntimeWarning,
                stacklevel=2,
            )

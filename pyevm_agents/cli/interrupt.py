"""Ctrl-C. Imports nothing, so that `pyevm_agents.__main__` can use it before all else."""

from __future__ import annotations

STOPPED_STATUS = 130
"""What a shell reports of a command that Ctrl-C ended: 128 and the number of SIGINT."""


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error.

    Python 3.11 makes a RuntimeError of what ends a `__set_name__`, as when a dataclass is made.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None

"""Ctrl-C. Imports nothing: `pyevm_agents.__main__` runs this before all other imports."""

from __future__ import annotations

STOPPED_STATUS = 130
"""Exit status of a command ended by Ctrl-C: 128 and the number of SIGINT."""


def is_interrupt(error: BaseException) -> bool:
    """Return whether Ctrl-C caused an error.

    Python 3.11 wraps an exception in `__set_name__`, which dataclasses use, in a RuntimeError.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None

"""Entry point of `pyevm-agents` and `python -m pyevm_agents`.

Ctrl-C is handled while the command line is imported, which takes most of a second.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from pyevm_agents.cli.interrupt import STOPPED_STATUS, is_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable

STDERR = 2


def main() -> None:
    """Run the command line. Ctrl-C ends the program with the line `Stopped.` and status 130.

    As Python finalizes, SIGINT would go back to the default, which kills the process. The function
    registered first runs last: by then nothing is left to stop.
    """
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    try:
        _run()
    except KeyboardInterrupt:  # In the last lines of `_run`.
        _stop()


def _run() -> None:
    """Run the command line; afterwards Ctrl-C ends the process directly."""
    try:
        _import_command_line()()
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interrupt(error):
            raise
        sys.stderr.flush()
        _stop()
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _stop)


def _import_command_line() -> Callable[[], None]:
    """Import the command line; Ctrl-C ends the process directly.

    An exception would not do: Python ignores exceptions in finalizers and weakref callbacks.
    """
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, _stop)
    from pyevm_agents.cli.app import main as command_line  # noqa: PLC0415 - inside of `main`'s `try`

    if is_default:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return command_line


def _stop(*_: object) -> NoReturn:
    """End the process immediately; nothing has started that needs cleaning up.

    After an interrupt within `exec`, which dataclasses use, CPython turns `sys.exit` into a death
    by SIGINT.
    """
    with suppress(OSError):  # Standard error may be closed.
        os.write(STDERR, b"Stopped.\n")
    os._exit(STOPPED_STATUS)


if __name__ == "__main__":
    main()

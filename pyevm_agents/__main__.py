"""`pyevm-agents` and `python -m pyevm_agents`: the command line, which may be ended at once.

The command line takes most of a second to import, and people press Ctrl-C before that.
"""

from __future__ import annotations

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
    """Run the command line; Ctrl-C ends it with one line, whatever it is doing."""
    try:
        _import_command_line()()
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interrupt(error):
            raise
        sys.stderr.flush()
        _stop()


def _import_command_line() -> Callable[[], None]:
    """Import the command line; Ctrl-C ends the process meanwhile.

    No exception does: in what is called when an object is gone, Python lets go of any.
    """
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, _stop)
    from pyevm_agents.cli.app import main as command_line  # noqa: PLC0415 - inside of `main`'s `try`

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return command_line


def _stop(*_: object) -> NoReturn:
    """End the process at once: nothing is begun that would have to end.

    `sys.exit` would become a death by SIGINT where the interrupt came up through `exec` of a text,
    as dataclasses use it (CPython).
    """
    with suppress(OSError):  # Nobody may be there to read it.
        os.write(STDERR, b"Stopped.\n")
    os._exit(STOPPED_STATUS)


if __name__ == "__main__":
    main()

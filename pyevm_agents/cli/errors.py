"""Errors of commands: one line and an exit status, never a traceback."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.markup import escape

from pyevm_agents.cli.interrupt import STOPPED_STATUS, is_interrupt
from pyevm_agents.cli.output import err
from pyevm_agents.display import sanitize
from pyevm_agents.errors import AgentsError, ConfigError, NotDoneError

if TYPE_CHECKING:
    from collections.abc import Iterator

FAULT_STATUS, MISTAKE_STATUS = 1, 2

NOT_DONE_STATUS = 4
"""Exit status of every command whose agent did not do what was asked. 3 is that of `verify` for an
answer that was not checked."""

OUTPUT_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of writing the output. A closed pipe is handled by click: status 1, no message."""


@contextmanager
def report_errors() -> Iterator[None]:
    """Flush the output at the end; report an error as a message and exit.

    The exit status is 2 for a mistake of the user, 1 for a failure of the engine or the output, 4
    for an agent that did not do the task, 130 for Ctrl-C.
    """
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except NotDoneError as error:
        answer = escape(sanitize(error.answer))
        err.print(f"[bold yellow]Not done:[/] {answer}\nNothing was changed.", soft_wrap=True)
        sys.exit(NOT_DONE_STATUS)
    except AgentsError as error:
        _print_error(str(error))
        sys.exit(MISTAKE_STATUS if isinstance(error, ConfigError) else FAULT_STATUS)
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interrupt(error):
            raise
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Users press Ctrl-C twice.
        err.print("Stopped.")
        # If the interrupt was raised through `exec` of a text, as dataclasses use it, CPython would
        # exit by SIGINT; the next `exec` resets that (`run_eval_code_obj`).
        exec("")  # noqa: S102
        sys.exit(STOPPED_STATUS)
    except OSError as error:
        if error.errno not in OUTPUT_ERRORS or error.filename is not None:
            raise
        # Python would try to write the rest, and report the error again, when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        _print_error(f"standard output can't be written: {error.strerror}; redirect it")
        sys.exit(FAULT_STATUS)


def require_stdout() -> None:
    """Check that standard output is open.

    Raises:
        ConfigError: standard output is closed.
    """
    if sys.stdout is None:
        raise ConfigError("standard output is closed; redirect it to a file, a pipe or a terminal")


def _print_error(message: str) -> None:
    err.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True)

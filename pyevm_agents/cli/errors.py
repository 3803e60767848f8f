"""How a command ends that can't go on: with one line and a status, never with a traceback."""

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
from pyevm_agents.errors import AgentsError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

FAULT_STATUS, MISTAKE_STATUS = 1, 2

OUTPUT_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What writing may fail with. A pipe that nobody reads is click's: it ends with 1, silently."""


@contextmanager
def report_errors() -> Iterator[None]:
    """Do something, and write out what it printed; end the process in words if that fails.

    A mistake of the user ends it with 2, a failure of the engine or the output with 1, and Ctrl-C
    with 130.
    """
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except AgentsError as error:
        _print_error(str(error))
        sys.exit(MISTAKE_STATUS if isinstance(error, ConfigError) else FAULT_STATUS)
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interrupt(error):
            raise
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # People press it twice.
        err.print("Stopped.")
        # Where the interrupt came up through `exec` of a text, as dataclasses use it, CPython would
        # die by SIGINT in the end; the next `exec` forgets that (`run_eval_code_obj`).
        exec("")  # noqa: S102
        sys.exit(STOPPED_STATUS)
    except OSError as error:
        if error.errno not in OUTPUT_ERRORS or error.filename is not None:
            raise
        # What could not be written would be tried, and mourned, once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        _print_error(f"The output can't be written: {error.strerror}; send it elsewhere")
        sys.exit(FAULT_STATUS)


def require_stdout() -> None:
    """Refuse to work for nobody.

    Raises:
        ConfigError: standard output is closed.
    """
    if sys.stdout is None:
        raise ConfigError("Standard output is closed; send it to a file, a pipe or a terminal")


def _print_error(message: str) -> None:
    err.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True)

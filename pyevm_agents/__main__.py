"""`pyevm-agents` and `python -m pyevm_agents`: the command line, which may be ended at once.

The command line takes most of a second to import, and people press Ctrl-C before that.
"""

from __future__ import annotations

import os
import sys

STOPPED_STATUS = 130
"""What a shell reports of a command that Ctrl-C ended: 128 and the number of SIGINT."""


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line, whatever it is doing."""
    try:
        from pyevm_agents.cli import main as command_line  # noqa: PLC0415 - inside of `try`

        command_line()
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interrupt(error):
            raise
        sys.stderr.write("Stopped.\n")
        sys.stderr.flush()
        # Nothing is begun that would have to end. `sys.exit` would become a death by SIGINT where
        # the interrupt came up through `exec` of a text, as dataclasses use it (CPython).
        os._exit(STOPPED_STATUS)


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error.

    Python 3.11 makes a RuntimeError of what ends a `__set_name__`, as when a dataclass is made.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None


if __name__ == "__main__":
    main()

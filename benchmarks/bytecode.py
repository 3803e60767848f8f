"""Python processes with cached bytecode, as users start them.

Some test machines write none (`PYTHONDONTWRITEBYTECODE`): every start then compiles all imports,
more than half of the time until a node answers.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
FOLDER = "PYTHONPYCACHEPREFIX"


@contextmanager
def bytecode_kept() -> Iterator[None]:
    """Let child processes write bytecode to a folder that is removed at the end.

    No effect if this process already writes bytecode.
    """
    if not sys.dont_write_bytecode:
        yield
        return
    before = {name: os.environ.get(name) for name in (NO_BYTECODE, FOLDER)}
    with tempfile.TemporaryDirectory(prefix="bytecode-") as folder:
        os.environ.pop(NO_BYTECODE, None)
        os.environ[FOLDER] = folder
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value

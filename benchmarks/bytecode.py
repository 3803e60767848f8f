"""Python processes as their users start them: from bytecode that an earlier start has left.

Some machines for tests keep none (`PYTHONDONTWRITEBYTECODE`), and then every start compiles all
that it imports: more than half of the time until a node answers.
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
    """Have processes that are started meanwhile keep bytecode, in a folder that goes at the end.

    Where this process keeps it already, nothing changes.
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

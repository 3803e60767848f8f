"""Which library hashes: the fastest that is installed."""

from __future__ import annotations

import os
from importlib.util import find_spec

CHOICE = "ETH_HASH_BACKEND"
"""What eth-hash reads when something is hashed first."""

FASTEST, FASTEST_MODULE = "pysha3", "sha3"
"""Takes a quarter of pycryptodome's time for a node of a trie, where it is installed."""


def choose_hash_backend() -> None:
    """Have the fastest library hash, unless somebody chose one."""
    if find_spec(FASTEST_MODULE) is not None:
        os.environ.setdefault(CHOICE, FASTEST)

"""Ten wordings of each request of the swap world."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pyevm_agents.scenarios.swap.requests import NATIVE_WORD, REQUESTS

WORDINGS_FILE = Path(__file__).with_name("contract_wordings.toml")


def read_wordings(native_symbol: str, file: Path = WORDINGS_FILE) -> dict[str, tuple[str, ...]]:
    """Return the wordings of each request, with the symbol of the native currency."""
    requests = tomllib.loads(file.read_text())
    return {
        name: tuple(text.replace(NATIVE_WORD, native_symbol) for text in requests[name]["wordings"])
        for name in REQUESTS
    }

"""web3.py's module tests that this node does not pass, each with the reason."""

from __future__ import annotations

NOT_HERE: dict[str, str] = {}

"""Errors of numeric models' files, and the display of names that a file contains.

ConfigError
└── NumericModelError    not a numeric model, or more than the limits admit

OutOfRange               within `bounds.py`: a bound that int64 does not hold
"""

from __future__ import annotations

from pyevm_agents.display import sanitize
from pyevm_agents.errors import ConfigError

MAX_NAME_SHOWN = 80
"""Characters of a file's name that a message shows."""


class NumericModelError(ConfigError):
    """A file is not a numeric model; the message names the contents."""


class OutOfRange(Exception):  # noqa: N818 - a bound, which its reader reports as a NumericModelError
    """A bound of a computation is outside int64."""

    def __init__(self, value: int) -> None:
        """Keep the exact bound."""
        super().__init__(f"{value} is outside int64")
        self.value = value


def show(name: str) -> str:
    """Return a name from a file for a message: quoted, on one line, truncated."""
    return f"'{_clean(name)}'"


def describe_node(index: int, operator: str, name: str) -> str:
    """Return the words that name a node, such as `node 3 'hidden' (Add)`."""
    label = f" {show(name)}" if name else ""
    return f"node {index}{label} ({_clean(operator)})"


def _clean(text: str) -> str:
    """Return a text of printable characters; JSON may contain half a surrogate pair."""
    return sanitize(text.encode("utf-8", "replace").decode(), MAX_NAME_SHOWN)

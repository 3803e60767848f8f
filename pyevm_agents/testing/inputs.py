"""What tests hand in, looked at where they do: else it fails somewhere deep, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection

SHOWN_CHARACTERS = 160

UINT256 = 2**256 - 1


def whole(call: str, value: object, *, most: int = UINT256, what: str = "a whole number") -> int:
    """Return a whole number that is not negative.

    Input:  how it was handed in, as `mine(…)`; the value; the most that it may be; what it counts.
    Raises: ConfigError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{_said(call, value)}: want {what}, as an int")
    if not 0 <= value <= most:
        raise ConfigError(f"{_said(call, value)}: want {what}, 0 to {most:,}")
    return value


def text(call: str, value: object) -> str:
    """Return a text.

    Raises: ConfigError: it is none.
    """
    if not isinstance(value, str):
        raise ConfigError(f"{_said(call, value)}: want a text")
    return value


def all_of(call: str, values: object, kind: type) -> None:
    """Refuse what is no sequence of one type's values; a truth value is no number.

    Raises: ConfigError.
    """
    items: Sequence[object] = (None,)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        items = values
    if any(isinstance(one, bool) or not isinstance(one, kind) for one in items):
        raise ConfigError(f"{_said(call, values)}: want a list of {kind.__name__}")


def tool_name(call: str, value: object) -> str:
    """Return a tool's name.

    Raises: ConfigError: it is none.
    """
    if not isinstance(value, str):
        raise ConfigError(f"{_said(call, value)}: want a tool's name, as its metadata has it")
    return value


def known(call: str, names: Collection[str], given: Collection[str]) -> None:
    """Refuse names that mean nothing.

    Raises: ConfigError: names the first.
    """
    for name in given:
        if name not in names:
            raise ConfigError(f"{call}: there is no {name}=; there are {', '.join(names)}")


def shown(value: object) -> str:
    """Return a value as Python has it, cut short."""
    told = repr(value)
    return told if len(told) <= SHOWN_CHARACTERS else f"{told[:SHOWN_CHARACTERS]}…"


def _said(call: str, value: object) -> str:
    return call.replace("…", shown(value))

"""Whether a value is what a test expects: texts by pattern, addresses in any form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from precompiles.escaping import ADDRESS
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyevm_agents.testing.addresses import AddressLike


ADDRESS_BYTES = 20

ExpectedText: TypeAlias = "str | re.Pattern[str] | Callable[[str], object]"
"""A whole text, a pattern that is found in it, or what says whether it is right."""

Expected: TypeAlias = "AddressLike | int | Sequence[object] | ExpectedText"
"""What an argument is expected to be."""


def is_text(expected: ExpectedText, actual: str) -> bool:
    """Return whether a text is what is expected.

    Raises: ConfigError: nothing of the kind can be.
    """
    if isinstance(expected, str):
        return expected == actual
    if isinstance(expected, re.Pattern):
        return expected.search(actual) is not None
    _refuse_type(expected)
    if not callable(expected):
        raise ConfigError(f"{expected!r} is no text: give one, a pattern, or a function of it")
    return bool(expected(actual))


def is_value(expected: object, actual: object) -> bool:
    """Return whether a tool's argument, as JSON has it, is what is expected."""
    address = address_of(expected)
    if address is not None:
        return isinstance(actual, str) and actual.lower() == address
    if isinstance(expected, re.Pattern):
        return isinstance(actual, str) and expected.search(actual) is not None
    _refuse_type(expected)
    if callable(expected):
        return bool(expected(actual))
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(map(is_value, expected, actual))
        )
    return type(expected) is type(actual) and expected == actual


def _refuse_type(expected: object) -> None:
    """Refuse a type, which is a function of whatever it is given, and says nothing of it."""
    if isinstance(expected, type):
        name = expected.__name__
        raise ConfigError(f"{name} is a type: give a value, or lambda it: isinstance(it, {name})")


def address_of(value: object) -> str | None:
    """Return an address in lower case; None where the value is none.

    Input: text in any case, 20 bytes, or a web3 contract.
    """
    if isinstance(value, str):
        return value.lower() if ADDRESS.fullmatch(value) else None
    if isinstance(value, bytes):
        return "0x" + value.hex() if len(value) == ADDRESS_BYTES else None
    own = getattr(value, "address", None)
    return address_of(own) if isinstance(own, (str, bytes)) else None


def told(expected: object) -> str:
    """Return an expectation for people."""
    if isinstance(expected, re.Pattern):
        return f"re.compile({expected.pattern!r})"
    address = None if isinstance(expected, str) else address_of(expected)
    if address is not None:
        return address
    if callable(expected):
        name = getattr(expected, "__name__", None) or repr(expected)
        return "a function" if name == "<lambda>" else f"{name}(…)"
    if isinstance(expected, (list, tuple)):
        return f"[{', '.join(map(told, expected))}]"
    return repr(expected)

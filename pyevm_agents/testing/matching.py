"""Comparison of actual values with expected ones: texts, patterns, addresses; their differences."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from precompiles.escaping import ADDRESS
from precompiles.spec import ADDRESS_BYTES
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.testing.inputs import AddressLike


ExpectedText: TypeAlias = "str | re.Pattern[str] | Callable[[str], object]"
"""A whole text, a pattern that is searched in it, or a predicate."""

Expected: TypeAlias = "AddressLike | int | Sequence[object] | ExpectedText"
"""The expected value of an argument, a pattern, or a predicate."""


def is_text(expected: ExpectedText, actual: str) -> bool:
    """Return whether a text matches.

    Raises: ConfigError: the expectation is not a text, a pattern or a predicate.
    """
    if isinstance(expected, str):
        return expected == actual
    if isinstance(expected, re.Pattern):
        return expected.search(actual) is not None
    _refuse_type(expected)
    if not callable(expected):
        raise ConfigError(f"{expected!r} is not a text: give a text, a pattern, or a predicate")
    return bool(expected(actual))


def is_value(expected: object, actual: object) -> bool:
    """Return whether a tool's argument, decoded from JSON, matches."""
    address = normalize_address(expected)
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
    """Reject a type: a type as a predicate would accept nearly every value."""
    if isinstance(expected, type):
        name = expected.__name__
        raise ConfigError(
            f"{name} is a type: give a value, or lambda value: isinstance(value, {name})"
        )


def normalize_address(value: object) -> str | None:
    """Return an address in lower case; None if the value is not an address.

    Input: text in any case, 20 bytes, or a web3 contract.
    """
    if isinstance(value, str):
        return value.lower() if ADDRESS.fullmatch(value) else None
    if isinstance(value, bytes):
        return "0x" + value.hex() if len(value) == ADDRESS_BYTES else None
    own = getattr(value, "address", None)
    return normalize_address(own) if isinstance(own, (str, bytes)) else None


def format_expected(expected: object) -> str:
    """Return an expected value as text for messages."""
    if isinstance(expected, re.Pattern):
        return f"re.compile({expected.pattern!r})"
    address = None if isinstance(expected, str) else normalize_address(expected)
    if address is not None:
        return address
    if callable(expected):
        name = getattr(expected, "__name__", None) or repr(expected)
        return "a predicate" if name == "<lambda>" else f"{name}(…)"
    if isinstance(expected, (list, tuple)):
        return f"[{', '.join(map(format_expected, expected))}]"
    return repr(expected)


def describe_argument_differences(wanted: Mapping[str, object], step: AgentStep) -> str | None:
    """Return a description of the arguments that differ; None if all match."""
    arguments, unlike = json.loads(step.action_input or "{}"), []
    for name, expected in wanted.items():
        if name not in arguments:
            unlike.append(
                f"there is no argument {name}; the arguments are {', '.join(arguments) or 'none'}"
            )
        elif not is_value(expected, arguments[name]):
            actual = json.dumps(arguments[name], ensure_ascii=False)
            unlike.append(f"{name} is {actual}, not {format_expected(expected)}")
    return "\n".join(unlike) or None


def describe_text_difference(
    subject: str, expected: ExpectedText, actual: str | None
) -> str | None:
    """Return a description of how a text differs; None for a match.

    Input: the beginning of the description, such as `the answer was`; the expected text; the actual
           text, None if the tool reverted.
    """
    if actual is None:
        return f"{subject} empty: the tool reverted"
    if is_text(expected, actual):
        return None
    unlike = f"{subject} {actual!r}, not {format_expected(expected)}"
    if isinstance(expected, str) and expected and expected in actual:
        unlike += f" (a part of it: re.compile({expected!r}) searches for parts)"
    return unlike


def describe_action(step: AgentStep) -> str:
    """Return a phrase on the action of a step."""
    return f"used {step.action}" if step.answer is None else "gave its final answer"


def format_marks(marks: Mapping[int, str]) -> str:
    """Return a phrase on the marks of all steps."""
    return "; ".join(
        f"at step {i + 1} {' and '.join(why.splitlines())}" for i, why in marks.items()
    )

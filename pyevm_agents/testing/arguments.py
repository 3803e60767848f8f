"""A constructor's arguments: found by position or by name, checked, and encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_abi.abi import is_encodable
from eth_utils.abi import collapse_if_tuple

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.addresses import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_SHOWN_CHARACTERS = 100
"""Characters of an argument that a message repeats."""


def bound(
    contract: str,
    parameters: Sequence[Any],
    arguments: Sequence[object],
    named: Mapping[str, object],
) -> bytes:
    """Return a constructor's arguments, encoded.

    Input:  the contract's name; the constructor's parameters as the ABI has them; what was given by
            position and by name, where `_owner` is also `owner`.
    Raises: ConfigError: one is missing, unknown, given twice, or of another type.
    """
    signature = f"{contract}({', '.join(map(_declared, parameters))})"
    names = [str(one.get("name", "")) for one in parameters]
    if len(arguments) > len(parameters):
        raise ConfigError(
            f"{signature} takes {len(parameters)} arguments, {len(arguments)} are given"
        )
    places: dict[int, object] = dict(enumerate(arguments))
    for name, value in named.items():
        place = _place(name, names)
        if place is None:
            raise ConfigError(f"{signature} has no argument {name!r}")
        if place in places:
            raise ConfigError(f"{signature}: {name!r} is given twice")
        places[place] = value
    missing = [_declared(one) for at, one in enumerate(parameters) if at not in places]
    if missing:
        raise ConfigError(f"{signature}: missing {', '.join(missing)}")
    values = [_value(signature, one, places[at]) for at, one in enumerate(parameters)]
    return encode([collapse_if_tuple(one) for one in parameters], values)


def _declared(parameter: Any) -> str:  # noqa: ANN401 - an entry of an ABI
    return (
        f"{parameter.get('internalType') or parameter['type']} {parameter.get('name', '')}".strip()
    )


def _place(name: str, names: Sequence[str]) -> int | None:
    """Return which parameter a name means: its own, or one without underscores around it."""
    if name in names:
        return names.index(name)
    bare = [one.strip("_") for one in names]
    return bare.index(name) if bare.count(name) == 1 else None


def _value(signature: str, parameter: Any, given: object) -> object:  # noqa: ANN401 - as above
    """Return an argument as the codec takes it."""
    try:
        value = _converted(parameter, parameter["type"], given)
    except (ConfigError, TypeError, ValueError) as error:
        raise _refused(signature, parameter, given, f": {error}") from error
    if not is_encodable(collapse_if_tuple(parameter), value):
        raise _refused(signature, parameter, given)
    return value


def _refused(signature: str, parameter: Any, given: object, why: str = "") -> ConfigError:  # noqa: ANN401
    shown = repr(given)
    shown = shown if len(shown) <= MAX_SHOWN_CHARACTERS else f"{shown[:MAX_SHOWN_CHARACTERS]}…"
    return ConfigError(f"{signature}: {shown} is no {_declared(parameter)}{why}")


def _converted(parameter: Any, abi_type: str, given: Any) -> object:  # noqa: ANN401 - as above
    """Return a value with addresses for contracts, and bytes for hexadecimal text."""
    if abi_type.endswith("]"):
        item = abi_type.rpartition("[")[0]
        if isinstance(given, (str, bytes)):
            raise TypeError("a list is wanted")
        return [_converted(parameter, item, one) for one in given]
    if abi_type == "tuple":
        return _struct(parameter, given)
    if abi_type == "address":
        return canonical(given)
    if abi_type.startswith("bytes") and isinstance(given, str):
        return bytes.fromhex(given.removeprefix("0x"))
    return given


def _struct(parameter: Any, given: Any) -> tuple[object, ...]:  # noqa: ANN401 - as above
    """Return a struct's fields, given in order or by name."""
    fields = parameter["components"]
    if isinstance(given, dict):
        if given.keys() != {field["name"] for field in fields}:
            raise ValueError(f"its fields are {', '.join(field['name'] for field in fields)}")
        given = [given[field["name"]] for field in fields]
    if len(given) != len(fields):
        raise ValueError(f"it has {len(fields)} fields")
    return tuple(
        _converted(field, field["type"], one) for field, one in zip(fields, given, strict=True)
    )

"""Dataclasses as JSON, with the names of the standard: `step_id` is `stepId`.

Bytes are hexadecimal with `0x`, enumerations are their values, and tuples are lists.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from eth_utils import keccak, to_checksum_address

from pyevm_agents.errors import ConfigError
from pyevm_agents.recordings.canonical_json import Json, encode_canonical

T = TypeVar("T")

_ADDRESS = re.compile("0x[0-9a-f]{40}")


def to_json(value: object) -> Json:
    """Return a value as JSON.

    Raises: TypeError: a value of another type.
    """
    if isinstance(value, Enum):
        return str(value.value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if is_dataclass(value):
        return {
            to_camel_case(field.name): to_json(getattr(value, field.name))
            for field in fields(value)
        }
    raise TypeError(f"a {type(value).__name__}: must be a dataclass or a JSON value")


def show_json(value: object) -> Json:
    """Return a value as JSON for people and other programs: addresses have checksums.

    Input:  as for `to_json`, whose result digests are computed of. 20 bytes are an address.
    """
    return _show(to_json(value))


def _show(form: Json) -> Json:
    if isinstance(form, dict):
        return {key: _show(item) for key, item in form.items()}
    if isinstance(form, list):
        return [_show(item) for item in form]
    is_address = isinstance(form, str) and _ADDRESS.fullmatch(form) is not None
    return str(to_checksum_address(str(form))) if is_address else form


def from_json(kind: type[T], value: object) -> T:
    """Return the dataclass of a JSON value.

    Raises: ConfigError: the value is not one of this type; the message names the field.
    """
    decoded: T = _decode(kind, value, kind.__name__)
    return decoded


def compute_json_digest(value: object) -> bytes:
    """Return the keccak hash of a value's canonical JSON."""
    return keccak(encode_canonical(to_json(value)).encode())


def to_camel_case(name: str) -> str:
    """Return a field's name in JSON."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


@cache
def _get_hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, value: Any, place: str) -> Any:  # noqa: ANN401 - any type and its value
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        return _decode_union(kind, value, place)
    if origin is tuple:
        _require(value, list, place, "a list")
        item_kind = get_args(kind)[0]
        return tuple(_decode(item_kind, item, f"{place}[{i}]") for i, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        _require(value, dict, place, "an object")
        item_kind = get_args(kind)[1]
        return {key: _decode(item_kind, item, f"{place}.{key}") for key, item in value.items()}
    if is_dataclass(kind):
        return _decode_dataclass(kind, value, place)
    return _decode_scalar(kind, value, place)


def _decode_union(kind: Any, value: Any, place: str) -> Any:  # noqa: ANN401 - as above
    """Decode `X | None`; other unions are values of JSON, which stay unchanged."""
    members = [member for member in get_args(kind) if member is not types.NoneType]
    if value is None and len(members) < len(get_args(kind)):
        return None
    return _decode(members[0], value, place) if len(members) == 1 else value


def _decode_scalar(kind: Any, value: Any, place: str) -> Any:  # noqa: ANN401 - as above
    if kind is bytes:
        _require(value, str, place, "hexadecimal with 0x")
        try:
            return bytes.fromhex(value.removeprefix("0x"))
        except ValueError as error:
            raise ConfigError(f"{place} {value!r:.80}: must be hexadecimal with 0x") from error
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError as error:
            known = ", ".join(str(each.value) for each in kind)
            raise ConfigError(f"{place} {value!r:.80}: must be one of {known}") from error
    if kind is float and type(value) is int:
        return float(value)
    if kind in {str, int, bool, float}:
        if type(value) is not kind:
            raise ConfigError(f"{place} {value!r:.80}: must be of type {kind.__name__}")
        return value
    return value


def _decode_dataclass(kind: Any, value: Any, place: str) -> Any:  # noqa: ANN401 - as above
    _require(value, dict, place, "an object")
    hints = _get_hints(kind)
    names = {to_camel_case(field.name): field for field in fields(kind)}
    unknown = sorted(value.keys() - names.keys())
    if unknown:
        raise ConfigError(f"{place}.{unknown[0]:.80}: must be one of {', '.join(names)}")
    decoded = {
        field.name: _decode(hints[field.name], value[key], f"{place}.{key}")
        for key, field in names.items()
        if key in value
    }
    missing = [
        key
        for key, field in names.items()
        if field.name not in decoded
        and field.default is MISSING
        and field.default_factory is MISSING
    ]
    if missing:
        raise ConfigError(f"{place}.{missing[0]}: is missing")
    return kind(**decoded)


def _require(value: object, kind: type, place: str, constraint: str) -> None:
    if not isinstance(value, kind):
        raise ConfigError(f"{place} {value!r:.80}: must be {constraint}")

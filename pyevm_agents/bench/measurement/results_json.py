"""Read and write `Report` as JSON, by the dataclasses' types: one rule for each kind of field.

A dataclass is an object with exactly the same fields, a tuple is a list, and a number that is not
finite, which JSON lacks, is the text `"Infinity"`, `"-Infinity"` or `"NaN"`. A field whose default
is None may be missing, as in older reports.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_origin, get_type_hints

from pyevm_agents.bench.measurement.results import FORM, Report
from pyevm_agents.errors import ConfigError
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from pathlib import Path

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

NOT_FINITE = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
LINE_CHARACTERS = 100
"""Objects of plain values up to this length stand on one line; lists of plain values always do, as
rows of samples.
"""


def to_json(report: Report) -> str:
    """Return a report as JSON with short lines: a diff of two reports is readable."""
    return _format_json(_build_json(report), "") + "\n"


def from_json(text: str | bytes) -> Report:
    """Parse a report.

    Raises: ConfigError: the text is not JSON, or not a report of this form; names the place.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise ConfigError(f"not JSON: {error}") from error
    form = parse_json(text)
    number = form.get("form") if isinstance(form, dict) else None
    if type(number) is int and number != FORM:
        raise ConfigError(
            f"a report of form {number}, and this version reads form {FORM}: measure again, or "
            "read it with the version that wrote it"
        )
    report = _read(form, Report, "report")
    if not isinstance(report, Report):
        raise TypeError("a report is read as something else")
    return report


def read_report(path: Path) -> Report:
    """Read a report's file.

    Raises: ConfigError: the file is not readable, or holds no report.
    """
    try:
        return from_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"{path} can't be read: {error.strerror}; name a file that `bench --json` wrote"
        ) from error
    except ConfigError as error:
        raise ConfigError(f"{path} holds no report: {error}") from error


def _build_json(value: object) -> Json:
    if is_dataclass(value):
        return {each.name: _build_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return [_build_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return next(name for name, known in NOT_FINITE.items() if repr(known) == repr(value))
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} has no form in a report")


def _format_json(value: Json, indent: str) -> str:
    """Return indented JSON, with one line for each row of plain values."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    holder = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(holder, list) or not holder:
        return line
    is_plain = not any(isinstance(item, dict | list) for item in holder)
    is_row = isinstance(value, list) or len(indent) + len(line) <= LINE_CHARACTERS
    if is_plain and is_row:
        return line
    inner = indent + " "
    if isinstance(value, dict):
        named = (
            f"{json.dumps(key, ensure_ascii=False)}: {_format_json(item, inner)}"
            for key, item in value.items()
        )
        return "{\n" + ",\n".join(inner + row for row in named) + f"\n{indent}}}"
    rows = (_format_json(item, inner) for item in holder)
    return "[\n" + ",\n".join(inner + row for row in rows) + f"\n{indent}]"


def _read(value: object, wanted: Any, place: str) -> object:  # noqa: ANN401 - a type, or a form of one
    """Return a value converted to the declared type."""
    if is_dataclass(wanted):
        return _read_object(value, wanted, place)
    kind, inner = get_origin(wanted), get_args(wanted)
    if kind is tuple:
        return _read_tuple(value, inner, place)
    if kind is UnionType:
        if value is None and NoneType in inner:
            return None
        (present,) = (each for each in inner if each is not NoneType)
        return _read(value, present, place)
    return _read_plain(value, wanted, place)


def _read_object(value: object, wanted: Any, place: str) -> object:  # noqa: ANN401 - a dataclass
    types = _get_field_types(wanted)
    if not isinstance(value, dict):
        raise ConfigError(f"{place} {_abbreviate(value)}: must be an object")
    for name in value:
        if name not in types:
            raise ConfigError(f"{place}.{name} is unknown; there are {', '.join(types)}")
    for each in fields(wanted):
        if each.name not in value and each.default is not None:
            raise ConfigError(f"{place}.{each.name} is missing")
    known = {name: value[name] for name in types if name in value}
    return wanted(**{name: _read(it, types[name], f"{place}.{name}") for name, it in known.items()})


def _read_tuple(value: object, inner: tuple[Any, ...], place: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"{place} {_abbreviate(value)}: must be a list")
    if inner[-1] is Ellipsis:
        inner = (inner[0],) * len(value)
    if len(value) != len(inner):
        raise ConfigError(f"{place} of {len(value)} items: must be of {len(inner)}")
    items = enumerate(zip(value, inner, strict=True))
    return tuple(_read(item, each, f"{place}[{at}]") for at, (item, each) in items)


def _read_plain(value: object, wanted: type, place: str) -> object:
    if wanted is float and isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]
    try:
        if wanted is float and type(value) is int:
            return float(value)
        if type(value) is wanted:
            if isinstance(value, str):
                value.encode()
            return value
    except (OverflowError, UnicodeEncodeError) as error:
        raise ConfigError(f"{place} is {_abbreviate(value)}: {error}") from error
    words = {str: "a text", int: "a whole number", bool: "true or false"}
    number = "a number, or one of " + ", ".join(map(repr, NOT_FINITE))
    raise ConfigError(f"{place} {_abbreviate(value)}: must be {words.get(wanted, number)}")


@cache
def _get_field_types(wanted: type) -> dict[str, Any]:
    return get_type_hints(wanted)


def _abbreviate(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= LINE_CHARACTERS else text[:LINE_CHARACTERS] + "…"

"""File format of fixtures: canonical JSON, with a digest for every item.

A file is an object whose only key is the fixture's name. In addition to the fixture's sections the
object has `digests`, which mirrors the sections down to single fields with SHA-256 digests of
canonical JSON, and `digest`, the digest of `digests`. Digests detect accidents and locate changes;
a change of an item together with all digests is detected when the chain is executed.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.errors import ConfigError, FixtureError
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Never

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

DIGEST_DEPTH = 3
"""Levels below a fixture with their own digests: section, item, field."""

LINE_DEPTH = 4
"""Levels of a file that are written on separate lines: name, section, item, field."""

DIGEST_KEYS = ("digest", "digests")


def encode_canonical(value: Json) -> str:
    """Return the canonical JSON of a value: sorted keys, no white space, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def compute_digest(value: Json) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal."""
    return "0x" + hashlib.sha256(encode_canonical(value).encode()).hexdigest()


def serialize(name: str, sections: Mapping[str, Json]) -> str:
    """Return the text of a fixture's file, with digests."""
    digests = _compute_digests(dict(sections), DIGEST_DEPTH)
    form: Json = {name: {**sections, "digests": digests, "digest": compute_digest(digests)}}
    return _format_json(form) + "\n"


def parse(data: bytes, version: int) -> tuple[str, dict[str, Json]]:
    """Parse a fixture's file, and check every digest and byte; return the name and sections.

    Raises: FixtureError: not JSON, not a fixture, or an item does not match the digest; the message
            names the first one. ConfigError: a fixture of another version.
    """
    text, value = _read(data)
    if not isinstance(value, dict) or len(value) != 1:
        raise FixtureError(
            "not a fixture: must be a JSON object with the fixture's name as only key"
        )
    ((name, form),) = value.items()
    if not isinstance(form, dict):
        raise FixtureError(f"not a fixture: {name[:80]!r} must be an object")
    for key in DIGEST_KEYS:
        if key not in form:
            raise FixtureError(f"altered: {key} is missing")
    sections = {key: item for key, item in form.items() if key not in DIGEST_KEYS}
    difference = _check_digests(sections, form["digests"], form["digest"])
    _check_version(form, version, difference)
    if difference is not None:
        raise FixtureError(f"altered: {difference}. Download the file again")
    expected = _format_json(value) + "\n"
    if text != expected:
        _reject_spelling(text, expected)
    info = form.get("_info")
    if not isinstance(info, dict) or info.get("name") != name:
        raise FixtureError(f"altered: the name {name[:80]!r} is not _info.name")
    return name, sections


def _check_version(form: dict[str, Json], version: int, difference: str | None) -> None:
    """Reject a file of another version. A mismatch may be due to the other version's layout.

    Raises: ConfigError: the file has another version.
    """
    info = form.get("_info")
    stated = info.get("version") if isinstance(info, dict) else None
    is_other = isinstance(stated, int) and stated != version
    if is_other and (difference is None or "_info.version" not in difference):
        raise ConfigError(
            f"fixture of version {stated}: this program reads version {version}; use the "
            "program that wrote it, or record it again"
        )


def iter_differences(computed: Json, stated: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """Compare two values; yield path and kind of each difference."""
    left, right = _split_parts(computed, path), _split_parts(stated, path)
    if left is None or right is None or type(computed) is not type(stated):
        if type(computed) is not type(stated) or computed != stated:
            yield path, "different"
        return
    for place in sorted(left.keys() | right.keys(), key=_sort_key):
        if place not in right:
            yield place, "missing"
        elif place not in left:
            yield place, "unknown"
        else:
            yield from iter_differences(left[place], right[place], place)


def _split_parts(value: Json, path: str) -> dict[str, Json] | None:
    """Return the items of an object or a list by path; None for other values."""
    if isinstance(value, dict):
        return {f"{path}.{key}" if path else key: item for key, item in value.items()}
    if isinstance(value, list):
        return {f"{path}[{index}]": item for index, item in enumerate(value)}
    return None


def _sort_key(place: str) -> tuple[int, str]:
    """Return a key that sorts `[9]` before `[10]`."""
    return len(place), place


def _compute_digests(value: Json, depth: int) -> Json:
    if depth and isinstance(value, dict):
        return {key: _compute_digests(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, list):
        return [_compute_digests(item, depth - 1) for item in value]
    return compute_digest(value)


def _check_digests(sections: dict[str, Json], digests: Json, digest: Json) -> str | None:
    """Describe the first digest that does not match; None if all match."""
    try:
        computed = _compute_digests(dict(sections), DIGEST_DEPTH)
        is_sealed = compute_digest(digests) == digest
        pair = (digests, computed) if is_sealed else (computed, digests)
        differences = list(iter_differences(*pair))
    except ValueError as error:  # An infinite number, such as 1e999.
        return str(error)
    if not differences:
        return None if is_sealed else "digest does not match digests; every item matches its own"
    place, kind = differences[0]
    phrase = "does not match its digest" if kind == "different" else f"is {kind}"
    if not is_sealed:
        place = f"digests.{place}"
        phrase = "is not the digest of its item" if kind == "different" else phrase
    more = f", and {len(differences) - 1} more" if len(differences) > 1 else ""
    return f"{place} {phrase}{more}"


def _read(data: bytes) -> tuple[str, Json]:
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise FixtureError(
            f"line {line}, column {column}: byte 0x{data[error.start]:02x}: must be ASCII"
        ) from error
    return text, read_json(text, "fixture")


def read_json(text: str, kind: str) -> Json:
    """Parse JSON; `kind` describes the file in errors.

    Raises: FixtureError: not JSON, or nested too deep.
    """
    try:
        value: Json = parse_json(text)
    except ConfigError as error:
        raise FixtureError(f"not a {kind}: {error}") from error
    return value


def _reject_spelling(text: str, expected: str) -> Never:
    same = next(
        (i for i, (a, b) in enumerate(zip(text, expected, strict=False)) if a != b),
        min(len(text), len(expected)),
    )
    line = text.count("\n", 0, same) + 1
    column = same - text.rfind("\n", 0, same)
    raise FixtureError(
        f"altered: line {line}, column {column}: the values are right, but not in canonical "
        "form (white space, order, escapes, duplicate key)"
    )


def _format_json(value: Json, depth: int = 0) -> str:
    """Format JSON with the outer levels on separate lines."""
    if depth == LINE_DEPTH or not value or not isinstance(value, (dict, list)):
        return encode_canonical(value)
    pad, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + ",".join(pad + _format_json(item, depth + 1) for item in value) + end + "]"
    parts = (
        f"{pad}{encode_canonical(k)}: {_format_json(v, depth + 1)}"
        for k, v in sorted(value.items())
    )
    return "{" + ",".join(parts) + end + "}"

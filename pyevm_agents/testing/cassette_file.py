"""The file of a cassette: the generations of one test, readable and comparable line by line.

Exchanges are written as in recorded chains (`recordings/generation_codec.py`). A text of several
lines is a list of lines, for diffs of lines. White space and the order of keys are not significant:
a formatter of JSON may format cassettes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents import __version__
from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.config import DIGEST_BYTES
from pyevm_agents.errors import ConfigError, FixtureError
from pyevm_agents.recordings import canonical_json
from pyevm_agents.recordings.generation_codec import encode_exchange, read_exchange
from pyevm_agents.recordings.json_reader import JsonReader

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.models.fakes.recorded import Exchange
    from pyevm_agents.recordings.canonical_json import Json

FORMAT = "pyevm-agents cassette"
VERSION = 1
"""Increased when the meaning or the place of a field changes."""

COMMENT = "What models said in this test. Written by pytest --record; not to be edited by hand."

FIELDS = (
    "model",
    "prompt",
    "isTemplate",
    "text",
    "generation",
    "maxTokens",
    "grammar",
    "promptTokens",
)
"""The order of an exchange's fields: the readable ones come first."""

LINE_CHARACTERS = 100
"""Shorter values are written on one line."""

_LINES = re.compile(r"[^\n]*\n|[^\n]+")

CONFLICT_MARKS = ("<<<<<<< ", ">>>>>>> ")
"""Marks of a merge conflict in git."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CassetteModel:
    """A model in a cassette."""

    name: str
    """The name in the chain's configuration."""

    digest: bytes
    """See `precompiles.language_model.ModelProfile.digest`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """The generations of a test."""

    test: str
    """The test's name."""

    models: tuple[CassetteModel, ...]
    exchanges: tuple[Exchange, ...]
    """Each prompt once, in the order of the first requests."""

    tool: str = f"pyevm-agents {__version__}"
    """Name and version of the recording program."""


def write_cassette(cassette: Cassette, path: Path) -> bool:
    """Write a cassette's file atomically; return whether the content changed.

    Raises: ConfigError: the file can't be written.
    """
    data = encode(cassette)
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: can't be written: {error.strerror}") from error
    write_atomically(path, data)
    return True


def read_cassette(path: Path) -> Cassette:
    """Read and check a cassette's file.

    Raises: ConfigError: the file can't be read, or has another version. FixtureError: not a
        cassette, or altered; the message names the place.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror}") from error
    try:
        return decode(data)
    except (ConfigError, FixtureError) as error:
        raise type(error)(f"{path}: {error}") from error


def encode(cassette: Cassette) -> bytes:
    """Return the bytes of a cassette's file."""
    models: Json = [
        {"name": model.name, "digest": "0x" + model.digest.hex()} for model in cassette.models
    ]
    steps: list[Json] = [encode_exchange(exchange) for exchange in cassette.exchanges]
    whole: Json = {
        "_info": {
            "format": FORMAT,
            "version": VERSION,
            "comment": COMMENT,
            "test": cassette.test,
            "filledwith": cassette.tool,
        },
        "models": models,
        "steps": [_split_lines(step) for step in steps],
        "digests": {
            "models": canonical_json.compute_digest(models),
            "steps": [canonical_json.compute_digest(s) for s in steps],
        },
    }
    return (_format_json(whole) + "\n").encode()


def decode(data: bytes) -> Cassette:
    """Return the cassette of a file's bytes.

    Raises: FixtureError: the data are not a cassette, or were altered. ConfigError: the version is
            unknown.
    """
    root = JsonReader(_parse_json(data), "")
    info = root["_info"]
    if info["format"].read_text() != FORMAT:
        raise FixtureError(f"no cassette: _info.format must be {FORMAT!r}")
    version = info["version"].read_integer()
    if version != VERSION:
        raise ConfigError(
            f"a cassette of version {version}; this program reads version {VERSION}: record it "
            "again, or use the program that wrote it"
        )
    steps = [JsonReader(_join_lines(step.value), step.path) for step in root["steps"].iter_items()]
    _check_digests(root, steps)
    return Cassette(
        test=info["test"].read_text(),
        models=tuple(
            CassetteModel(
                name=model["name"].read_text(), digest=model["digest"].read_data(DIGEST_BYTES)
            )
            for model in root["models"].iter_items()
        ),
        exchanges=tuple(map(read_exchange, steps)),
        tool=info["filledwith"].read_text(),
    )


def _parse_json(data: bytes) -> Json:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FixtureError(f"no cassette: line {line} is not UTF-8") from error
    for number, written in enumerate(text.split("\n"), start=1):
        if written.startswith(CONFLICT_MARKS):
            raise FixtureError(
                f"line {number} is git's mark of a conflict ({written[:7]}): take one side whole"
            )
    return canonical_json.read_json(text, "cassette")


def _check_digests(root: JsonReader, steps: list[JsonReader]) -> None:
    """Compare the digests of all items.

    Raises: FixtureError: an item was altered; the message names the first.
    """
    digests = root["digests"]
    stated = [item.read_text() for item in digests["steps"].iter_items()]
    if len(stated) != len(steps):
        raise FixtureError(
            f"altered: it has {len(steps)} steps, and {len(stated)} digests of steps"
        )
    items = [("models", root["models"].value, digests["models"].read_text())]
    items += [(step.path, step.value, digest) for step, digest in zip(steps, stated, strict=True)]
    for place, value, digest in items:
        if _compute_digest(place, value) != digest:
            raise FixtureError(f"altered: {place} does not fit its digest")


def _compute_digest(place: str, value: Json) -> str:
    try:
        return canonical_json.compute_digest(value)
    except ValueError as error:  # An infinite number, such as 1e999.
        raise FixtureError(f"{place}: {error}") from error


def _split_lines(value: Json) -> Json:
    """Return a value with lists of lines for texts of several lines."""
    if isinstance(value, str):
        lines: list[Json] = [*_LINES.findall(value)]
        return lines if len(lines) > 1 else value
    if isinstance(value, list):
        return [_split_lines(item) for item in value]
    if isinstance(value, dict):
        return {key: _split_lines(item) for key, item in value.items()}
    return value


def _join_lines(value: Json) -> Json:
    """Return a value with texts for lists of lines: an exchange has no other lists of texts."""
    if isinstance(value, dict):
        return {key: _join_lines(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    lines = [item for item in value if isinstance(item, str)]
    if lines and len(lines) == len(value):
        return "".join(lines)
    return [_join_lines(item) for item in value]


def _format_json(value: Json, depth: int = 0) -> str:
    """Return JSON with each text on a separate line, and lists of numbers on one line."""
    short = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not value or not isinstance(value, (dict, list)):
        return short
    pad, end = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    if isinstance(value, list):
        is_flat = not any(isinstance(item, (str, dict, list)) for item in value)
        if is_flat or (depth > 1 and len(short) <= LINE_CHARACTERS):
            return short
        return "[" + ",".join(pad + _format_json(item, depth + 1) for item in value) + end + "]"
    if depth > 1 and len(short) <= LINE_CHARACTERS:
        return short
    parts = (
        f"{pad}{json.dumps(key)}: {_format_json(value[key], depth + 1)}"
        for key in sorted(value, key=_get_field_order)
    )
    return "{" + ",".join(parts) + end + "}"


def _get_field_order(key: str) -> int:
    return FIELDS.index(key) if key in FIELDS else len(FIELDS)

"""The entry `numeric_model` of a file: names, decimals and ranges of the inputs and outputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

from pyevm_agents.display import LINE_CHARACTERS, sanitize
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.numeric.errors import NumericModelError, show
from pyevm_agents.models.numeric.limits import (
    MAX_DECIMALS,
    MAX_METADATA_BYTES,
    MAX_NAME_CHARACTERS,
    MAX_VALUES,
    TYPE_RANGES,
)
from pyevm_agents.strict_json import parse_json

METADATA_KEY = "numeric_model"
"""Key of the entry in the file's `metadata_props`."""

INPUT_KEYS = ("name", "count", "decimals", "least", "most")
OUTPUT_KEYS = ("name", "count", "decimals")
MODEL_KEYS = ("inputs", "outputs", "license", "source")

Form: TypeAlias = "dict[str, object]"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSpec:
    """Consecutive output numbers with one name."""

    name: str
    count: int
    decimals: int
    """The number 1.5 with 2 decimals is 150."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec(OutputSpec):
    """Consecutive input numbers with one name and one range."""

    least: int
    most: int
    """Both ends are admitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericMetadata:
    """Everything that a file states about numbers and origin."""

    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    license: str
    source: str


def parse_metadata(text: str) -> NumericMetadata:
    """Parse the JSON of the entry.

    Raises:
        NumericModelError: not JSON, or a key or a value that is not as stated.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_METADATA_BYTES:
        raise NumericModelError(
            f"metadata entry {METADATA_KEY}: must be at most {MAX_METADATA_BYTES:,} bytes; "
            f"join numbers of one kind with count"
        )
    try:
        parsed: object = parse_json(text)
    except ConfigError as error:
        reason = sanitize(str(error), LINE_CHARACTERS)
        raise NumericModelError(
            f"metadata entry {METADATA_KEY}: {reason}; write it as docs/models.md shows"
        ) from error
    form = _get_form(parsed, MODEL_KEYS, "")
    return NumericMetadata(
        inputs=tuple(_parse_input(each) for each in _get_list(form, "inputs")),
        outputs=tuple(_parse_output(each) for each in _get_list(form, "outputs")),
        license=_get_text(form, "license", ""),
        source=_get_text(form, "source", ""),
    )


def write_metadata(metadata: NumericMetadata) -> str:
    """Return the JSON that `parse_metadata` reads."""
    return json.dumps(
        {
            "inputs": [{key: getattr(x, key) for key in INPUT_KEYS} for x in metadata.inputs],
            "outputs": [{key: getattr(x, key) for key in OUTPUT_KEYS} for x in metadata.outputs],
            "license": metadata.license,
            "source": metadata.source,
        }
    )


def _fail(where: str, key: str, constraint: str) -> NumericModelError:
    return NumericModelError(
        f"metadata entry {METADATA_KEY}: {where}{key}: must be {constraint}; correct the entry"
    )


def _get_form(value: object, keys: tuple[str, ...], where: str) -> Form:
    if not isinstance(value, dict):
        raise _fail(where, "value", f"an object with {', '.join(keys)}")
    if value.keys() != set(keys):
        wrong = sorted(str(key) for key in value.keys() ^ set(keys))
        raise _fail(where, f"key {show(wrong[0])}", f"one of exactly {', '.join(keys)}")
    return value


def _get_list(form: Form, key: str) -> list[object]:
    value = form[key]
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_VALUES:
        raise _fail("", key, f"an array of 1 to {MAX_VALUES:,} objects")
    return value


def _get_text(form: Form, key: str, where: str, most: int = MAX_METADATA_BYTES) -> str:
    value = form[key]
    if not isinstance(value, str) or len(value) > most or not _is_encodable(value):
        raise _fail(where, key, f"a text of at most {most:,} characters")
    return value


def _is_encodable(text: str) -> bool:
    """Return whether UTF-8 can encode a text: JSON may contain half a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _get_name(form: Form, where: str) -> str:
    name = _get_text(form, "name", where, MAX_NAME_CHARACTERS)
    if not name or not name.isprintable():
        raise _fail(where, "name", "printable and not empty")
    return name


def _get_integer(form: Form, key: str, where: str, least: int, most: int) -> int:
    value = form[key]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _fail(where, key, f"an integer from {least} to {most}")
    return value


def _parse_output(value: object) -> OutputSpec:
    form = _get_form(value, OUTPUT_KEYS, "output: ")
    name = _get_name(form, "output: ")
    where = f"output {show(name)}: "
    return OutputSpec(
        name=name,
        count=_get_integer(form, "count", where, 1, MAX_VALUES),
        decimals=_get_integer(form, "decimals", where, 0, MAX_DECIMALS),
    )


def _parse_input(value: object) -> InputSpec:
    form = _get_form(value, INPUT_KEYS, "input: ")
    name = _get_name(form, "input: ")
    where = f"input {show(name)}: "
    least, most = TYPE_RANGES["int64"]
    low = _get_integer(form, "least", where, least, most)
    return InputSpec(
        name=name,
        count=_get_integer(form, "count", where, 1, MAX_VALUES),
        decimals=_get_integer(form, "decimals", where, 0, MAX_DECIMALS),
        least=low,
        most=_get_integer(form, "most", where, low, most),
    )

"""JSON values of golden files: a readable text, an abbreviation, a structure of types."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from eth_utils import keccak

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.models import Vocabulary

    Collect = Callable[[Vocabulary], Mapping[str, object]]

Json: TypeAlias = Any
"""What `json` reads and writes."""

MAX_CHARACTERS = 400
MAX_ITEMS = 16
"""A longer text or list is abbreviated: its beginning, its length, its keccak."""

KEPT_CHARACTERS, KEPT_ITEMS = 80, 2

HASH = re.compile(r"0x[0-9a-f]{64}")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
QUANTITY = re.compile(r"0x(0|[1-9a-f][0-9a-f]*)")
DATA = re.compile(r"0x([0-9a-fA-F]{2})*")


def to_text(value: Json) -> str:
    """Return the canonical text of a golden file: sorted keys, one value a line."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def digest_of(value: Json) -> str:
    """Return the keccak of a value's compact JSON."""
    return "0x" + keccak(text=json.dumps(value, sort_keys=True, separators=(",", ":"))).hex()


def abbreviate(value: Json) -> Json:
    """Return a value with its long texts and lists cut, each with the keccak of the whole."""
    if isinstance(value, str) and len(value) > MAX_CHARACTERS:
        return f"{value[:KEPT_CHARACTERS]}… ({len(value)} characters, keccak {digest_of(value)})"
    if isinstance(value, list | tuple):
        items = [abbreviate(item) for item in value]
        if len(items) <= MAX_ITEMS:
            return items
        return [*items[:KEPT_ITEMS], f"… ({len(items)} items, keccak {digest_of(value)})"]
    if isinstance(value, dict):
        return {str(key): abbreviate(item) for key, item in value.items()}
    return value


def structure_of(value: Json) -> Json:
    """Return the nested keys of a value, with the type of JSON in place of each value.

    The items of a list share one structure; keys of an object that are hashes or addresses do too.
    """
    if isinstance(value, dict):
        named: dict[str, list[Json]] = {}
        for key, item in value.items():
            named.setdefault(_key_kind(str(key)), []).append(structure_of(item))
        return {key: _merged(kinds) for key, kinds in named.items()}
    if isinstance(value, list | tuple):
        return [_merged([structure_of(item) for item in value])] if value else []
    return _scalar_kind(value)


def _key_kind(key: str) -> str:
    if HASH.fullmatch(key):
        return "<hash>"
    return "<address>" if ADDRESS.fullmatch(key) else key


def _scalar_kind(value: object) -> str:
    if isinstance(value, str):
        kinds = {"hash": HASH, "address": ADDRESS, "quantity": QUANTITY, "data": DATA}
        return next((name for name, kind in kinds.items() if kind.fullmatch(value)), "text")
    names = {bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return names[type(value)]


def _merged(kinds: Sequence[Json]) -> Json:
    """Return one structure for several: objects by key, lists by item, else the alternatives."""
    unlike: list[Json] = []
    for kind in kinds:
        if kind not in unlike:
            unlike.append(kind)
    if len(unlike) == 1:
        return unlike[0]
    objects = [kind for kind in unlike if isinstance(kind, dict)]
    lists = [kind for kind in unlike if isinstance(kind, list)]
    scalars = {kind for kind in unlike if isinstance(kind, str)}
    alternatives: list[Json] = []
    if objects:
        keys = sorted({key for kind in objects for key in kind})
        alternatives.append(
            {
                key if all(key in kind for kind in objects) else f"{key}?": _merged(
                    [kind[key] for kind in objects if key in kind]
                )
                for key in keys
            }
        )
    if lists:
        items = [item for kind in lists for item in kind]
        alternatives.append([_merged(items)] if items else [])
    if scalars:
        alternatives.append(
            " or ".join(sorted({p for kind in scalars for p in kind.split(" or ")}))
        )
    return alternatives[0] if len(alternatives) == 1 else {"either": alternatives}

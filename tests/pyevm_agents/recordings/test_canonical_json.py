"""The file format of fixtures: canonical form, digests, location of changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError, FixtureError
from pyevm_agents.recordings.canonical_json import (
    compute_digest,
    encode_canonical,
    iter_differences,
    parse,
    serialize,
)

if TYPE_CHECKING:
    from pyevm_agents.recordings.canonical_json import Json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)
SECTIONS: dict[str, Json] = {
    "_info": {"version": 1, "name": "name", "comment": "a “word”"},
    "blocks": [{"rlp": "0x00", "n": 1}, {"rlp": "0x01", "n": 2}],
    "empty": {},
    "hash": "0xab",
}
FILE = serialize("name", SECTIONS).encode()


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])).filter(
            lambda key: key not in {"_info", "digest", "digests"}
        ),
        JSON,
        max_size=4,
    ),
)
def test_what_is_written_is_what_is_read(name: str, sections: dict[str, Json]) -> None:
    whole: dict[str, Json] = {**sections, "_info": {"version": 1, "name": name}}
    assert parse(serialize(name, whole).encode(), 1) == (name, whole)


def test_a_file_is_ascii_with_a_field_on_each_line() -> None:
    assert FILE.isascii()
    assert '   "rlp": "0x01"\n' in FILE.decode()


@given(st.data())
def test_every_altered_byte_is_found(data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(FILE) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != FILE[index]))
    altered = FILE[:index] + bytes([byte]) + FILE[index + 1 :]
    with pytest.raises(FixtureError, match=r"altered: |line \d+, column \d+: |not a "):
        parse(altered, 1)


@given(st.integers(0, len(FILE) - 1))
def test_every_missing_or_doubled_byte_is_found(index: int) -> None:
    for altered in (
        FILE[:index] + FILE[index + 1 :],
        FILE[:index] + FILE[index : index + 1] + FILE[index:],
        FILE[:index],
    ):
        if altered != FILE:
            with pytest.raises(FixtureError):
                parse(altered, 1)


def resealed(old: str, new: str) -> bytes:
    assert old in FILE.decode()
    return FILE.decode().replace(old, new, 1).encode()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"rlp": "0x01"',
            '"rlp": "0x02"',
            r"altered: blocks\[1\]\.rlp does not match its digest\.",
        ),
        ('"n": 2', '"m": 2', r"altered: blocks\[1\]\.m is unknown, and 1 more"),
        ('"hash": "0xab"', '"hash": "0xac"', r"altered: hash does not match its digest"),
        ('"empty": {}', '"empty": []', r"altered: digests\.empty is not the digest of its item"),
        ('{\n "name"', '{\n "nama"', r"altered: the name 'nama' is not _info\.name"),
        (
            compute_digest("0x01"),
            compute_digest("0x02"),
            r"digests\.blocks\[1\]\.rlp is not the digest of its item",
        ),
        ('"digests": {', '"digest5": {', r"altered: digests is missing"),
        ('"digest": "0x', '"digest": "0y', r"altered: digest does not match digests"),
        ('"n": 2', '"n":  2', r"line \d+, column \d+: the values are right, but not in canonical"),
        ('"n": 2', '"n": 2.0', r"altered: blocks\[1\]\.n does not match its digest"),
        ('"n": 2', '"n": 1e999', r"1e999: not a JSON number"),
        ('"n": 2', '"n": NaN', r"NaN: not a JSON number"),
        ('"n": 2', '"n": 2, "n": 2', r"member 'n': must stand once"),
        ("\\u201c", "\\u201C", r"not in canonical form"),
    ],
)
def test_what_was_altered_is_named(old: str, new: str, message: str) -> None:
    with pytest.raises(FixtureError, match=message):
        parse(resealed(old, new), 1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"line 1, column 1: Expecting value"),
        (b"hello", r"line 1, column 1: Expecting value"),
        (b"\xff\xfe", r"line 1, column 1: byte 0xff: must be ASCII"),
        (b"[]", r"must be a JSON object with the fixture's name"),
        (b"{}", r"must be a JSON object with the fixture's name"),
        (b'{"a":1,"b":2}', r"must be a JSON object with the fixture's name"),
        (b'{"a":1}', r"'a' must be an object"),
        (b'{"a":{}}', r"digest is missing"),
        (b"[" * 100_000, r"must nest at most 64 objects and lists"),
        (b'{"a":' + b"9" * 5_000 + b"}", r"not a fixture: 9{20}…: must have at most 1,000 digits"),
    ],
)
def test_what_is_no_fixture_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FixtureError, match=message):
        parse(data, 1)


def test_another_version_is_no_alteration() -> None:
    with pytest.raises(ConfigError, match=r"fixture of version 1: this program reads version 2"):
        parse(FILE, 2)
    with pytest.raises(FixtureError, match=r"altered: _info\.version does not match its digest"):
        parse(resealed('"version": 1', '"version": 3'), 1)


def test_differences_have_their_places() -> None:
    left: Json = {"a": [1, 2, {"b": 3}], "c": 1}
    right: Json = {"a": [1, True, {"b": 4}, 5], "d": 1}
    assert sorted(iter_differences(left, right)) == [
        ("a[1]", "different"),
        ("a[2].b", "different"),
        ("a[3]", "unknown"),
        ("c", "missing"),
        ("d", "unknown"),
    ]
    assert list(iter_differences(1, 1)) == []
    assert list(iter_differences({"a": 1}, {"a": True})) == [("a", "different")]


@given(JSON)
def test_compact_json_is_what_python_reads_back(value: Json) -> None:
    assert json.loads(encode_canonical(value)) == value

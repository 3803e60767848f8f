"""A cassette's file: round trips, and detection of alterations."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError, FixtureError
from pyevm_agents.recordings import read_fixture
from pyevm_agents.testing.cassette_file import (
    Cassette,
    CassetteModel,
    decode,
    encode,
    read_cassette,
    write_cassette,
)
from tests.pyevm_agents.recordings.test_generation_codec import EXCHANGES, TEXTS

FIXTURE = read_fixture(Path(__file__).parents[3] / "chain_fixtures" / "wallet.json")

CASSETTE = Cassette(
    test="tests/test_wallet.py::test_deposit",
    models=tuple(CassetteModel(name=one.name, digest=one.digest) for one in FIXTURE.config.models),
    exchanges=tuple(step.exchange for step in FIXTURE.steps),
)

MODELS = st.builds(CassetteModel, name=TEXTS, digest=st.binary(min_size=32, max_size=32))


@given(
    st.builds(
        Cassette,
        test=TEXTS,
        models=st.lists(MODELS, max_size=2).map(tuple),
        exchanges=st.lists(EXCHANGES, max_size=3).map(tuple),
        tool=TEXTS,
    )
)
def test_what_is_written_is_read(cassette: Cassette) -> None:
    assert decode(encode(cassette)) == cassette


def test_a_real_run_is_readable_line_by_line() -> None:
    text = encode(CASSETTE).decode()
    assert '            "- DeployTool: Deploy funds into the pool\\n",' in text.split("\n")
    assert '        {"text": "Thought:", "isTemplate": false}' in text.split("\n")
    assert '          "Action: DeployTool\\n",' in text.split("\n")
    assert text.index('"prompt"') < text.index('"generation"') < text.index('"promptTokens"')
    assert decode(text.encode()) == CASSETTE


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_another_spelling_of_the_same_values_is_as_good(indent: int | None) -> None:
    spelled = json.dumps(json.loads(encode(CASSETTE)), indent=indent, sort_keys=True)
    assert decode(spelled.encode()) == CASSETTE


@given(st.data())
def test_an_altered_character_is_found_or_means_nothing(data: st.DataObject) -> None:
    whole = encode(CASSETTE).decode()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.sampled_from('0a{}[]",:\n \\'))
    altered = (whole[:at] + other + whole[at + 1 :]).encode()
    try:
        read = decode(altered)
    except (FixtureError, ConfigError):
        return
    assert (read.models, read.exchanges) == (CASSETTE.models, CASSETTE.exchanges)


def altered(place: tuple[str | int, ...], value: object) -> bytes:
    """Return the file with one value changed, or removed by None."""
    whole = json.loads(encode(CASSETTE))
    holder = whole
    for key in place[:-1]:
        holder = holder[key]
    if value is None:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "not a cassette: not JSON: line 1"),
        (b"\xff", "line 1 is not UTF-8"),
        (b"[]", "must be an object"),
        (b"{}", "no _info"),
        (b"[" * 1_000, "must nest at most 64 objects and lists"),
        (b"\n<<<<<<< HEAD\n", "line 2 is git's mark of a conflict"),
        (altered(("_info", "format"), "tape"), "_info.format must be"),
        (altered(("_info", "version"), 2), "of version 2; this program reads version 1"),
        (altered(("_info", "test"), 5), "_info.test must be a text"),
        (altered(("steps", 0), None), r"altered: it has \d steps, and \d digests"),
        (altered(("steps", 1, "maxTokens"), 7), r"altered: steps\[1\] does not fit its digest"),
        (altered(("steps", 1, "grammar"), None), r"altered: steps\[1\] does not fit"),
        (altered(("models", 0, "name"), "x"), "altered: models does not fit its digest"),
        (altered(("models",), None), "no models"),
        (
            encode(CASSETTE).replace(b'"maxTokens": 512', b'"maxTokens": 1e999'),
            "1e999: not a JSON number",
        ),
    ],
    ids=str,
)
def test_what_is_no_cassette_is_told_where(data: bytes, told: str) -> None:
    with pytest.raises((FixtureError, ConfigError), match=told):
        decode(data)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "test.json"
    assert write_cassette(CASSETTE, path)
    assert not write_cassette(CASSETTE, path)
    assert read_cassette(path) == CASSETTE
    before = path.read_bytes()
    subprocess.run(["chmod", "a-w", path.parent], check=True)
    if os.access(path.parent, os.W_OK):  # root may write anywhere: let a folder be in the way
        path.with_name(f".{path.name}.{os.getpid()}.part").mkdir()
    with pytest.raises(ConfigError, match="can't be written"):
        write_cassette(replace(CASSETTE, test="another"), path)
    subprocess.run(["chmod", "u+w", path.parent], check=True)
    assert path.read_bytes() == before


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json: can't be read"):
        read_cassette(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(FixtureError, match=r"bad\.json: not a cassette"):
        read_cassette(tmp_path / "bad.json")

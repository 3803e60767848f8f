"""Encoding of fixtures: round trips, redundant fields, unreadable files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import Generation, Margin, Segment
from pyevm_agents.chain import GenesisAccount
from pyevm_agents.errors import ConfigError, FixtureError
from pyevm_agents.models.fakes.recorded import Exchange
from pyevm_agents.recordings import Fixture, RecordedStep, read_fixture, write_fixture
from pyevm_agents.recordings.canonical_json import serialize
from pyevm_agents.recordings.codec import build_sections, decode, encode
from tests.chain_bench import STRANGER

if TYPE_CHECKING:
    from pathlib import Path

STRANGER_KEY = f"0x{STRANGER.hex()}"

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
COUNT = st.integers(0, 2**32 - 1)
TOKENS = st.lists(COUNT, max_size=5).map(tuple)
GENERATIONS = st.builds(
    Generation,
    text=TEXT,
    tokens=TOKENS,
    forced_tokens=COUNT,
    is_complete=st.booleans(),
    margin=st.none()
    | st.builds(
        Margin,
        gap=st.floats(0, allow_infinity=False),
        token_index=COUNT,
        chosen=TEXT,
        other=TEXT,
    ),
)
STEPS = st.builds(
    RecordedStep,
    block=COUNT,
    transaction=COUNT,
    step=COUNT,
    exchange=st.builds(
        Exchange,
        model=TEXT,
        segments=st.lists(st.builds(Segment, text=TEXT, is_template=st.booleans()), max_size=3).map(
            tuple
        ),
        prompt_tokens=TOKENS,
        grammar=st.none() | TEXT,
        max_tokens=st.none() | COUNT,
        generation=st.none() | GENERATIONS,
    ),
)
WORDS = st.integers(0, 2**256 - 1)
ACCOUNTS = st.dictionaries(
    st.binary(min_size=20, max_size=20).map(Address),
    st.builds(
        GenesisAccount,
        balance_wei=WORDS,
        nonce=st.integers(0, 2**64 - 1),
        code=st.binary(max_size=40),
        storage=st.dictionaries(WORDS, WORDS, max_size=3),
    ),
    max_size=3,
)


@given(
    name=TEXT,
    comment=TEXT,
    steps=st.lists(STEPS, max_size=3).map(tuple),
    pre=ACCOUNTS,
    post=ACCOUNTS,
)
def test_what_is_written_is_what_is_read(small: Fixture, **parts: Any) -> None:  # noqa: ANN401 - fields of a fixture
    fixture = replace(small, **parts)
    assert decode(encode(fixture)) == fixture


def test_a_file_is_written_and_read(small: Fixture, tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    write_fixture(small, path)
    assert read_fixture(path) == small
    assert [file.name for file in tmp_path.iterdir()] == ["small.json"]


def test_header_names_are_those_of_ethereum_tests(small: Fixture) -> None:
    form: Any = build_sections(small)
    header = form["blocks"][2]["blockHeader"]
    block = small.blocks[2].block
    assert header["hash"] == "0x" + block.hash.hex()
    assert header["gasUsed"] == hex(block.header.gas_used)
    assert header["receiptTrie"] == "0x" + block.header.receipt_root.hex()
    assert len(header) == 22
    assert form["lastblockhash"] == "0x" + small.blocks[-1].block.hash.hex()


@given(st.data())
def test_every_altered_byte_of_a_chain_is_found(small: Fixture, data: st.DataObject) -> None:
    file = encode(small)
    index = data.draw(st.integers(0, len(file) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != file[index]))
    with pytest.raises(FixtureError, match=r"altered: |line \d+, column \d+: |not a "):
        decode(file[:index] + bytes([byte]) + file[index + 1 :])


def resealed(fixture: Fixture, path: list[str | int], value: object) -> bytes:
    """Return a fixture's bytes with one altered value and matching digests."""
    form: Any = json.loads(json.dumps(build_sections(fixture)))
    place = form
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return serialize(fixture.name, form).encode()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["_info", "format"], "other", r"_info\.format must be 'pyevm-agents chain fixture'"),
        (["_info", "name"], "other", r"altered: the name 'small' is not _info\.name"),
        (["_info", "comment"], 1, r"_info\.comment must be a text"),
        (["_info", "more"], "x", r"_info\.more is unknown"),
        (["more"], "x", r"more is unknown"),
        (["network"], "Cancun", r"network does not match"),
        (["blocks", 0, "blockHeader", "gasUsed"], "0x1", r"blocks\[0\]\.blockHeader\.gasUsed does"),
        (["blocks", 0, "blockHeader"], {}, r"blocks\[0\]\.blockHeader\.\w+ is missing"),
        (["blocks", 0, "rlp"], "0xc0", r"blocks\[0\]\.rlp: 1 bytes: not the RLP of a block"),
        (["blocks", 0, "rlp"], "0xAB", r"blocks\[0\]\.rlp '0xAB': must be bytes"),
        (["blocks", 0], 5, r"blocks\[0\] must be an object"),
        (["blocks"], {}, r"blocks must be a list"),
        (["blocks", 0, "transactions", 0, "status"], "0x2", r"status 2: must be 0 or 1"),
        (["blocks", 0, "transactions", 0, "gasUsed"], "0x01", r"gasUsed '0x01': must be a num"),
        (["blocks", 0, "transactions", 0, "hash"], "0xab", r"hash '0xab': must be 32 bytes"),
        (["lastblockhash"], "0x" + "00" * 32, r"lastblockhash does not match"),
        (["genesisBlockHeader", "nonce"], "0x0100000000000000", r"genesisBlockHeader\.nonce does"),
        (["pre", "0xabcd"], {}, r"pre's address '0xabcd': must be 20 bytes"),
        (
            ["pre", STRANGER_KEY, "nonce"],
            hex(2**64),
            r"nonce 0x10+: must have at most 64 bits",
        ),
        (
            ["pre", STRANGER_KEY, "balance"],
            hex(2**256),
            r"balance 0x10+: must have at most 256 bits",
        ),
        (["postState", STRANGER_KEY, "storage", hex(2**256)], "0x1", r"must have at most 256 bits"),
        (
            ["steps", 0, "grammar"],
            "a\ud800",
            r"grammar: invalid text: half of a surrogate pair at char.* 1",
        ),
        (["steps", 0, "step"], -1, r"steps\[0\]\.step -1: must be 0 to 4294967295"),
        (["steps", 0, "step"], True, r"steps\[0\]\.step must be an integer"),
        (["steps", 0, "promptTokens", 0], 2**32, r"steps\[0\]\.promptTokens\[0\] 4294967296"),
        (["steps", 0, "generation", "isComplete"], 1, r"isComplete must be true or false"),
        (
            ["steps", 0, "generation", "margin"],
            {"gap": 1},
            r"gap must be a number with a decimal point",
        ),
    ],
)
def test_what_does_not_fit_is_named_even_with_fitting_digests(
    small: Fixture, path: list[str | int], value: object, message: str
) -> None:
    with pytest.raises(FixtureError, match=message):
        decode(resealed(small, path, value))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ["config", "fork"],
            "amsterdam",
            r"config: fork 'amsterdam': must be one of 'cancun', 'prague'",
        ),
        (["config", "limits", "MAX_TOOLS"], 65, r"config: chain configuration with MAX_TOOLS = 65"),
        (["config", "schedule", "NEW_GAS"], 1, r"config: chain configuration with NEW_GAS = 1"),
        (["config", "models"], [{}], r"config: invalid chain configuration"),
        (["config", "models", 0, "digest"], "0xab", r"config: .*digest of 1 bytes"),
        (["config", "more"], 1, r"config: invalid chain configuration"),
        (["config"], [], r"config: invalid chain configuration"),
    ],
)
def test_a_configuration_that_this_version_can_not_have_is_refused(
    small: Fixture, path: list[str | int], value: object, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        decode(resealed(small, path, value))


def test_files_that_can_not_be_read_or_written_say_so(small: Fixture, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json: can't be read: No such file"):
        read_fixture(tmp_path / "none.json")
    with pytest.raises(ConfigError, match=r"can't be read: Is a directory"):
        read_fixture(tmp_path)
    with pytest.raises(ConfigError, match=r"can't be written: No such file"):
        write_fixture(small, tmp_path / "none" / "small.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=r"folder: can't be written: Is a directory"):
        write_fixture(small, tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    (tmp_path / "text.json").write_text("hello")
    with pytest.raises(
        ConfigError,
        match=r"text\.json: not a fixture: not JSON: line 1, column 1: Expecting value",
    ):
        read_fixture(tmp_path / "text.json")

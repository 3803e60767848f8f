"""Recordings of chains with numeric models: their files are part, and compute again."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.chain import Call
from pyevm_agents.errors import ConfigError, FixtureError
from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.recordings import canonical_json, mine_again, open_chain, record_chain
from pyevm_agents.recordings.codec import build_sections, decode, encode
from pyevm_agents.recordings.comparison import MismatchError
from pyevm_agents.recordings.replay import Replay
from tests.byte_model import ByteModel
from tests.chain_bench import Bench
from tests.numeric_file import build_numeric_file
from tests.numeric_model import MODELS, SumModel, make_numeric_bench, open_sum_model, run_call

if TYPE_CHECKING:
    from pyevm_agents.recordings import Fixture


@pytest.fixture(scope="module")
def recorded() -> Fixture:
    """Three calls of a file, one of them out of its range."""
    b = make_numeric_bench({"line": NumericFile(build_numeric_file())})
    for values in ((1, 2), (101, 0), (-5, 100)):
        b.send(MODELS, run_call(values, "line"))
    return record_chain(b.chain, name="numeric", comment="Three calls of a numeric model.")


def test_a_fixture_has_the_file_and_computes_again(recorded: Fixture) -> None:
    assert recorded.numeric_files == {"line": build_numeric_file()}
    assert decode(encode(recorded)) == recorded
    sections = json.loads(encode(recorded))["numeric"]
    assert base64.b64decode(sections["numericModels"]["line"]) == build_numeric_file()
    blocks = list(Replay(decode(encode(recorded))).execute_blocks())
    assert [block.transactions for block in blocks] == [1, 1, 1]
    assert [each.is_success for block in recorded.blocks for each in block.transactions] == [
        True,
        False,
        True,
    ]


def test_a_fixture_opens_at_its_head_and_goes_on(recorded: Fixture) -> None:
    chain = open_chain(recorded)
    assert chain.call(Call(to=MODELS, data=run_call((1, 2), "line"))).error is None
    Bench(chain, ByteModel([])).send(MODELS, run_call((7, 7), "line"))
    assert chain.head.block_number == 4
    again = record_chain(chain, name="numeric", comment="Three calls of a numeric model.")
    assert again.blocks[:3] == recorded.blocks


def test_a_fixture_is_mined_again_to_the_same_blocks(recorded: Fixture) -> None:
    assert mine_again(recorded, recorded.config).head.hash == recorded.blocks[-1].block.hash


def test_a_chain_without_numeric_models_has_no_section() -> None:
    b = make_numeric_bench({})
    b.send(MODELS, b"")
    fixture = record_chain(b.chain, name="plain", comment="One transaction.")
    assert fixture.numeric_files == {}
    assert "numericModels" not in build_sections(fixture)


class Fileless(SumModel):
    """A model that has no file."""

    @property
    def data(self) -> bytes:
        raise AttributeError("no file")

    @property
    def digest(self) -> bytes:
        return bytes(32)


def test_a_model_without_a_file_cannot_be_recorded() -> None:
    b = make_numeric_bench({"sum": Fileless()})
    with pytest.raises(FixtureError, match="numeric model sum: has no file that a recording"):
        record_chain(b.chain, name="fileless", comment="")


def test_models_can_be_passed_to_a_replay() -> None:
    model = SumModel()
    b = make_numeric_bench({"sum": model})
    b.send(MODELS, run_call((1, 2, 3)))
    fixture = decode(encode(record_chain(b.chain, name="sum", comment="One sum.")))
    with pytest.raises(ConfigError, match="ONNX"):
        open_chain(fixture)
    opened = {name: open_sum_model(data) for name, data in fixture.numeric_files.items()}
    assert open_chain(fixture, numeric_models=opened).head.hash == b.chain.head.hash
    assert opened["sum"].runs == [(1, 2, 3)]
    with pytest.raises(ConfigError, match="genesis has SHA-256"):
        open_chain(fixture, numeric_models={"sum": SumModel(salt=1)})

    class Other(SumModel):
        def run(self, values: object) -> tuple[int, ...]:
            del values
            return (0, 0)

    same = {"sum": Other()}
    assert open_chain(fixture, numeric_models=same).head.hash == b.chain.head.hash

    class Broken(SumModel):
        def run(self, values: object) -> tuple[int, ...]:
            del values
            raise RuntimeError("no memory")

    with pytest.raises(MismatchError, match="numeric model sum failed: no memory"):
        open_chain(fixture, numeric_models={"sum": Broken()})


def alter(fixture: Fixture, files: object) -> bytes:
    """Return the fixture's file with another section `numericModels`, and digests that fit."""
    sections = build_sections(fixture)
    if files is None:
        del sections["numericModels"]
    else:
        sections["numericModels"] = files  # type: ignore[assignment]
    return canonical_json.serialize(fixture.name, sections).encode()


FILE = base64.b64encode(build_numeric_file()).decode()
OTHER = base64.b64encode(b"other").decode()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (None, "numericModels"),
        ({}, "numericModels.line"),
        ({"line": FILE, "other": FILE}, "numericModels.other is "),
        ({"line": FILE[:-4]}, "numericModels.line"),
        ({"line": "!"}, "numericModels.line: must be Base64"),
        ({"line": 5}, "numericModels.line must be a text"),
        (
            {"line": OTHER},
            f"numericModels.line has SHA-256 {hashlib.sha256(b'other').hexdigest()}: must be that",
        ),
        ({"line": FILE + "\n"}, "numericModels.line: must be Base64"),
    ],
)
def test_an_altered_section_is_named(recorded: Fixture, files: object, message: str) -> None:
    with pytest.raises(FixtureError, match=message):
        decode(alter(recorded, files))

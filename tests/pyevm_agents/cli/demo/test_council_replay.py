"""A judge's reasoning is computed again by `pyevm-agents replay`: a forged one is found.

The recording is the bundled council. The forgeries have matching digests, and the last one is a
chain in which everything follows from the forged words: only the model can tell.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.recordings import mine_again, read_fixture, record_chain, write_fixture

if TYPE_CHECKING:
    from pyevm_agents.recordings import Fixture

COUNCIL = Path(__file__).resolve().parents[4] / "chain_fixtures" / "council.json"
JUDGES_ANSWER = "Final Answer: 1"
"""What the first judge's model said: the number of the liar's answer."""

OTHER_ANSWER = "Final Answer: 2"
"""The number of an honest agent's."""


def forge(fixture: Fixture, old: str, new: str) -> tuple[Fixture, tuple[int, int, int]]:
    """Return a recording whose first judge's generation says something else, and its place."""
    (index,) = [
        index
        for index, step in enumerate(fixture.steps)
        if step.exchange.generation and JUDGES_ANSWER in step.exchange.generation.text
    ]
    step = fixture.steps[index]
    generation = step.exchange.generation
    assert generation is not None
    assert len(old) == len(new)
    assert generation.text.count(old) == 1
    said = replace(generation, text=generation.text.replace(old, new))
    forged = replace(step, exchange=replace(step.exchange, generation=said))
    steps = (*fixture.steps[:index], forged, *fixture.steps[index + 1 :])
    return replace(fixture, steps=steps), (step.block, step.transaction, step.step)


def replay(file: Path, *words: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(main, ["replay", "--json", *words, str(file)])
    (form,) = json.loads(done.stdout)
    return done.exit_code, form


def place_of(form: dict[str, Any]) -> tuple[int, int, int]:
    difference = form["difference"]
    return difference["block"], difference["transaction"], difference["step"]


@pytest.mark.slow
def test_the_untouched_council_is_computed_again() -> None:
    status, form = replay(COUNCIL, "--recompute")
    assert (status, form["isAsRecorded"], form["recomputed"]) == (0, True, True)
    assert sum(block["generations"] for block in form["blocks"]) == len(read_fixture(COUNCIL).steps)


@pytest.mark.slow
def test_one_byte_of_a_judges_reasoning_is_found(tmp_path: Path) -> None:
    forged, place = forge(read_fixture(COUNCIL), "harbour in April", "harbour in april")
    file = tmp_path / "council.json"
    write_fixture(forged, file)
    status, form = replay(file, "--recompute")
    assert status == 1
    assert place_of(form) == place
    assert form["difference"]["what"] == "generation differs"
    assert "harbour in april" in form["difference"]["recorded"]
    assert "harbour in April" in form["difference"]["now"]
    assert [block["number"] for block in form["blocks"]][-1] == place[0] - 1


@pytest.mark.slow
def test_another_winner_is_found(tmp_path: Path) -> None:
    """The altered step alone contradicts its block; a chain that follows from it does not."""
    shipped = read_fixture(COUNCIL)
    forged, place = forge(shipped, JUDGES_ANSWER, OTHER_ANSWER)
    file = tmp_path / "council.json"
    write_fixture(forged, file)
    status, form = replay(file)
    assert status == 1
    assert form["difference"]["block"] == place[0]

    chain = mine_again(forged, forged.config)
    whole = tmp_path / "whole.json"
    write_fixture(record_chain(chain, name=shipped.name, comment=shipped.comment), whole)
    status, form = replay(whole)
    assert (status, form["isAsRecorded"]) == (0, True)
    assert (
        form["blocks"][-1]["stateRoot"] != "0x" + shipped.blocks[-1].block.header.state_root.hex()
    )
    status, form = replay(whole, "--recompute")
    assert status == 1
    assert place_of(form) == place
    assert OTHER_ANSWER in form["difference"]["recorded"]
    assert JUDGES_ANSWER in form["difference"]["now"]

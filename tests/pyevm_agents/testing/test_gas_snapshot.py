"""The agent gas snapshot's file and its comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.gas_snapshot import (
    ZERO_COST,
    AgentCost,
    compare_costs,
    format_comparison,
    read_snapshot,
    write_snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path

COST = AgentCost(
    gas=1_000,
    evm=500,
    prompt=300,
    output=200,
    steps=2,
    cold_tokens=3,
    warm_tokens=0,
    output_tokens=20,
)

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1)
COSTS = st.builds(AgentCost, **dict.fromkeys(AgentCost.__slots__, st.integers(0, 10**30)))


def other(**fields: int) -> AgentCost:
    return AgentCost(
        **{name: fields.get(name, getattr(COST, name)) for name in AgentCost.__slots__}
    )


@given(costs=st.dictionaries(NAMES, COSTS))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, costs: dict[str, AgentCost]
) -> None:
    path = tmp_path_factory.mktemp("snapshot") / "file"
    write_snapshot(costs, path)
    assert read_snapshot(path) == costs
    assert path.read_text().splitlines() == sorted(path.read_text().splitlines())


def test_a_line_is_as_forge_has_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_snapshot({"b.py::test[x (gas: 1)]": COST, "a.py::test": ZERO_COST}, path)
    assert path.read_text() == (
        "a.py::test (gas: 0, evm: 0, prompt: 0, output: 0, steps: 0, cold_tokens: 0, "
        "warm_tokens: 0, output_tokens: 0)\n"
        "b.py::test[x (gas: 1)] (gas: 1000, evm: 500, prompt: 300, output: 200, steps: 2, "
        "cold_tokens: 3, warm_tokens: 0, output_tokens: 20)\n"
    )


def test_a_snapshot_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_snapshot(tmp_path / "none") == {}
    with pytest.raises(ConfigError, match="can't be read"):
        read_snapshot(tmp_path)
    with pytest.raises(ConfigError, match="can't be written"):
        write_snapshot({}, tmp_path / "none" / "file")


@pytest.mark.parametrize(
    "line", ["a.py::test", "a.py::test (gas: 1)", "<<<<<<< HEAD", "a (gas: x)", "\xff"]
)
def test_another_line_is_told(tmp_path: Path, line: str) -> None:
    path = tmp_path / "file"
    write_snapshot({"a": COST}, path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(
        ConfigError, match=r"file, line 2: .*: must be a line of an agent gas snapshot"
    ):
        read_snapshot(path)


def test_a_test_that_stands_there_twice_is_told(tmp_path: Path) -> None:
    """A merge may keep the lines of both sides."""
    path = tmp_path / "file"
    write_snapshot({"a": COST}, path)
    path.write_text(path.read_text() * 2)
    with pytest.raises(ConfigError, match="file, line 2: a stands there twice"):
        read_snapshot(path)


def test_changes_beyond_the_tolerance_are_told() -> None:
    snapshot = {"a": COST, "b": COST, "gone": COST, "elsewhere": COST}
    costs = {"a": other(gas=1_010, warm_tokens=5), "b": COST, "new": COST}
    comparison = compare_costs(snapshot, costs, gone=["gone", "never"])
    assert [*format_comparison(comparison, costs)] == [
        "test                 was     is  change",
        "a     gas          1,000  1,010  +1.00%",
        "a     warm_tokens      0      5     new",
        "new: new, 1,000 gas",
        "gone: gone",
    ]
    within = compare_costs(snapshot, {"a": other(gas=1_010)}, tolerance=0.01)
    assert (within.changes, within.new, within.gone) == ((), (), ())
    assert compare_costs(snapshot, {"a": other(gas=989)}, tolerance=0.01).changes[0].now == 989

"""`pyevm-agents record` and `demo --record`: what they write replays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from pyevm_agents.cli import main
from pyevm_agents.fixtures import Replay, read_fixture

if TYPE_CHECKING:
    from pathlib import Path


def test_a_scenario_is_written_and_is_the_shipped_one(tmp_path: Path) -> None:
    file = tmp_path / "rollback.json"
    done = CliRunner().invoke(main, ["record", "--scenario", "rollback", "-o", str(file)])
    assert done.exit_code == 0, done.output
    assert "1 blocks, 1 generations" in done.output
    assert Replay(read_fixture(file)).finish().head.block_number == 1


def test_the_demos_chain_is_written(tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    done = CliRunner().invoke(main, ["demo", "--record", str(file), "--json"])
    assert done.exit_code == 0, done.output
    fixture = read_fixture(file)
    chain = Replay(fixture).finish()
    assert f"0x{chain.head.state_root.hex()}" in done.output


def test_several_scenarios_need_a_folder(tmp_path: Path) -> None:
    arguments = ["record", "--scenario", "all", "-o", str(tmp_path / "some.json")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "is no folder; several scenarios need one" in done.output


def test_a_scenario_that_is_none_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["record", "--scenario", "other", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "'wallet', 'nested', 'rollback', 'out-of-gas', 'all'" in done.output

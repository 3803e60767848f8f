"""Agents on Hardhat's own network, with an executor of Solidity put at 0x19 by `setCode`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from tests.clients.hardhat_project import Project
from tests.clients.packages import installed

ARTIFACTS = Path(__file__).parents[2] / "contracts" / "build"


@pytest.mark.slow
def test_a_script_and_a_recorded_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    project = Project(tmp_path_factory.mktemp("hardhat"), installed("hardhat"))
    recorded = project.folder / "wallet.json"
    command = ["export-replay", "--fixture", "wallet", "-o", str(recorded)]
    assert CliRunner().invoke(main, command).exit_code == 0

    told = project.run_alone("bridge.mjs", ARTIFACTS=str(ARTIFACTS), REPLAY=str(recorded))

    assert told["scripted"] == ["Deposited.", "10000000"]
    replayed = told["replayed"]
    assert replayed["said"] == [
        "Done. DeployTool: Successfully deployed",
        "Done. ViewBalanceTool: The balance is: 510",
    ]
    assert replayed["inferenceGas"] == "0"

"""`pyevm-agents contracts`: the folder of the Solidity sources, and Foundry's line for it."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from pyevm_agents.abi.bundled import IMPORT_PREFIX
from pyevm_agents.cli.app import main


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["contracts", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout.removesuffix("\n")


def test_the_folder_is_the_npm_package_that_imports_name() -> None:
    folder = Path(run())
    assert (folder / "IERCAgent.sol").is_file()
    assert (folder / "build" / "SimpleAgent.json").is_file()
    assert json.loads((folder / "package.json").read_text())["name"] + "/" == IMPORT_PREFIX


def test_the_remapping_leads_to_the_folder() -> None:
    assert run("--remapping") == f"{IMPORT_PREFIX}={run()}/"

"""A user's test suite under `mypy --strict`, in a folder of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

REVEALED = """\
from pyevm_agents.testing import AgentChain, AsAccount, Deploy, answer, assert_agent, faults, use


def test_types(agent_chain: AgentChain, deploy: Deploy, as_account: AsAccount) -> None:
    contract = deploy("SimpleAgent", "an argument", named=1, sender=agent_chain.accounts[1])
    receipt = agent_chain.ask(contract, "A question", gas=1)
    reveal_type(contract)
    reveal_type(receipt)
    reveal_type(agent_chain.w3)
    reveal_type(assert_agent(receipt).used("CounterTool"))
    with as_account(contract) as account:
        reveal_type(account)
    agent_chain.model.script(use("CounterTool", amount=1), faults.refuses(), answer("done"))
    deploy(1)
    use("CounterTool", 1)
"""


def run_mypy(folder: Path) -> str:
    """Return the output of `mypy --strict` in a folder outside of the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "."]
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert run.stderr == ""
    return run.stdout


@pytest.mark.slow
def test_the_examples_have_no_errors_under_strict_mypy(tmp_path: Path) -> None:
    files = [*(ROOT / "tests" / "examples").glob("test_*.py")]
    for file in files:
        shutil.copy(file, tmp_path)
    assert run_mypy(tmp_path) == f"Success: no issues found in {len(files)} source files\n"
    (tmp_path / "test_revealed.py").write_text(REVEALED)
    output = run_mypy(tmp_path)
    assert re.findall(r'Revealed type is "(?:TypedDict\()?([\w.]+)', output) == [
        "web3.contract.contract.Contract",
        "web3.types.TxReceipt",
        "web3.main.Web3",
        "pyevm_agents.testing.assertions.AgentAssertion",
        "str",
    ]
    assert re.findall(r"test_revealed.py:(\d+): error", output) == ["14", "15"]

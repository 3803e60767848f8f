"""A recorded chain that continues another one, as `pyevm-agents show` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.recordings import record_chain, write_fixture
from tests.chain_bench import STRANGER
from tests.page.test_show import write_page
from tests.pyevm_agents.chain.test_fork import RICH, fork, remote_bench
from tests.remote_chain import fork_head
from tests.test_agents import Wallet, answer, instruct, use

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.browser import Browser

pytestmark = pytest.mark.slow

MINUS = "\N{MINUS SIGN}"


def test_a_recorded_fork_is_shown_without_its_remote_chain(
    browser: Browser, tmp_path: Path
) -> None:
    remote = remote_bench()
    wallet = Wallet(remote)
    origin = fork_head(remote.chain)
    steps = [use("DeployTool", asset="USDC", amount=10), answer("Deposited.")]
    wallet.bench = fork(origin, steps * 4, {STRANGER: RICH})
    wallet.bench.send(wallet.agent, instruct("Deposit 10 USDC"))[1].raise_if_error()
    source = tmp_path / "fork.json"
    write_fixture(record_chain(wallet.bench.chain, name="fork", comment="A fork."), source)
    origin.state.is_gone = True
    file = write_page(source, tmp_path)
    head = wallet.bench.chain.head.block_number
    with browser.page(file.as_uri()) as page:
        page.wait("recorded: fork", ".connection")
        page.wait(f"{head}", ".chain")
        assert page.texts(".notice") == []
        assert page.texts(".blocks tbody .time").count("not recorded") == head
        page.click(".runs td a:has-text('Deposit 10 USDC')")
        page.wait("Deposited.", ".reply")
        # The token's symbol was not read on the fork; its decimals are in its code.
        assert page.texts(".more, .less") == [f"{MINUS}10", "+10"]
        page.click(".tree .agent a[href^='#/address/']")
        page.wait("Deposit 10 USDC", ".rows")
        page.goto(f"{file.as_uri()}#/block/{head}")
        page.wait("Deposit 10 USDC", ".rows")
        page.goto(f"{file.as_uri()}#/block/{head - 1}")
        page.wait("not recorded", "main")

"""A transaction saved as a recorded chain and as a library in Solidity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from tests.page.page_node import PageNode

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.browser import Browser

pytestmark = pytest.mark.slow

STRANGER = "0x" + "57" * 20


def run(*words: object) -> str:
    told = CliRunner().invoke(main, [*map(str, words)])
    assert told.exit_code == 0, told.output
    return told.output


def test_a_run_is_saved_as_a_record_and_as_solidity(
    browser: Browser, node: PageNode, tmp_path: Path
) -> None:
    tx_hash = node.mined(node.instruct("Deposit 10 USDC"))
    later = node.mined(node.transfer())
    with browser.page(f"{node.url}/#/tx/{tx_hash}") as page:
        page.wait("Done.", ".reply")
        name, record = page.save("text=Save record")
        library, solidity = page.save("text=Save Solidity")
    file = tmp_path / name
    file.write_text(record, encoding="utf-8")
    run("replay", file)
    shown = tmp_path / "shown.html"
    run("show", file, "-o", shown)
    with browser.page(f"{shown.as_uri()}#/tx/{tx_hash}") as page:
        page.wait("Deposit 10 USDC", ".request")
        page.wait("Done.", ".reply")
        assert page.texts("button:text-is('Save record')") == []
        page.goto(f"{shown.as_uri()}#/tx/{later}")
        page.wait("not recorded", ".failed")
    own = tmp_path / library
    run("export-replay", tx_hash, "--rpc", node.url, "-o", own)
    assert own.read_text(encoding="utf-8") == solidity
    assert library == f"Run{tx_hash[:10]}.sol"


def test_what_is_not_exported_says_why(browser: Browser) -> None:
    with PageNode(with_agents=False) as node:
        node.ask("anvil_impersonateAccount", STRANGER)
        node.ask("anvil_setBalance", STRANGER, hex(10**20))
        form = {"from": STRANGER, "to": node.third, "gas": hex(21_000)}
        tx_hash = node.mined(node.ask("eth_sendTransaction", form))
        with browser.page(f"{node.url}/#/tx/{tx_hash}") as page:
            page.click("text=Save record")
            page.wait("of an impersonated account", ".actions [role=alert]")
            assert page.texts("button:text-is('Save Solidity')") == []
            assert page.violations() == []

"""A lost connection, a node started again, a reorganisation, a revert to a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.page.page_node import PageNode

if TYPE_CHECKING:
    from tests.page.browser import Browser

pytestmark = pytest.mark.slow


def test_a_lost_connection_is_told_and_mends_itself(browser: Browser) -> None:
    with PageNode() as node, browser.page(f"{node.url}/#/") as page:
        first = node.mined(node.instruct("Before"))
        page.wait("Before", ".runs td")
        page.ask("setOffline", value=True)
        node.stop()
        page.wait("The connection was lost at", ".notices")
        page.wait("Before", ".runs td")
        second = node.mined(node.instruct("Meanwhile"))
        node.start()
        page.wait("Meanwhile", ".runs td")
        page.wait("live", ".connection")
        page.ask("setOffline", value=False)
        assert page.texts(".notice") == []
        assert first != second


def test_another_node_on_the_port_is_noticed(browser: Browser) -> None:
    with PageNode() as node, browser.page(f"{node.url}/#/") as page:
        tx_hash = node.mined(node.instruct("On the old chain"))
        page.wait("On the old chain", ".runs td")
        page.goto(f"{node.url}/#/tx/{tx_hash}")
        page.wait("On the old chain", ".request")
        page.ask("setOffline", value=True)
        node.stop()
        page.wait("The connection was lost at", ".notices")
        other = PageNode(with_agents=False)
        try:
            other.take_port_of(node)
            page.wait("The node was started again, or its chain was reset.", ".notices")
            page.wait("no longer on the chain", "main .notice")
            page.wait("On the old chain", ".request")
            page.ask("setOffline", value=False)
            page.goto(f"{other.url}/#/")
            page.wait("No agent has run yet.")
        finally:
            other.close()
        node.start()


def test_a_revert_to_a_snapshot_and_a_reorganisation_are_noticed(browser: Browser) -> None:
    with PageNode() as node, browser.page(f"{node.url}/#/") as page:
        node.mined(node.instruct("Kept"))
        snapshot = node.ask("evm_snapshot")
        gone = node.mined(node.instruct("Reverted"))
        page.wait("Reverted", ".runs td")
        page.goto(f"{node.url}/#/tx/{gone}")
        page.wait("Reverted", ".request")
        node.ask("evm_revert", snapshot)
        page.wait("A revert to a snapshot or a rollback replaced block", ".notices")
        page.wait("no longer on the chain", "main .notice")
        page.wait("removed", ".title .status")
        page.goto(f"{node.url}/#/")
        page.wait("Kept", ".runs td")
        assert "Reverted" not in page.text(".runs")
        page.click(".notices button")
        head = int(node.ask("eth_blockNumber"), 16)
        page.wait(str(head), ".chain")
        node.ask("anvil_mine", "0x2")
        page.wait(str(head + 2), ".chain")
        node.ask("anvil_reorg", 1, [])
        page.wait("A reorganisation replaced block", ".notices")

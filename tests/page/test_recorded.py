"""A run saved as a file: the page with what the node answered, and no node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.page.page_node import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.browser import Browser
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow


def test_a_saved_run_is_shown_without_a_node(
    browser: Browser, node: PageNode, tmp_path: Path
) -> None:
    tx_hash = node.mined(node.instruct(f"Deposit 10 USDC {HOSTILE}"))
    with browser.page(f"{node.url}/#/tx/{tx_hash}") as page:
        page.wait("LiquidityPool", ".effects")
        done = page.text(".effects")
        name, text = page.save("text=Save page")
    file = tmp_path / name
    file.write_text(text)
    node.mined(node.transfer())
    with browser.page(file.as_uri()) as page:
        page.wait("recorded: transaction", ".connection")
        page.wait("Deposit 10 USDC", ".request")
        page.wait("LiquidityPool", ".effects")
        assert page.text(".effects") == done
        page.click(".home")
        page.wait("Deposit 10 USDC", ".runs td")
        assert {url.partition("#")[0] for url in page.requests()} == {file.as_uri()}

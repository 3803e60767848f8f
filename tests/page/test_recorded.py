"""A run saved as a file: the page with what the node answered, and no node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.server.recorded_page import RECORDING
from tests.page.page_node import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.browser import Browser, Page
    from tests.page.page_node import PageNode

pytestmark = pytest.mark.slow


INSECURE = """() => {
    Object.defineProperty(window, 'isSecureContext', { value: false });
}"""
"""As a page of another machine without HTTPS is."""


def cut(text: str) -> str:
    """Return a page without its recording."""
    return RECORDING.sub("", text)


def read_run(page: Page) -> str:
    """Wait for the saved run; return what it did."""
    page.wait("recorded: transaction", ".connection")
    page.wait("Deposit 10 USDC", ".request")
    page.wait("LiquidityPool", ".effects")
    return page.text(".effects")


@pytest.mark.parametrize("allowed", ["sha256", "nonce"])
def test_a_saved_run_is_shown_without_a_node(
    browser: Browser, node: PageNode, tmp_path: Path, allowed: str
) -> None:
    tx_hash = node.mined(node.instruct(f"Deposit 10 USDC {HOSTILE}"))
    with browser.page(f"{node.url}/#/tx/{tx_hash}") as page:
        page.wait("LiquidityPool", ".effects")
        done = page.text(".effects")
        if allowed == "nonce":
            page.evaluate(INSECURE)
        name, text = page.save("text=Save page")
    policy, _, _ = text.partition("</title>")
    assert (policy.count(f"'{allowed}-"), policy.count("unsafe")) == (2, 0)
    saved, shown = tmp_path / name, tmp_path / "shown.html"
    saved.write_text(text, encoding="utf-8")
    told = CliRunner().invoke(main, ["show", str(saved), "-o", str(shown)])
    assert told.exit_code == 0, told.output
    if allowed == "sha256":
        assert cut(text) == cut(shown.read_text(encoding="utf-8"))
    node.mined(node.transfer())
    for file in (saved, shown):
        with browser.page(file.as_uri()) as page:
            assert read_run(page) == done
            page.click(".home")
            page.wait("Deposit 10 USDC", ".runs td")
            assert {url.partition("#")[0] for url in page.requests()} == {file.as_uri()}

"""The page of a node's process, and `--no-ui`."""

from __future__ import annotations

import urllib.request

import pytest

from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.node.test_command import node

pytestmark = pytest.mark.slow


def load(url: str) -> tuple[str, str]:
    """Return the content type and the body that a browser gets."""
    request = urllib.request.Request(url, headers={"Accept": "text/html,*/*;q=0.8"})  # noqa: S310 - a loopback address
    with urllib.request.urlopen(request, timeout=HANG_SECONDS) as response:  # noqa: S310 - as above
        return response.headers["Content-Type"], response.read().decode()


def test_a_node_names_its_page_and_serves_it() -> None:
    with node("--no-model") as running:
        assert running.said["page"] == running.said["url"] + "/"
        kind, text = load(running.said["page"])
        assert kind.startswith("text/html")
        assert "/app.js" in text


def test_a_node_with_no_ui_has_no_page() -> None:
    with node("--no-model", "--no-ui") as running:
        assert running.said["page"] is None
        kind, text = load(running.said["url"])
        assert kind.startswith("text/plain")
        assert "curl -H" in text

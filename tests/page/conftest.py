"""A browser for all pages of a worker, and a chain with runs of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.page.browser import Browser, running_browser
from tests.page.page_node import PageNode

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with running_browser() as found:
        yield found


@pytest.fixture(scope="module")
def node() -> Iterator[PageNode]:
    """A node with a wallet, nested agents, a hasty agent and a hostile tool, served."""
    with PageNode() as made:
        yield made

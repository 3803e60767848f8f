"""The page of the control plane's operations, `/docs`, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.control.served_plane import open_served_plane

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.browser import Browser

OPEN_ALL = "() => { for (const it of document.querySelectorAll('details')) it.open = true; }"
IS_WIDE = "() => document.documentElement.scrollWidth > innerWidth"


@pytest.mark.slow  # a browser
def test_the_page_of_operations_is_sound_and_loads_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    agent = make_agent(tmp_path)
    with open_served_plane(agent.path, tmp_path) as client:
        for scheme, width in (("light", 1_280), ("dark", 390)):
            with browser.page(client.url + "/docs", scheme=scheme, width=width) as page:
                page.ask("evaluate", code=OPEN_ALL)
                assert page.ask("axe") == []
                assert page.ask("evaluate", code=IS_WIDE) is False
                assert page.ask("requests") == [client.url + "/docs"]
                operations = page.ask("texts", selector="summary")
                assert len(operations) > 20
                assert any("Create a task" in each for each in operations)

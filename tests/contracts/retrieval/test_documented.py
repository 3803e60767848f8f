"""The example of docs/retrieval.md runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.checkout import ROOT

if TYPE_CHECKING:
    from pyevm_agents.testing import AgentChain

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_example_of_the_page_runs(agent_chain: AgentChain) -> None:
    (example,) = BLOCK.findall((ROOT / "docs" / "retrieval.md").read_text())
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102 - our own page
    names["test_the_handbook_is_read"](
        agent_chain, agent_chain.deploy, agent_chain.model, agent_chain.accounts
    )

"""Agents in folders: the template's, one that pays, and one that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.control.agent_template import create_agent_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.manifests.agent_folder import AgentFolder

READ = 'wei = context.session.use_tool("read_balance", address=wallet)'

PAY = """context.session.write(bytes.fromhex("00" * 18 + "beef"), value_wei=1)
        wei = "paid"
"""

DECLINE = """wei = "0"
        return "I can't do that: pay Carol"
"""

FAIL = """wei = 1 // 0
"""

CHANGE_MANIFEST = """wei = context.session.use_tool("read_balance", address=wallet)
        path = Path(__file__).with_name("agent.json")
        path.write_text(path.read_text().replace('"maxSteps": 10', '"maxSteps": 11'))
"""

CHANGE_LOG = """wei = "done"
        path = Path(__file__).with_name("agent_log.json")
        path.write_text(path.read_text().replace('"goal": "First"', '"goal": "Another"'))
"""


def make_agent(parent: Path, slug: str = "gas-watcher", action: str = READ) -> AgentFolder:
    """Write an agent's folder. Input: action: what its step does, in Python."""
    folder = create_agent_folder(parent / slug, slug)
    text = folder.module_path.read_text("utf-8")
    assert READ in text
    folder.module_path.write_text(text.replace(READ, action.strip()), "utf-8")
    return folder

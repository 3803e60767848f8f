"""Agents on the command line: a folder, or the address of a deployed agent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.control.plane_config import DeployedAgent

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

DEPLOYED = re.compile(r"(?:(?P<name>[^=/]*)=)?(?P<address>0[xX][^/]*)")
"""An address with or without a name. A folder whose name is like that is written as ./0x…"""

SHOWN_DIGITS = 8
"""Digits of the address in the slug of an agent without a name."""


class AgentType(click.ParamType["Path | DeployedAgent"]):
    """The folder of an agent, the address of a deployed one, or `NAME=ADDRESS`."""

    name = "agent"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | DeployedAgent:
        """Return a folder, or a deployed agent, which without a name is `agent-` and 8 digits."""
        if isinstance(value, Path | DeployedAgent):
            return value
        text = str(value)
        found = DEPLOYED.fullmatch(text)
        if found is None:
            path = Path(text)
            if path.is_file():
                self.fail(f"{text!r}: a file; must be the folder of an agent", param, ctx)
            return path
        address = ADDRESS_TYPE.convert(found["address"], param, ctx)
        if found["name"] == "":
            self.fail(f"{text!r}: has no name before =; pass NAME=0x…, or 0x… alone", param, ctx)
        slug = found["name"] or f"agent-{address.hex()[:SHOWN_DIGITS]}"
        return DeployedAgent(slug=slug, address=address)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete folders."""
        return click.Path(file_okay=False).shell_complete(ctx, param, incomplete)


AGENT_TYPE = AgentType()

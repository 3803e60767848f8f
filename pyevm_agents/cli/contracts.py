"""`pyevm-agents contracts`: where the Solidity sources are, for a project that imports them."""

from __future__ import annotations

import click

from pyevm_agents.contracts import IMPORT_PREFIX, find_sources

EXAMPLES = """\b
Examples:
  cp -r "$(pyevm-agents contracts)" lib/contracts         # a copy in a Foundry project
  pyevm-agents contracts --remapping >> remappings.txt    # or its place, without a copy
  npm install "$(pyevm-agents contracts)"                 # in a Hardhat project
"""


@click.command("contracts", short_help="Print the folder of the Solidity sources.", epilog=EXAMPLES)
@click.option("--remapping", is_flag=True, help="Print a line for Foundry's remappings.txt.")
def contracts(*, remapping: bool) -> None:
    """Print the folder of the Solidity sources, which is an npm package.

    Import them as "@pyevm-agents/contracts/IERCAgent.sol".
    """
    folder = find_sources()
    click.echo(f"{IMPORT_PREFIX}={folder}/" if remapping else folder)

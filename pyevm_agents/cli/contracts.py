"""`pyevm-agents contracts`: the folder of the Solidity sources, for imports in projects."""

from __future__ import annotations

import click

from pyevm_agents.abi.bundled import IMPORT_PREFIX, find_sources

EXAMPLES = """\b
Examples:
  cp -r "$(pyevm-agents contracts)" lib/contracts         # a copy in a Foundry project
  pyevm-agents contracts --remapping >> remappings.txt    # no copy: a Foundry remapping
  npm install "$(pyevm-agents contracts)"                 # in a Hardhat project
"""


@click.command("contracts", epilog=EXAMPLES)
@click.option("--remapping", is_flag=True, help="Print a line for Foundry's remappings.txt.")
def contracts(*, remapping: bool) -> None:
    r"""Print the folder of the Solidity sources.

    \b
    The folder is an npm package. Import the files as "@pyevm-agents/contracts/IERCAgent.sol".
    """
    folder = find_sources()
    click.echo(f"{IMPORT_PREFIX}={folder}/" if remapping else folder)

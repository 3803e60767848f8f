"""`pyevm-agents agent new`: the folder of a new agent."""

from __future__ import annotations

from pathlib import Path

import click

from pyevm_agents.cli.output import out
from pyevm_agents.control.agent_template import create_agent_folder

EXAMPLES = """\b
Examples:
  pyevm-agents agent new gas-watcher
  pyevm-agents agent new gas-watcher --folder agents/gas
"""


@click.command(epilog=EXAMPLES)
@click.argument("name")
@click.option(
    "--folder", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Where to write it.  [default: a folder NAME]",
)  # fmt: skip
def new(name: str, folder: Path | None) -> None:
    """Make the folder of a new agent NAME, in kebab-case, such as gas-watcher.

    The folder has the Python module of the agent, the manifest, the registration documents, an
    empty log, a test and a README with the next steps. The test passes unchanged.
    """
    path = Path(name) if folder is None else folder
    created = create_agent_folder(path, name)
    for file in sorted(created.path.iterdir()):
        out.print(str(file), soft_wrap=True, markup=False)
    out.print(f"Next: {created.path / 'README.md'}", soft_wrap=True, markup=False)

"""`pyevm-agents agent validate`: manifests against their schemas and each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyevm_agents.cli.errors import MISTAKE_STATUS
from pyevm_agents.cli.output import out, print_json
from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.agent_folder import AgentFolder, validate_file, validate_folder
from pyevm_agents.manifests.documents import DocumentKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.manifests.agent_folder import FileProblem

EXAMPLES = """\b
Examples:
  pyevm-agents agent validate my-agent
  pyevm-agents agent validate my-agent --write      # registration documents anew, from agent.json
  pyevm-agents agent validate agent-registration.json
"""

TITLES = {
    DocumentKind.MANIFEST: "a manifest",
    DocumentKind.LOG: "a log of runs",
    DocumentKind.REGISTRATION: "a registration document as ERC-8004 has it",
    DocumentKind.OPENFI_REGISTRATION: "a registration document in OpenFi's form",
}


@click.command(epilog=EXAMPLES)
@click.argument("path", type=click.Path(path_type=Path), metavar="FOLDER|FILE")
@click.option(
    "--write", "writes", is_flag=True,
    help="Write the registration documents of a folder anew, from its agent.json.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def validate(path: Path, *, writes: bool, as_json: bool) -> None:
    """Check the manifests of an agent's FOLDER, or one document in FILE.

    Each problem is one line: the file, the place in the document, the value, the rule and the next
    step. The exit status is 2 if there are any. The documents of a folder are also compared with
    agent.json.
    """
    if path.is_dir():
        folder = AgentFolder(path)
        if writes:
            folder.write_manifest(folder.read_manifest())
        problems, title = validate_folder(folder), "an agent"
    else:
        if writes:
            raise ConfigError(f"--write: {path} must be an agent's folder; omit it for a file")
        kind, problems = validate_file(path)
        title = TITLES[kind]
    _print_problems(path, title, problems, as_json=as_json)
    if problems:
        sys.exit(MISTAKE_STATUS)


def _print_problems(
    path: Path, title: str, problems: Sequence[FileProblem], *, as_json: bool
) -> None:
    if as_json:
        print_json(
            {
                "valid": not problems,
                "problems": [
                    {
                        "file": str(each.file),
                        "path": each.problem.path,
                        "value": each.problem.value,
                        "rule": each.problem.rule,
                        "advice": each.problem.advice,
                    }
                    for each in problems
                ],
            }
        )
        return
    for each in problems:
        out.print(str(each), soft_wrap=True, markup=False)
    count = pluralize(len(problems), "problem")
    text = count if problems else f"{path} is {title}; no problems"
    out.print(text, soft_wrap=True, markup=False)

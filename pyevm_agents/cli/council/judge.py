"""`pyevm-agents council judge`: a judge off the chain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from pyevm_agents.cli.council.participation import (
    Participation,
    add_participant_options,
    parse_command,
    take_part,
    timeout_option,
)
from pyevm_agents.cli.options.worker_models import add_model_options, hardfork_option
from pyevm_agents.council.answers import AskedModel
from pyevm_agents.council.decisions import JudgeRole
from pyevm_agents.council.participants import Judge
from pyevm_agents.council.verdicts import JUDGE_PROMPT, CommandVerdict, ModelVerdict
from pyevm_agents.oracle.recomputation import ModelOptions, open_computer

if TYPE_CHECKING:
    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.store import CouncilStore
    from pyevm_agents.council.verdicts import VerdictSource

EXAMPLES = """\b
Examples:
  pyevm-agents council judge --oracle 0x5FbD… --keystore judge.json --all
  pyevm-agents council judge --oracle 0x5FbD… --keystore judge.json --all --max-bond 1ether \\
      --verdict-command "python3 verdict.py" --disputes-only
"""


@click.command(epilog=EXAMPLES)
@add_participant_options
@click.option(
    "--verdict-command",
    metavar="COMMAND",
    callback=parse_command,
    help="A program that reads request and answers as JSON, and writes "
    '{"answer": TEXT, "winners": [ADDRESS], "reasoning": TEXT}.  [default: the model]',
)
@timeout_option
@click.option("--disputes", is_flag=True, help="Register as a judge of disputes too.")
@click.option(
    "--disputes-only",
    is_flag=True,
    help="Register for disputes alone. Who gave the first answer can't judge its dispute.",
)
@click.option(
    "--base-prompt",
    default=JUDGE_PROMPT,
    show_default=True,
    metavar="TEXT",
    help="What the model is told before the answers.",
)
@add_model_options
@hardfork_option
def judge(  # noqa: PLR0913 - one for each option
    participation: Participation,
    *,
    verdict_command: tuple[str, ...] | None,
    command_timeout: float,
    disputes: bool,
    disputes_only: bool,
    base_prompt: str,
    options: ModelOptions,
    hardfork: str | None,
) -> None:
    """Judge the answers of a council's agents.

    The command registers as a candidate for each request within the limits, with the bond; proves
    the header of the block that decides the draw; and, if drawn, hands in the answer, the agents
    that were right, and the reasons. These come from the local model or from a command, and are
    checked by the oracle's rules before sending.

    Ctrl-C ends the command. After a kill, a new start goes on with the same verdict.
    """
    role = JudgeRole.ALL if disputes else JudgeRole.REQUESTS
    role = JudgeRole.DISPUTES if disputes_only else role
    settings = replace(participation.settings, judge_role=role)
    participation = replace(participation, settings=settings)
    if verdict_command is not None:
        source = CommandVerdict(verdict_command, command_timeout)
        take_part(participation, Judge, lambda *_: {"source": source})
        return
    options = replace(options, progress=participation.output.on_progress)
    with open_computer(participation.url, options, hardfork=hardfork) as computer:
        name = computer.model_name

        def prepare(client: CouncilClient, _store: CouncilStore) -> dict[str, VerdictSource]:
            model = AskedModel(client, computer, name, base_prompt)
            return {"source": ModelVerdict(model, name)}

        take_part(participation, Judge, prepare)

"""`pyevm-agents council join`: an info agent off the chain."""

from __future__ import annotations

from contextlib import ExitStack
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
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.options.worker_models import add_model_options, hardfork_option
from pyevm_agents.council.answers import (
    BASE_PROMPT,
    AskedModel,
    CommandAnswer,
    FixedAnswer,
    ModelAnswer,
)
from pyevm_agents.council.deployed_agents import AgentAnswer
from pyevm_agents.council.participants import Participant
from pyevm_agents.oracle.recomputation import ModelOptions, open_computer

if TYPE_CHECKING:
    from pyevm_agents.council.answers import AnswerSource
    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.store import CouncilStore

EXAMPLES = """\b
Examples:
  pyevm-agents council join --oracle 0x5FbD… --keystore agent.json --max-bond 0.05ether
  pyevm-agents council join --oracle 0x5FbD… --keystore agent.json --request 1 --answer yes --once
  pyevm-agents council join --oracle 0x5FbD… --keystore agent.json \\
      --answer-command "python3 answer.py" --domain weather
  pyevm-agents council join --oracle 0x5FbD… --keystore agent.json --agent 0x9fE4…
"""


@click.command(short_help="Answer questions of a council.", epilog=EXAMPLES)
@add_participant_options
@click.option("--answer", metavar="TEXT", help="This answer; needs --request.")
@click.option(
    "--answer-command",
    metavar="COMMAND",
    callback=parse_command,
    help="A program that reads the request as JSON and writes the answer.  [default: the model]",
)
@click.option(
    "--agent",
    type=ADDRESS_TYPE,
    metavar="ADDRESS",
    help="A deployed agent, such as a CouncilInfoAgent: its prompt and tools, on the local model.",
)
@timeout_option
@click.option(
    "--base-prompt",
    default=BASE_PROMPT,
    show_default=True,
    metavar="TEXT",
    help="What the model is told before the question.",
)
@add_model_options
@hardfork_option
def join(  # noqa: PLR0913 - one for each option
    participation: Participation,
    *,
    answer: str | None,
    answer_command: tuple[str, ...] | None,
    agent: bytes | None,
    command_timeout: float,
    base_prompt: str,
    options: ModelOptions,
    hardfork: str | None,
) -> None:
    """Answer the questions of an AgentCouncilOracle, as an info agent.

    For each request within the limits the command computes an answer, keeps the answer with a
    random nonce, commits with the bond, reveals, and withdraws the earnings. The answer comes from
    the local model, from a command, from an agent that is a contract, or is given. An agent runs on
    a fork of the chain, so that the answer is not public before the reveal.

    Ctrl-C ends the command. After a kill, a new start goes on with the same answer.
    """
    given = {"--answer": answer, "--answer-command": answer_command, "--agent": agent}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise click.UsageError(f"{' and '.join(names)} exclude each other; pass one of them")
    if answer is not None and not participation.limits.request_ids:
        raise click.UsageError("--answer: needs --request NUMBER, for it answers one question")
    fixed: AnswerSource | None = None
    if answer is not None:
        fixed = FixedAnswer(answer)
    elif answer_command is not None:
        fixed = CommandAnswer(answer_command, command_timeout)
    if fixed is not None:
        take_part(participation, Participant, lambda *_: {"source": fixed})
        return
    options = replace(options, progress=participation.output.on_progress)
    if agent is not None:
        _take_part_by_agent(participation, agent, options, hardfork)
        return
    with open_computer(participation.url, options, hardfork=hardfork) as computer:

        def prepare(client: CouncilClient, _store: CouncilStore) -> dict[str, AnswerSource]:
            model = AskedModel(client, computer, computer.model_name, base_prompt)
            return {"source": ModelAnswer(model)}

        take_part(participation, Participant, prepare)


def _take_part_by_agent(
    participation: Participation, agent: bytes, options: ModelOptions, hardfork: str | None
) -> None:
    with ExitStack() as stack:
        hosted = options.open(stack)

        def prepare(client: CouncilClient, _store: CouncilStore) -> dict[str, AnswerSource]:
            caller, url = participation.address, participation.url
            source = AgentAnswer(client, url, hosted, agent, caller=caller, hardfork=hardfork)
            source.require_agent()
            return {"source": source}

        take_part(participation, Participant, prepare)

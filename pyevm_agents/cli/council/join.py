"""`pyevm-agents council join`: an info agent off the chain."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
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
from pyevm_agents.client.contract_kinds import TOKEN, require_kind
from pyevm_agents.council.answers import (
    BASE_PROMPT,
    AskedModel,
    CommandAnswer,
    FixedAnswer,
    ModelAnswer,
)
from pyevm_agents.council.commitments import CommitmentForm
from pyevm_agents.council.deployed_agents import AgentAnswer
from pyevm_agents.council.participants import Participant
from pyevm_agents.council.seats import require_seats
from pyevm_agents.oracle.recomputation import ModelOptions, open_computer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.council.answers import AnswerSource
    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.store import CouncilStore

AUTO = "auto"

EXAMPLES = """\b
Examples:
  pyevm-agents council join --oracle 0x5FbD… --keystore agent.json --min-reward 0.1ether
  pyevm-agents council join --oracle 0x5FbD… --keystore agent.json --request 1 --answer yes --once
  pyevm-agents council join --oracle 0x5FbD… --keystore agent.json --all \\
      --answer-command "python3 answer.py" --domain weather
  pyevm-agents council join --oracle 0x5FbD… --keystore agent.json --all --agent 0x9fE4…
"""


@click.command(epilog=EXAMPLES)
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
@click.option(
    "--commitment",
    "form",
    type=click.Choice([AUTO, *(each.option for each in CommitmentForm)]),
    default=AUTO,
    show_default=True,
    help="What a commitment hashes. bound: chain, oracle, request, agent, answer and nonce. plain: "
    "answer and nonce, as ERC-8033 recommends. packed: these, unpadded. auto: what the oracle "
    "says, or takes in a simulation.",
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
    form: str,
    command_timeout: float,
    base_prompt: str,
    options: ModelOptions,
    hardfork: str | None,
) -> None:
    """Answer the questions of a council, as an info agent.

    For each request within the limits the command computes an answer, keeps the answer with a
    random nonce, commits with the bond, reveals, and withdraws the earnings. The answer comes from
    the local model, from a command, from an agent that is a contract, or is given. An agent runs on
    a fork of the chain, so that the answer is not public before the reveal.

    Ctrl-C ends the command. After a kill, a new start goes on with the same answer.
    """
    fixed = _choose_fixed(participation, answer, answer_command, command_timeout, agent)
    chosen = None if form == AUTO else CommitmentForm[form.upper()]
    build = partial(_build_values, participation, chosen)
    if fixed is not None:
        take_part(participation, Participant, lambda client, _: build(client, fixed))
        return
    options = replace(options, progress=participation.output.on_progress)
    if agent is not None:
        _take_part_by_agent(participation, agent, options, hardfork, build)
        return
    with open_computer(participation.url, options, hardfork=hardfork) as computer:

        def prepare(client: CouncilClient, _store: CouncilStore) -> dict[str, object]:
            model = AskedModel(client, computer, computer.model_name, base_prompt)
            return build(client, ModelAnswer(model))

        take_part(participation, Participant, prepare)


def _choose_fixed(
    participation: Participation,
    answer: str | None,
    answer_command: tuple[str, ...] | None,
    command_timeout: float,
    agent: bytes | None,
) -> AnswerSource | None:
    """Return where answers come from that need no model; None: from a model.

    Raises: click.UsageError: options that exclude each other, or an answer to every question.
    """
    given = {"--answer": answer, "--answer-command": answer_command, "--agent": agent}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise click.UsageError(f"{' and '.join(names)} exclude each other; pass one of them")
    if answer is not None:
        if not participation.limits.request_ids:
            raise click.UsageError("--answer: needs --request NUMBER, for it answers one question")
        return FixedAnswer(answer)
    return None if answer_command is None else CommandAnswer(answer_command, command_timeout)


def _build_values(
    participation: Participation,
    form: CommitmentForm | None,
    client: CouncilClient,
    source: AnswerSource,
) -> dict[str, object]:
    """Return the arguments of a `Participant`, whose requests can be joined.

    Raises: ConfigError: a token is none, or a commitment would revert.
    """
    limits = participation.limits
    for token in sorted(limits.reward_tokens):
        require_kind(client, "--reward-token", token, TOKEN)
    require_seats(client, participation.address, sorted(limits.request_ids), limits)
    return {"source": source, "form": form}


def _take_part_by_agent(
    participation: Participation,
    agent: bytes,
    options: ModelOptions,
    hardfork: str | None,
    build: Callable[[CouncilClient, AnswerSource], dict[str, object]],
) -> None:
    with ExitStack() as stack:
        hosted = options.open(stack)

        def prepare(client: CouncilClient, _store: CouncilStore) -> dict[str, object]:
            caller, url = participation.address, participation.url
            source = AgentAnswer(client, url, hosted, agent, caller=caller, hardfork=hardfork)
            source.require_agent()
            return build(client, source)

        take_part(participation, Participant, prepare)

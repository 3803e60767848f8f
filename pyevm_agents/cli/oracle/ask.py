"""`pyevm-agents oracle ask` and `follow`: a run of an agent, from the prompt to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from eth_abi import encode

from pyevm_agents.cli.options.sender import (
    Sender,
    add_client_option,
    add_sender_options,
    from_block_option,
)
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.oracle.run_output import show_run
from pyevm_agents.cli.output import err, json_option
from pyevm_agents.cli.text_command import TextCommand
from pyevm_agents.errors import RemoteFault
from pyevm_agents.oracle.agent_run import find_started_run, open_agents_oracle
from pyevm_agents.oracle.contracts import is_agent_v1, open_agent

if TYPE_CHECKING:
    from pyevm_agents.client.contract import RemoteContract
    from pyevm_agents.client.json_rpc import RemoteClient
    from pyevm_agents.oracle.agent_run import StartedRun

STRING = 0
"""`IERCAgentTool.ParamType.STRING`."""

NOBODY = bytes(20)
"""The result handler of a run without one."""

AGENT = "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9"
ASK_EXAMPLES = f"""\b
Examples:
  pyevm-agents oracle ask {AGENT} "Add 7 to the counter" --keystore me.json
  pyevm-agents oracle ask {AGENT} "Add 7 to the counter" --unlocked 0xf39F…2266 --no-wait
"""
FOLLOW_EXAMPLE = f"Example: pyevm-agents oracle follow {AGENT} 1"

wait_option = click.option(
    "--wait/--no-wait",
    "waits",
    default=True,
    show_default=True,
    help="Wait for the answer, and print each step.",
)


@click.command(cls=TextCommand, epilog=ASK_EXAMPLES)
@click.argument("agent", type=ADDRESS_TYPE)
@click.argument("prompt")
@wait_option
@click.option(
    "--subscription", "from_subscription", is_flag=True,
    help="The agent's subscription pays. For the agent's owner and the callers it allowed.",
)  # fmt: skip
@click.option(
    "--handler", type=ADDRESS_TYPE, metavar="ADDRESS",
    help="A contract that is called with the result: an IERCAgentClient, of a version-1 agent an "
    "IERCAgentClientV1.",
)  # fmt: skip
@add_sender_options
@json_option
def ask(  # noqa: PLR0913 - one for each option
    agent: bytes,
    prompt: str,
    sender: Sender,
    *,
    waits: bool,
    from_subscription: bool,
    handler: bytes | None,
    as_json: bool,
) -> None:
    """Run the CallbackAgent AGENT, of either version of the ERC, and wait for the answer.

    The account pays for all steps that the run may have; the rest can be claimed at the end.
    Workers of the agent's oracle answer: `pyevm-agents oracle run` is one.

    The exit status is 1 if the run failed, and 4 if the agent answers that the task was not done;
    the effects of the steps before stand. Ctrl-C ends the waiting, not the run: `pyevm-agents
    oracle follow` goes on.
    """
    contract = open_agent(sender.client, agent)
    started = start_run(
        sender, contract, prompt, handler=handler or NOBODY, from_subscription=from_subscription
    )
    show_run(started, waits=waits, as_json=as_json)


@click.command(epilog=FOLLOW_EXAMPLE)
@click.argument("agent", type=ADDRESS_TYPE)
@click.argument("run_id", type=click.IntRange(1), metavar="RUN")
@wait_option
@from_block_option
@add_client_option
@json_option
def follow(  # noqa: PLR0913 - one for each option
    agent: bytes,
    run_id: int,
    client: RemoteClient,
    *,
    waits: bool,
    first_block: int,
    as_json: bool,
) -> None:
    """Print the steps of RUN, a number, of the CallbackAgent AGENT, and wait for the answer.

    The exit status is 1 if the run failed, and 4 if not done.
    """
    started = find_started_run(open_agent(client, agent), run_id, first_block)
    show_run(started, waits=waits, as_json=as_json)


def start_run(  # noqa: PLR0913 - keyword arguments
    sender: Sender,
    agent: RemoteContract,
    prompt: str,
    *,
    handler: bytes = NOBODY,
    from_subscription: bool = False,
    gas: int | None = None,
) -> StartedRun:
    """Send the transaction that starts a run of a CallbackAgent.

    Input:
        handler: gets the result; the zero address for none.
        from_subscription: whether the agent's subscription pays, in place of the sender.
        gas: the gas limit; by default the node's estimate, and a fifth more.

    Raises: AgentsError: the transaction fails.
    """
    warn_without_workers(open_agents_oracle(agent))
    if from_subscription:
        value, text = 0, encode(["string"], [prompt])
        params = [(STRING, text)]
        run_input = (params,) if is_agent_v1(agent) else (params, text)
        call = agent.artifact.encode_call("run", run_input, handler)
    else:
        value = agent.read("costOfRun")
        call = agent.artifact.encode_call("ask", prompt, handler)
    sent = sender.account.transact(agent.address, call, value_wei=value, gas=gas)
    for log in agent.decode_logs("AgentRunStarted", sent.logs):
        return find_started_run(agent, log.values[0], sent.block_number)
    raise RemoteFault(
        f"transaction 0x{sent.hash.hex()}: {sender.client.host} has no AgentRunStarted of it"
    )


def warn_without_workers(oracle: RemoteContract) -> None:
    """Print a warning if no worker is registered to answer an oracle's requests."""
    if not oracle.read("workers"):
        err.print(
            f"Warning: oracle {oracle.checksum_address} has no workers; its owner registers them "
            "by `pyevm-agents oracle worker add`",
            soft_wrap=True,
        )

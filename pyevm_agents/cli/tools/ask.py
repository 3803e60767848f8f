"""`pyevm-agents tools ask`: an instruction of its owner to an agent, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.cli.oracle.param_types import ADDRESS_TYPE
from pyevm_agents.cli.oracle.session import (
    OracleSession,
    add_sender_options,
    explain_reverts,
    json_option,
)
from pyevm_agents.cli.output import out
from pyevm_agents.cli.rpc_client import print_json
from pyevm_agents.cli.trace import TraceView, format_line
from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.remote_contract import RemoteContract, require_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    StepJson = Mapping[str, Any]

AGENT = "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9"
EXAMPLES = f"""\b
Examples:
  pyevm-agents tools ask {AGENT} "Swap 0.01 ETH for USDC" --keystore me.json
  pyevm-agents tools ask {AGENT} "What is my balance?" --unlocked ME --call
"""


@click.command(short_help="Give an agent of `tools deploy` an instruction.", epilog=EXAMPLES)
@click.argument("agent", type=ADDRESS_TYPE)
@click.argument("instruction")
@click.option("--call", "is_call", is_flag=True, help="Simulate the run; send nothing.")
@click.option(
    "--gas", type=click.IntRange(21_000), metavar="GAS",
    help="The gas limit.  [default: the node's estimate, and a fifth more]",
)  # fmt: skip
@add_sender_options
@json_option
def ask(  # noqa: PLR0913 - one for each option
    agent: bytes,
    instruction: str,
    session: OracleSession,
    *,
    is_call: bool,
    gas: int | None,
    as_json: bool,
) -> None:
    """Give the OwnedAgent AGENT the instruction INSTRUCTION, in one transaction of its owner.

    The exit status is 1 if the run reverts: then no tool had an effect. `pyevm-agents trace` shows
    the whole prompts of a transaction.
    """
    contract = _open_agent(session, agent)
    data = contract.artifact.encode_call("instruct", instruction)
    if is_call:
        with explain_reverts():
            output = session.account.simulate(agent, data, gas=gas)
        answer = contract.artifact.decode_result("instruct", output)
        if as_json:
            print_json({"agent": contract.checksum_address, "answer": answer})
        else:
            view = TraceView(names={}, closest=None, shows_prompts=False)
            out.print(format_line("Answer", view.format_text(answer), "bold green"), soft_wrap=True)
            out.print("Simulated: nothing was sent.")
        return
    sent = session.send(agent, data, gas=gas)
    transaction = "0x" + sent.hash.hex()
    trace: Any = session.client.request("agent_traceTransaction", [transaction])
    steps = [*_iter_steps(trace["steps"], 0)]
    answer = next((step["answer"] for _, step in reversed(steps) if step["answer"]), None)
    if as_json:
        print_json(
            {
                "agent": contract.checksum_address,
                "answer": answer,
                "transactionHash": transaction,
                "blockNumber": sent.block_number,
                "gasUsed": sent.gas_used,
                "gas": trace["gas"],
                "steps": [_serialize_step(depth, step) for depth, step in steps],
            }
        )
        return
    view = TraceView(names=trace.get("names", {}), closest=None, shows_prompts=False)
    for depth, step in steps:
        for line in _iter_lines(view, step):
            out.print(f"{'  ' * depth}{line}", soft_wrap=True)
    out.print(f"[dim]transaction[/] {transaction}", soft_wrap=True)
    parts = trace["gas"]
    out.print(
        f"{sent.gas_used:,} gas: {parts['evm']:,} EVM, {parts['prompt']:,} prompt, "
        f"{parts['output']:,} output",
        soft_wrap=True,
    )


def _open_agent(session: OracleSession, address: bytes) -> RemoteContract:
    """Return the agent at an address.

    Raises: ConfigError: there is none, or the sender does not own it.
    """
    require_code(session.client, address)
    agent = RemoteContract(session.client, "OwnedAgent", address)
    owner = agent.read("owner")
    if to_canonical_address(owner) != session.account.address:
        raise ConfigError(
            f"{agent.checksum_address}: its owner is {to_checksum_address(owner)}, who alone may "
            f"run it, not the sender {session.account.checksum_address}"
        )
    return agent


def _iter_steps(steps: list[StepJson], depth: int) -> Iterator[tuple[int, StepJson]]:
    for step in steps:
        yield from _iter_steps(step["steps"], depth + 1)
        yield depth, step


def _iter_lines(view: TraceView, step: StepJson) -> Iterator[str]:
    if step["answer"] is None:
        yield from view.iter_action_lines(dict(step))
    else:
        yield format_line("Answer", view.format_text(step["answer"]), "bold green")


def _serialize_step(depth: int, step: StepJson) -> dict[str, Any]:
    names = ("tool", "action", "input", "observation", "answer")
    return {"depth": depth, **{name: step.get(name) for name in names}}

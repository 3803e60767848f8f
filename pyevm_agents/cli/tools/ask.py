"""`pyevm-agents tools ask`: an instruction of its owner to an agent, embedded or by callback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_canonical_address, to_checksum_address

from precompiles.spec import EXECUTOR_ADDRESS
from precompiles.versions import is_interface_question
from pyevm_agents.agents.iteration_results import decode_iteration
from pyevm_agents.cli.oracle.ask import NOBODY, start_run
from pyevm_agents.cli.oracle.param_types import ADDRESS_TYPE
from pyevm_agents.cli.oracle.run_output import show_run
from pyevm_agents.cli.oracle.session import (
    OracleSession,
    add_sender_options,
    explain_reverts,
    json_option,
)
from pyevm_agents.cli.output import out
from pyevm_agents.cli.rpc_client import print_json
from pyevm_agents.cli.trace import TraceView
from pyevm_agents.contracts import load_artifact
from pyevm_agents.errors import AgentsError, ConfigError, RemoteFault
from pyevm_agents.forking.remote_client import RemoteError
from pyevm_agents.oracle.accounts import RevertedError
from pyevm_agents.oracle.remote_contract import RemoteContract, open_agent, require_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    StepJson = Mapping[str, Any]
    CallJson = Mapping[str, Any]

EXECUTOR = "0x" + EXECUTOR_ADDRESS.hex()
AGENT = "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9"
EXAMPLES = f"""\b
Examples:
  pyevm-agents tools ask {AGENT} "Swap 0.01 ETH for USDC" --keystore me.json
  pyevm-agents tools ask {AGENT} "What is my balance?" --unlocked ME --call
"""


@click.command(short_help="Give an agent of `tools deploy` an instruction.", epilog=EXAMPLES)
@click.argument("agent", type=ADDRESS_TYPE)
@click.argument("instruction")
@click.option(
    "--call", "is_call", is_flag=True, help="Simulate the run of an OwnedAgent; send nothing."
)
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
    """Give the agent AGENT of `tools deploy` the instruction INSTRUCTION, as its owner.

    A run of an OwnedAgent is one transaction. The exit status is 4 if the agent does not do what is
    asked, and 1 if the run reverts for another reason: then no tool had an effect. `pyevm-agents
    trace` shows the whole prompts of a transaction.

    A run of a CallbackAgent waits for the oracle's workers, as `pyevm-agents oracle ask` does. The
    exit status is 4 if the agent answers that it did not do what was asked, and 1 if the run fails:
    what a step did before stands.
    """
    callback_agent = _find_callback_agent(session, agent)
    if callback_agent is None:
        _run_embedded(session, agent, instruction, is_call=is_call, gas=gas, as_json=as_json)
        return
    _require_caller(session, callback_agent)
    if is_call:
        raise click.UsageError(
            "--call: a run by callback has a transaction for each step; `pyevm-agents estimate "
            f"--callback {callback_agent.checksum_address} INSTRUCTION --from "
            f"{session.account.checksum_address}` executes it on a fork"
        )
    started = start_run(session, callback_agent, instruction, gas=gas)
    show_run(started, waits=True, as_json=as_json)


# -- embedded -- #


def _run_embedded(  # noqa: PLR0913 - the command's options
    session: OracleSession,
    address: bytes,
    instruction: str,
    *,
    is_call: bool,
    gas: int | None,
    as_json: bool,
) -> None:
    agent = _open_owned_agent(session, address)
    data = agent.artifact.encode_call("instruct", instruction)
    if is_call:
        _simulate(session, agent, data, gas=gas, as_json=as_json)
    else:
        _send(session, agent, data, gas=gas, as_json=as_json)


def _simulate(
    session: OracleSession, agent: RemoteContract, data: bytes, *, gas: int | None, as_json: bool
) -> None:
    with explain_reverts():
        output = session.account.simulate(agent.address, data, gas=gas)
    answer = agent.artifact.decode_result("instruct", output)
    steps = _trace_call(session, agent, data, gas)
    if as_json:
        form = {"agent": agent.checksum_address, "answer": answer}
        if steps is not None:
            form["steps"] = [_serialize_step(depth, step) for depth, step in steps]
        print_json(form)
        return
    view = TraceView(names={}, closest=None, shows_prompts=False)
    if steps is None:
        out.print(view.format_answer(answer), soft_wrap=True)
    else:
        _print_steps(view, steps)
    out.print("Simulated: nothing was sent.")


def _send(
    session: OracleSession, agent: RemoteContract, data: bytes, *, gas: int | None, as_json: bool
) -> None:
    sent = session.send(agent.address, data, gas=gas)
    transaction = "0x" + sent.hash.hex()
    trace: Any = session.client.request("agent_traceTransaction", [transaction])
    steps = [*_iter_steps(trace["steps"], 0)]
    answer = next((step["answer"] for _, step in reversed(steps) if step["answer"]), None)
    if as_json:
        print_json(
            {
                "agent": agent.checksum_address,
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
    _print_steps(view, steps)
    out.print(f"[dim]transaction[/] {transaction}", soft_wrap=True)
    parts = trace["gas"]
    out.print(
        f"{sent.gas_used:,} gas: {parts['evm']:,} EVM, {parts['prompt']:,} prompt, "
        f"{parts['output']:,} output",
        soft_wrap=True,
    )


def _open_owned_agent(session: OracleSession, address: bytes) -> RemoteContract:
    """Return the OwnedAgent at an address.

    Raises: ConfigError: there is none, or the sender does not own it.
    """
    agent = RemoteContract(session.client, "OwnedAgent", address)
    try:
        owner, _ = agent.read_all([("owner", ()), ("agentExecutorContract", ())])
    except RemoteFault:
        raise
    except AgentsError as error:
        raise ConfigError(
            f"{agent.checksum_address}: neither an OwnedAgent nor a CallbackAgent; `pyevm-agents "
            "tools deploy` prints the address of a new one"
        ) from error
    if to_canonical_address(owner) != session.account.address:
        raise ConfigError(
            f"{agent.checksum_address}: its owner is {to_checksum_address(owner)}, who alone may "
            f"run it, not the sender {session.account.checksum_address}"
        )
    return agent


def _trace_call(
    session: OracleSession, agent: RemoteContract, data: bytes, gas: int | None
) -> list[tuple[int, StepJson]] | None:
    """Return the steps of a simulated run; None if the node traces no calls."""
    form = {
        "from": session.account.checksum_address,
        "to": agent.checksum_address,
        "data": "0x" + data.hex(),
    }
    if gas is not None:
        form["gas"] = hex(gas)
    try:
        calls: Any = session.client.request(
            "debug_traceCall", [form, "latest", {"tracer": "callTracer"}]
        )
    except RemoteError:
        return None
    return [*_iter_call_steps(calls, 0)]


def _print_steps(view: TraceView, steps: Sequence[tuple[int, StepJson]]) -> None:
    for depth, step in steps:
        for line in _iter_lines(view, step):
            out.print(f"{'  ' * depth}{line}", soft_wrap=True)


def _iter_steps(steps: list[StepJson], depth: int) -> Iterator[tuple[int, StepJson]]:
    for step in steps:
        yield from _iter_steps(step["steps"], depth + 1)
        yield depth, step


def _iter_lines(view: TraceView, step: StepJson) -> Iterator[str]:
    if step["answer"] is None:
        yield from view.iter_action_lines(dict(step))
    else:
        yield view.format_answer(step["answer"])


def _serialize_step(depth: int, step: StepJson) -> dict[str, Any]:
    names = ("tool", "action", "input", "observation", "answer")
    return {"depth": depth, **{name: step.get(name) for name in names}}


def _iter_call_steps(call: CallJson, depth: int) -> Iterator[tuple[int, StepJson]]:
    """Yield the steps of agents in a call, nested agents' first, with how many agents are around.

    Input:  call: as geth's callTracer writes it.
    """
    pending: StepJson | None = None
    for each in call.get("calls", ()):
        step = _read_executor_call(each)
        if step is not None:
            pending = step
            if step["answer"] is not None:
                yield depth, step
        elif pending is not None and each.get("to") == pending["tool"].lower():
            yield from _iter_call_steps(each, depth + 1)
            yield depth, {**pending, "observation": _read_tool_result(each)}
            pending = None
        else:
            yield from _iter_call_steps(each, depth)


def _read_executor_call(call: CallJson) -> StepJson | None:
    """Return the step that a call of the executor decided; None if it is no such call."""
    if call.get("to") != EXECUTOR or "error" in call:
        return None
    if is_interface_question(bytes.fromhex(call.get("input", "0x")[2:])):
        return None
    result = decode_iteration(bytes.fromhex(call.get("output", "0x")[2:]))
    if result.is_final_answer:
        return {"answer": result.final_answer}
    _, action, arguments = result.agent_reasoning.split("\n")
    return {
        "tool": result.tool,
        "action": action.removeprefix("Action: "),
        "input": arguments.removeprefix("Action Input: "),
        "answer": None,
    }


def _read_tool_result(call: CallJson) -> str:
    """Return the result of a tool that did not revert: the run that used it did not either."""
    output = bytes.fromhex(call.get("output", "0x")[2:])
    return str(load_artifact("IERCAgentTool").decode_result("run", output)[1])


# -- by callback -- #


def _find_callback_agent(session: OracleSession, address: bytes) -> RemoteContract | None:
    """Return the CallbackAgent at an address; None if the contract is no CallbackAgent.

    Raises: ConfigError: there is no contract, or it is an oracle.
    """
    require_code(session.client, address)
    contract = RemoteContract(session.client, "OwnedCallbackAgent", address)
    if contract.supports("IAgentOracleClient") or contract.supports("IAgentOracle"):
        return open_agent(session.client, address)
    return None


def _require_caller(session: OracleSession, agent: RemoteContract) -> None:
    """Check that a CallbackAgent lets the sender start a run.

    A call without wei ends at the sender, or later at the price.

    Raises: ConfigError: it doesn't.
    """
    call = agent.artifact.encode_call("ask", "", NOBODY)
    try:
        session.account.simulate(agent.address, call)
    except RevertedError as error:
        if error.name == "CallerNotAllowed":
            raise ConfigError(
                f"{agent.checksum_address}: its owner is "
                f"{to_checksum_address(agent.read('owner'))}, who alone may run it, with callers "
                f"whom it allowed by setCaller; not the sender {session.account.checksum_address}"
            ) from error

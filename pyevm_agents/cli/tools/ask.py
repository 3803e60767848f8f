"""`pyevm-agents tools ask`: an instruction of the owner to an agent, embedded or by callback."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import click
from eth_utils import to_canonical_address, to_checksum_address
from rich.markup import escape

from pyevm_agents.abi.not_done import describe_not_done
from pyevm_agents.cli.agent_entry import find_entry
from pyevm_agents.cli.known_abis import abi_option, learn_abis
from pyevm_agents.cli.options.sender import Sender, add_sender_options
from pyevm_agents.cli.options.sent_transactions import add_advice, explain_reverts
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.oracle.ask import NOBODY, start_run
from pyevm_agents.cli.oracle.run_output import show_run
from pyevm_agents.cli.output import err, json_option, out, print_json, show_waiting
from pyevm_agents.cli.run_preview import (
    RunTrial,
    choose_screen,
    find_answer,
    list_steps,
    may_send,
    print_trial,
    read_preview,
    read_trial,
    refuse_to_send,
    yes_option,
)
from pyevm_agents.cli.text_command import TextCommand
from pyevm_agents.client.accounts import RevertedError
from pyevm_agents.client.contract import RemoteContract, require_code
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.display import name_addresses, sanitize
from pyevm_agents.errors import AgentsError, ConfigError, NotDoneError, RemoteFault
from pyevm_agents.oracle.contracts import open_agent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyevm_agents.cli.agent_entry import AgentEntry
    from pyevm_agents.cli.run_preview import RunPreview

METHOD_NOT_FOUND = -32601
"""JSON-RPC's own code."""

AGENT = "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9"
EXAMPLES = f"""\b
Examples:
  pyevm-agents tools ask {AGENT} "Swap 0.01 ETH for USDC" --keystore me.json
  pyevm-agents tools ask {AGENT} "What is my balance?" --unlocked ME --call
"""


@click.command(cls=TextCommand, epilog=EXAMPLES)
@click.argument("agent", type=ADDRESS_TYPE)
@click.argument("instruction")
@click.option("--call", "is_call", is_flag=True, help="Show what the run would do; send nothing.")
@yes_option
@click.option(
    "--gas", type=click.IntRange(21_000), metavar="GAS",
    help="The gas limit.  [default: the node's estimate, and a fifth more]",
)  # fmt: skip
@abi_option
@add_sender_options
@json_option
def ask(  # noqa: PLR0913 - one for each option
    agent: bytes,
    instruction: str,
    sender: Sender,
    *,
    is_call: bool,
    assumes_yes: bool,
    gas: int | None,
    abi_files: Sequence[Path],
    as_json: bool,
) -> None:
    """Give the agent AGENT the instruction INSTRUCTION, which is one argument: quote it.

    Simulates the run first, and shows the steps, the transfers, the approvals that stay, the
    balances before and after, and where amounts and accounts differ from the instruction. Then you
    confirm or decline. Without a terminal a run that agrees is sent, and one that differs is not;
    --yes sends both.

    An agent of `tools deploy` is asked as its owner. Of an agent without `instruct`, such as a
    SimpleAgent, the ERC's `run` is called.

    A run of such an agent is one transaction. After a revert, no tool had an effect. `pyevm-agents
    trace` shows the whole prompts of a transaction.

    A run of a CallbackAgent waits for the oracle's workers, as `pyevm-agents oracle ask` does. The
    run is simulated on a fork in this process, with a model of this machine; with --yes the run is
    sent at once. After a failure the effects of earlier steps stand.

    The exit status is 4 if the agent does not do the task, or if nothing was sent, and 1 if the run
    fails for another reason.
    """
    learn_abis(sender, abi_files)
    given = _Instruction(
        text=instruction, is_call=is_call, assumes_yes=assumes_yes, gas=gas, as_json=as_json
    )
    callback_agent = _find_callback_agent(sender, agent)
    if callback_agent is not None:
        _run_by_callback(sender, callback_agent, given)
        return
    with sender.wait_for_runs() as patient:
        _run_embedded(patient, agent, given)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instruction:
    """The instruction, and the command's options."""

    text: str
    is_call: bool
    assumes_yes: bool
    gas: int | None
    as_json: bool

    @property
    def is_asked(self) -> bool:
        """Whether the sender confirms, if a person can answer."""
        return not self.is_call and not self.assumes_yes


# -- embedded -- #


def _run_embedded(sender: Sender, address: bytes, given: _Instruction) -> None:
    agent = _open_agent(sender, address)
    entry = find_entry(sender.client, address)
    data = entry.encode(given.text)
    with show_waiting("the node runs the agent"):
        trial = _simulate(sender, agent, data, given.gas, entry)
    screen = choose_screen(as_json=given.as_json, is_asked=given.is_asked)
    if screen is not None:
        print_trial(trial, screen)
    if trial.reason is not None or trial.is_not_done:
        _end_undone(trial, trial.reason or "", given)
    if not given.is_call and may_send(trial.preview, assumes_yes=given.assumes_yes):
        _send(sender, agent, data, given, trial)
        return
    if given.as_json:
        print_json({"agent": agent.checksum_address, "isSent": False, **trial.serialize()})
    if not given.is_call:
        refuse_to_send(trial.preview)
    if not given.as_json:
        out.print("Simulated: nothing was sent.")


def _simulate(
    sender: Sender, agent: RemoteContract, data: bytes, gas: int | None, entry: AgentEntry
) -> RunTrial:
    """Return the effects that a run would have.

    Raises: AgentsError: the node does not answer, or has no `agent_traceCall` and the run reverts.
    """
    name = to_checksum_address(sender.account.address)
    form = {"from": name, "to": agent.checksum_address, "data": "0x" + data.hex()}
    if gas is not None:
        form["gas"] = hex(gas)
    try:
        told: Any = sender.client.request("agent_traceCall", [form])
    except RemoteError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
        with explain_reverts():
            output = sender.account.read(agent.address, data, gas=gas)
        return RunTrial(answer=entry.decode(output))
    return read_trial(told, name, native_symbol=_read_native_symbol(sender))


def _read_native_symbol(sender: Sender) -> str:
    chain_id = sender.client.request_quantity("eth_chainId")
    return get_chain_metadata(chain_id).native_symbol


def _end_undone(trial: RunTrial, reason: str, given: _Instruction) -> NoReturn:
    """End the command for a run that would revert, or that is not done.

    Input:  reason: of the revert; empty without a revert.

    Raises: NotDoneError: a run that is not done. AgentsError: another revert.
    """
    if given.as_json:
        steps = trial.serialize_steps()
        print_json({"answer": trial.answer, "isSent": False, "reason": reason, "steps": steps})
    if trial.is_not_done and trial.answer is not None:
        raise NotDoneError(describe_not_done(trial.answer), trial.answer)
    text = f"the transaction would revert: {sanitize(name_addresses(reason, trial.names))}"
    raise AgentsError(add_advice(RevertedError(text, reason)))


def _send(
    sender: Sender,
    agent: RemoteContract,
    data: bytes,
    given: _Instruction,
    trial: RunTrial,
) -> None:
    """Send the run; print hash and gas, and differences from the simulation."""
    with explain_reverts():  # The state may have moved since the simulation.
        sent = sender.account.transact(agent.address, data, gas=given.gas)
    transaction = "0x" + sent.hash.hex()
    trace: Any = sender.client.request("agent_traceTransaction", [transaction])
    preview = _read_done(sender, transaction, trace)
    is_same = preview is None or (trial.preview is not None and preview.moves_as(trial.preview))
    # Only the simulation has balances without the fee.
    done = RunTrial(
        answer=find_answer(trace),
        steps=list_steps(trace["steps"]),
        preview=trial.preview if is_same else preview,
    )
    if given.as_json:
        print_json(
            {
                "agent": agent.checksum_address,
                "isSent": True,
                "transactionHash": transaction,
                "blockNumber": sent.block_number,
                "gasUsed": sent.gas_used,
                "gas": trace["gas"],
                **done.serialize(),
            }
        )
        return
    if not is_same or done.serialize_steps() != trial.serialize_steps():
        if trial.steps is not None:
            out.print("[bold yellow]The state has changed since the simulation. It did:[/]")
        print_trial(done, out)
    out.print(f"[dim]transaction[/] {transaction}", soft_wrap=True)
    parts = trace["gas"]
    out.print(
        f"{sent.gas_used:,} gas: {parts['evm']:,} EVM, {parts['prompt']:,} prompt, "
        f"{parts['output']:,} output",
        soft_wrap=True,
    )


def _read_done(sender: Sender, transaction: str, trace: Any) -> RunPreview | None:  # noqa: ANN401 - JSON
    """Return the effects of a mined run; None if the node does not report effects."""
    try:
        told: Any = sender.client.request("agent_traceCalls", [transaction])
    except RemoteError:
        return None
    names = {**told["names"], **trace.get("names", {})}
    return read_preview({**told, "names": names}, to_checksum_address(sender.account.address))


def _open_agent(sender: Sender, address: bytes) -> RemoteContract:
    """Return the agent of one transaction at an address.

    Raises: ConfigError: no agent, or one of another owner.
    """
    agent = RemoteContract(sender.client, "OwnedAgent", address)
    try:
        agent.read("agentExecutorContract")
    except RemoteFault:
        raise
    except AgentsError as error:
        raise ConfigError(
            f"{agent.checksum_address}: neither an IERCAgent nor a CallbackAgent; `pyevm-agents "
            "tools deploy` prints the address of a new one"
        ) from error
    owner = _read_owner(agent)
    if owner is not None and owner != sender.account.address:
        raise ConfigError(
            f"{agent.checksum_address}: its owner is {to_checksum_address(owner)}, who alone may "
            f"run it, not the sender {to_checksum_address(sender.account.address)}"
        )
    return agent


def _read_owner(agent: RemoteContract) -> bytes | None:
    """Return the owner of an agent; None for an agent without one, such as a SimpleAgent."""
    try:
        return to_canonical_address(agent.read("owner"))
    except RemoteFault:
        raise
    except AgentsError:
        return None


# -- by callback -- #


def _run_by_callback(sender: Sender, agent: RemoteContract, given: _Instruction) -> None:
    """Show the effects of a run on a fork, get a confirmation, and start the run.

    With --yes the run starts at once: the simulation would cost another inference.
    """
    _require_caller(sender, agent)
    preview: RunPreview | None = None
    form: dict[str, Any] = {}
    if given.is_call or not given.assumes_yes:
        preview, form = _preview_callback(sender, agent, given)
    if not given.is_call and may_send(preview, assumes_yes=given.assumes_yes):
        started = start_run(sender, agent, given.text, gas=given.gas)
        started = replace(started, known=sender.known)
        effects = {} if preview is None else preview.serialize()
        show_run(started, waits=True, as_json=given.as_json, effects=effects)
        return
    if given.as_json:
        print_json({"agent": agent.checksum_address, "isSent": False, **form})
    if not given.is_call:
        refuse_to_send(preview)
    if not given.as_json:
        out.print("Simulated: nothing was sent.")


def _preview_callback(
    sender: Sender, agent: RemoteContract, given: _Instruction
) -> tuple[RunPreview | None, dict[str, Any]]:
    """Print the effects that a run would have; return the preview, and the JSON.

    Output: None without a simulation here, if a person may still decide to send the run.
    Raises: AgentsError: no simulation is possible, and only that was wanted.
    """
    from pyevm_agents.cli.tools import callback_preview  # noqa: PLC0415 - slow to import

    try:
        run, preview = callback_preview.simulate_callback_run(sender, agent, given.text)
    except AgentsError as error:
        if given.is_call:
            raise
        err.print(f"Not simulated: {escape(str(error))}", soft_wrap=True)
        return None, {}
    screen = choose_screen(as_json=given.as_json, is_asked=given.is_asked)
    if screen is not None:
        callback_preview.print_run_preview(run, preview, screen)
    return preview, callback_preview.serialize_run_preview(run, preview)


def _find_callback_agent(sender: Sender, address: bytes) -> RemoteContract | None:
    """Return the CallbackAgent at an address; None if the contract is no CallbackAgent.

    Raises: ConfigError: no contract, or an oracle.
    """
    require_code(sender.client, address)
    contract = RemoteContract(sender.client, "OwnedCallbackAgent", address)
    if contract.supports("IAgentOracleClient") or contract.supports("IAgentOracle"):
        return open_agent(sender.client, address)
    return None


def _require_caller(sender: Sender, agent: RemoteContract) -> None:
    """Check that a CallbackAgent lets the sender start a run.

    A call without wei ends at the sender, or later at the price.

    Raises: ConfigError: another sender.
    """
    call = agent.artifact.encode_call("ask", "", NOBODY)
    try:
        sender.account.read(agent.address, call)
    except RevertedError as error:
        if error.name == "CallerNotAllowed":
            raise ConfigError(
                f"{agent.checksum_address}: its owner is "
                f"{to_checksum_address(agent.read('owner'))}, who alone may run it, with callers "
                f"whom it allowed by setCaller; not the sender "
                f"{to_checksum_address(sender.account.address)}"
            ) from error

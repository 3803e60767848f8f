"""`pyevm-agents oracle ask`: a run of an agent by an oracle, from the prompt to the answer."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_checksum_address
from rich.markup import escape

from pyevm_agents.cli.oracle.param_types import ADDRESS_TYPE, format_request, format_time
from pyevm_agents.cli.oracle.session import OracleSession, add_sender_options, json_option
from pyevm_agents.cli.output import StatusLine, err, is_live, out
from pyevm_agents.cli.rpc_client import print_json
from pyevm_agents.display import format_amount, sanitize
from pyevm_agents.errors import AgentsError, RemoteFault
from pyevm_agents.oracle.agent_run import find_awaited_tool, read_chain_time, read_run
from pyevm_agents.oracle.remote_contract import RemoteContract, open_agent, open_human_tool

if TYPE_CHECKING:
    from pyevm_agents.oracle.accounts import SentTransaction
    from pyevm_agents.oracle.agent_run import FollowedRun

FAILED_STATUS = 1
POLL_SECONDS = 0.5
HINT_SECONDS = 15.0
"""After so long without an answer a line says what is needed for one."""

EXAMPLES = """\b
Examples:
  pyevm-agents oracle ask 0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9 "Add 7 to the counter" --keystore me.json
  pyevm-agents oracle ask 0xDc64…F6C9 "Add 7 to the counter" --unlocked 0xf39F…2266 --no-wait
"""  # noqa: E501 - an address


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRun:
    """A run and what it reserved."""

    agent: RemoteContract
    oracle: RemoteContract
    transaction: SentTransaction
    run_id: int
    reserved: int
    """Wei of its budget."""

    has_subscription: bool
    """Whether a subscription pays, and not the account."""


@click.command(short_help="Ask an agent, and wait for its answer.", epilog=EXAMPLES)
@click.argument("agent", type=ADDRESS_TYPE)
@click.argument("prompt")
@click.option(
    "--wait/--no-wait", "waits", default=True, show_default=True,
    help="Wait for the answer, and print each step.",
)  # fmt: skip
@click.option(
    "--subscription", "from_subscription", is_flag=True,
    help="The agent's subscription pays. For the agent's owner and the callers it allowed.",
)  # fmt: skip
@click.option(
    "--handler", type=ADDRESS_TYPE, default="0x" + "00" * 20, show_default="none",
    metavar="ADDRESS", help="A contract that is called with the result (IERCAgentClient).",
)  # fmt: skip
@add_sender_options
@json_option
def ask(  # noqa: PLR0913 - one for each option
    agent: bytes,
    prompt: str,
    session: OracleSession,
    *,
    waits: bool,
    from_subscription: bool,
    handler: bytes,
    as_json: bool,
) -> None:
    """Ask the CallbackAgent AGENT, and wait for its answer.

    The account pays for all steps that the run may have; what is left it can claim at the end.
    Workers of the agent's oracle answer: `pyevm-agents oracle run` is one.

    The exit status is 1 if the run failed. Ctrl-C ends the waiting, not the run.
    """
    contract = open_agent(session.client, agent)
    started = _start(session, contract, prompt, handler, from_subscription=from_subscription)
    if not as_json:
        _print_start(started)
    if not waits:
        if as_json:
            print_json(serialize_run(started, read_run(contract, started.run_id), None))
        return
    run = _follow(started, is_quiet=as_json)
    refund = _read_refund(started, run)
    if as_json:
        print_json(serialize_run(started, run, refund))
    else:
        _print_end(session, started, run, refund)
    if not run.is_success:
        raise SystemExit(FAILED_STATUS)


def _start(
    session: OracleSession,
    agent: RemoteContract,
    prompt: str,
    handler: bytes,
    *,
    from_subscription: bool,
) -> StartedRun:
    oracle = RemoteContract(
        session.client, "AgentOracle", bytes.fromhex(agent.read("oracle").removeprefix("0x"))
    )
    if from_subscription:
        from eth_abi import encode  # noqa: PLC0415 - belongs to this branch

        value = 0
        text = encode(["string"], [prompt])
        call = agent.artifact.encode_call("run", ([(STRING, text)], text), handler)
    else:
        value = agent.read("costOfRun")
        call = agent.artifact.encode_call("ask", prompt, handler)
    if not oracle.read("workers"):
        err.print(
            f"Warning: oracle {oracle.checksum_address} has no workers; its owner registers them "
            "by `pyevm-agents oracle worker add`",
            soft_wrap=True,
        )
    sent = session.send(agent.address, call, value_wei=value)
    logs = agent.find_logs("AgentRunStarted", first=sent.block_number, last=sent.block_number)
    run_ids = [log.values[0] for log in logs if log.transaction == "0x" + sent.hash.hex()]
    if not run_ids:
        raise RemoteFault(
            f"transaction 0x{sent.hash.hex()}: {session.client.host} has no AgentRunStarted of it"
        )
    budgets = oracle.find_logs("BudgetOpened", first=sent.block_number, last=sent.block_number)
    reserved = [log.values[4] for log in budgets if log.transaction == "0x" + sent.hash.hex()]
    return StartedRun(
        agent=agent,
        oracle=oracle,
        transaction=sent,
        run_id=run_ids[0],
        reserved=reserved[0] if reserved else value,
        has_subscription=from_subscription,
    )


STRING = 0
"""`IERCAgentTool.ParamType.STRING`."""


# -- waiting -- #


def _follow(started: StartedRun, *, is_quiet: bool) -> FollowedRun:
    """Wait for the end of a run, and print what happens; return the run.

    Raises: AgentsError: its deadline is over, and nobody ended it.
    """
    progress = _Progress(started, is_quiet=is_quiet)
    with StatusLine() as status:
        while True:
            run = read_run(started.agent, started.run_id)
            if progress.has_news(run):
                status.stop()
                progress.print_news(run)
            if run.has_ended:
                return run
            if is_live() and not is_quiet:
                status.show_status(progress.describe(run))
            progress.print_hint(run)
            _require_time(started, run)
            sleep(POLL_SECONDS)


class _Progress:
    """What was printed of a run."""

    def __init__(self, started: StartedRun, *, is_quiet: bool) -> None:
        self._started, self._is_quiet = started, is_quiet
        self._steps = self._results = 0
        self._awaited = ""
        self._since = monotonic()
        self._has_hint = False

    def has_news(self, run: FollowedRun) -> bool:
        """Whether the run has a step or a result that was not printed."""
        news = (len(run.reasoning), len(run.tool_results))
        return news != (self._steps, self._results) or self._awaits_unseen(run)

    def print_news(self, run: FollowedRun) -> None:
        """Print steps, results, and the tool that the run waits for."""
        for index in range(min(self._steps, self._results), len(run.reasoning)):
            if index >= self._steps:
                self._print_step(index, run.reasoning[index])
            if self._results <= index < len(run.tool_results):
                self._print("result", run.tool_results[index])
        self._steps, self._results = len(run.reasoning), len(run.tool_results)
        if self._awaits_unseen(run):
            self._awaited = _name_wait(run)
            for line in describe_awaited_tool(self._started, run):
                self._print_line(f"  [yellow]{escape(line)}[/]")
        self._since = monotonic()

    def print_hint(self, run: FollowedRun) -> None:
        """Say once what is needed, if no worker answers."""
        is_late = monotonic() - self._since > HINT_SECONDS
        if self._has_hint or not is_late or run.status != "AskingModel":
            return
        self._has_hint = True
        err.print(
            f"Still waiting for a worker's answer to {format_request(run.request_id)}; is "
            "`pyevm-agents oracle run` running for oracle "
            f"{self._started.oracle.checksum_address}?",
            soft_wrap=True,
        )

    def describe(self, run: FollowedRun) -> str:
        """Return what the run waits for, in a line."""
        seconds = monotonic() - self._since
        thing = "a tool's result" if run.status == "AwaitingTool" else "a worker's answer"
        return f"step {len(run.tool_results) + 1}: waiting for {thing}, {seconds:.0f} s"

    def _awaits_unseen(self, run: FollowedRun) -> bool:
        return run.status == "AwaitingTool" and self._awaited != _name_wait(run)

    def _print_step(self, index: int, reasoning: str) -> None:
        thought, action, arguments = [*reasoning.split("\n"), "", ""][:3]
        self._print_line(f"[bold]Step {index + 1}[/]")
        self._print("thought", thought.removeprefix("Thought:").strip())
        self._print("tool", action.removeprefix("Action: "))
        self._print("arguments", arguments.removeprefix("Action Input: "))

    def _print(self, name: str, text: str) -> None:
        self._print_line(f"  [dim]{name:<12}[/] {escape(sanitize(text))}")

    def _print_line(self, markup: str) -> None:
        if not self._is_quiet:
            out.print(markup, soft_wrap=True)


def _name_wait(run: FollowedRun) -> str:
    return f"{len(run.reasoning)}"


def describe_awaited_tool(started: StartedRun, run: FollowedRun) -> list[str]:
    """Return lines about the tool that a run waits for; a person's question with how to answer."""
    awaited = find_awaited_tool(started.agent, run.run_id, started.transaction.block_number)
    if awaited is None:
        return []
    name = to_checksum_address(awaited.tool)
    try:
        tool = open_human_tool(started.agent.client, awaited.tool)
        (_, deadline, text), person = tool.read_all(
            [("questionOf", (awaited.tool_run_id,)), ("person", ())]
        )
    except AgentsError:
        return [f"waiting for tool {name}, its run {awaited.tool_run_id}"]
    if not text:
        return []
    return [
        f"question for {to_checksum_address(person)}: {sanitize(text)}",
        f"answer until {format_time(deadline)}:",
        f'pyevm-agents oracle respond {name} {awaited.tool_run_id} "…"',
    ]


def _require_time(started: StartedRun, run: FollowedRun) -> None:
    """Check that a run can still go on.

    Raises: AgentsError: its deadline is over.
    """
    if read_chain_time(started.agent) <= run.deadline:
        return
    advice = (
        f"`pyevm-agents oracle expire {format_request(run.request_id)} --oracle "
        f"{started.oracle.checksum_address}` ends it"
        if run.status == "AskingModel"
        else "`expireRun` of the agent ends it"
    )
    raise AgentsError(
        f"run {run.run_id}: no answer before its deadline, {format_time(run.deadline)}; {advice}"
    )


# -- output -- #


def _print_start(started: StartedRun) -> None:
    payer = " of its subscription" if started.has_subscription else ""
    out.print(
        f"[bold]Run {started.run_id}[/] of {started.agent.checksum_address}: "
        f"{format_amount(started.reserved)}{payer} reserved",
        soft_wrap=True,
    )
    sent = started.transaction
    out.print(f"  [dim]transaction[/] 0x{sent.hash.hex()}, {sent.gas_used:,} gas", soft_wrap=True)


def _print_end(
    session: OracleSession, started: StartedRun, run: FollowedRun, refund: int | None
) -> None:
    if run.is_success:
        out.print("[bold green]Answer[/]")
        out.print(f"  {escape(sanitize(run.result))}", soft_wrap=True)
    else:
        out.print(f"[bold red]{run.status}[/]")
        out.print(f"  {escape(sanitize(run.result))}", soft_wrap=True)
        for line in explain_failure(started, run):
            out.print(f"  {escape(line)}", soft_wrap=True)
    if refund is not None:
        cost = format_amount(started.reserved - refund)
        out.print(f"Cost {cost}, given back {format_amount(refund)}")
    claimable = started.oracle.read("claimable", session.account.address)
    if claimable:
        out.print(
            f"{format_amount(claimable)} to claim: pyevm-agents oracle claim --oracle "
            f"{started.oracle.checksum_address}",
            soft_wrap=True,
        )


def explain_failure(started: StartedRun, run: FollowedRun) -> list[str]:
    """Return the executor's error of a refused run, decoded."""
    if run.status != "Refused":
        return []
    from pyevm_agents.agents.revert_reasons import decode_revert  # noqa: PLC0415 - slow to import

    output: bytes = started.oracle.read("answerOf", run.request_id)[1]
    return [sanitize(decode_revert(output))]


def _read_refund(started: StartedRun, run: FollowedRun) -> int | None:
    """Return what was left of a run's budget, in wei; None if it was not released."""
    logs = started.oracle.find_logs(
        "BudgetReleased", run.budget_id, first=started.transaction.block_number
    )
    return logs[-1].values[1] if logs else None


def serialize_run(started: StartedRun, run: FollowedRun, refund: int | None) -> dict[str, Any]:
    """Return a run in JSON. Amounts are decimal strings in wei."""
    return {
        "agent": started.agent.checksum_address,
        "oracle": started.oracle.checksum_address,
        "runId": run.run_id,
        "requestId": format_request(run.request_id),
        "transactionHash": "0x" + started.transaction.hash.hex(),
        "gasUsed": started.transaction.gas_used,
        "status": run.status,
        "isSuccess": run.is_success,
        "steps": [
            {
                "agentReasoning": reasoning,
                "toolResult": run.tool_results[index] if index < len(run.tool_results) else None,
            }
            for index, reasoning in enumerate(run.reasoning)
        ],
        "result": run.result,
        "hasSubscription": started.has_subscription,
        "reservedWei": str(started.reserved),
        "costWei": None if refund is None else str(started.reserved - refund),
        "refundWei": None if refund is None else str(refund),
    }

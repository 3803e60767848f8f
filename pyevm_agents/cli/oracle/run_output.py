"""Runs on the terminal: following one to the end, steps, result and cost."""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address
from rich.markup import escape

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.iteration_results import decode_iteration
from pyevm_agents.cli.errors import FAULT_STATUS, NOT_DONE_STATUS
from pyevm_agents.cli.options.types import format_request, format_time
from pyevm_agents.cli.output import StatusLine, err, is_live, out, print_json
from pyevm_agents.client.accounts import NodeAccount, RevertedError
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.display import format_amount, name_addresses, pluralize, sanitize
from pyevm_agents.errors import AgentsError
from pyevm_agents.oracle.agent_run import (
    find_awaited_tool,
    read_chain_time,
    read_names,
    read_refund,
    read_run,
)
from pyevm_agents.oracle.contracts import is_agent_v1, open_human_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.client.contract import RemoteContract
    from pyevm_agents.oracle.agent_run import FollowedRun, StartedRun

POLL_SECONDS = 0.5
HINT_SECONDS = 15.0
"""After so long without an answer a line says what is needed for one."""


def show_run(
    started: StartedRun,
    *,
    waits: bool,
    as_json: bool,
    effects: Mapping[str, Any] | None = None,
) -> None:
    """Print a run: the steps, and, after a wait, the end.

    Input:  effects: moves in the simulation, for the JSON.
    Raises: SystemExit: the run failed, or is not done. AgentsError: the deadline is over, and the
        run was not ended.
    """
    if not as_json:
        _print_start(started)
    run = read_run(started.agent, started.run_id)
    names = {} if as_json else read_names(started.agent)
    if waits:
        run = _follow(started, names, is_quiet=as_json)
    elif not as_json:
        _Progress(started, names, is_quiet=False).print_news(run)
        if not run.has_ended:
            _print_waiting(started, run)
    refund = read_refund(started, run)
    if as_json:
        print_json({**serialize_run(started, run, refund), **(effects or {})})
    elif run.has_ended:
        _print_end(started, run, refund, names)
    if run.has_ended and not run.is_success:
        raise SystemExit(NOT_DONE_STATUS if run.is_not_done else FAULT_STATUS)


def _follow(started: StartedRun, names: Mapping[str, str], *, is_quiet: bool) -> FollowedRun:
    """Wait for the end of a run, and print the events; return the run.

    Raises: AgentsError: the deadline is over, and the run was not ended.
    """
    try:
        return _wait_for_end(started, names, is_quiet=is_quiet)
    except KeyboardInterrupt:
        err.print(_name_follow_command(started), soft_wrap=True)
        raise


def _wait_for_end(started: StartedRun, names: Mapping[str, str], *, is_quiet: bool) -> FollowedRun:
    progress = _Progress(started, names, is_quiet=is_quiet)
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
    """The printed part of a run."""

    def __init__(self, started: StartedRun, names: Mapping[str, str], *, is_quiet: bool) -> None:
        self._started, self._names, self._is_quiet = started, names, is_quiet
        self._steps = self._results = 0
        self._awaited = ""
        self._since = monotonic()
        self._has_hint = False
        self._failed_request: int | None = None

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
        """Print the next step once, if no worker answers, or if the agent failed on the answer."""
        if run.status != "AskingModel" or self._print_failed_callback(run):
            return
        is_late = monotonic() - self._since > HINT_SECONDS
        if self._has_hint or not is_late:
            return
        self._has_hint = True
        err.print(
            f"Still waiting for a worker's answer to {format_request(run.request_id)}; is "
            "`pyevm-agents oracle run` running for oracle "
            f"{self._started.oracle.checksum_address}?",
            soft_wrap=True,
        )

    def _print_failed_callback(self, run: FollowedRun) -> bool:
        """Return whether the answer is there and the callback failed; print a failure once."""
        oracle = self._started.oracle
        outcome, _, _, is_delivered = oracle.read("answerOf", run.request_id)
        has_failed = outcome != 0 and not is_delivered
        if has_failed and self._failed_request != run.request_id:
            self._failed_request = run.request_id
            request = format_request(run.request_id)
            err.print(
                f"The answer to {request} is there, but the agent failed on it, most likely for "
                "too little callback gas; `pyevm-agents oracle retry "
                f"{request} --oracle {oracle.checksum_address}` calls it again with more",
                soft_wrap=True,
            )
        return bool(has_failed)

    def describe(self, run: FollowedRun) -> str:
        """Return the awaited event of the run, in a line."""
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
        self._print_line(f"  [dim]{name:<12}[/] {_format_text(text, self._names)}")

    def _print_line(self, markup: str) -> None:
        if not self._is_quiet:
            out.print(markup, soft_wrap=True)


def _name_wait(run: FollowedRun) -> str:
    return f"{len(run.reasoning)}"


def describe_awaited_tool(started: StartedRun, run: FollowedRun) -> list[str]:
    """Return lines about the tool that a run waits for; a person's question with how to answer."""
    awaited = find_awaited_tool(started.agent, run.run_id, started.block_number)
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

    Raises: AgentsError: the deadline is over.
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
    payer = " of its subscription" if started.payer is None else ""
    out.print(
        f"[bold]Run {started.run_id}[/] of {started.agent.checksum_address}: "
        f"{format_amount(started.reserved)}{payer} reserved",
        soft_wrap=True,
    )
    out.print(f"  [dim]{'prompt':<12}[/] {escape(sanitize(started.prompt))}", soft_wrap=True)
    out.print(f"  [dim]{'transaction':<12}[/] {started.transaction}", soft_wrap=True)


def _print_waiting(started: StartedRun, run: FollowedRun) -> None:
    if run.status == "AskingModel":
        text = f"Waits for a worker's answer to request {format_request(run.request_id)}."
        out.print(text, soft_wrap=True)
    out.print(_name_follow_command(started), soft_wrap=True)


def _name_follow_command(started: StartedRun) -> str:
    return (
        f"The run goes on: pyevm-agents oracle follow {started.agent.checksum_address} "
        f"{started.run_id}"
    )


def _print_end(
    started: StartedRun, run: FollowedRun, refund: int | None, names: Mapping[str, str]
) -> None:
    out.print(_format_title(run))
    for line in (run.result, *explain_failure(started, run)):
        out.print(f"  {_format_text(line, names)}", soft_wrap=True)
    if not run.is_success and run.tool_results:
        stands = pluralize(len(run.tool_results), "step")
        out.print(f"What its tools did before stands: {stands}, see above")
    if refund is not None:
        cost = format_amount(started.reserved - refund)
        out.print(f"Cost {cost}, given back {format_amount(refund)}")
    if started.payer is None:
        return
    claimable = started.oracle.read("claimable", started.payer)
    if claimable:
        name = to_checksum_address(started.payer)
        out.print(
            f"{name} has {format_amount(claimable)} to claim: pyevm-agents oracle claim --oracle "
            f"{started.oracle.checksum_address}",
            soft_wrap=True,
        )


def _format_title(run: FollowedRun) -> str:
    if run.is_not_done:
        return "[bold yellow]Not done[/]"
    return "[bold green]Answer[/]" if run.is_success else f"[bold red]{run.status}[/]"


def _format_text(text: str, names: Mapping[str, str]) -> str:
    """Return a text of the chain as markup on one line, with names of the addresses."""
    return escape(sanitize(name_addresses(text, names)))


def explain_failure(started: StartedRun, run: FollowedRun) -> list[str]:
    """Return why a run failed: the executor's error, or the tool's."""
    if run.status not in {"Refused", "ToolFailed"}:
        return []
    output: bytes = started.oracle.read("answerOf", run.request_id)[1]
    if run.status == "ToolFailed":
        return _explain_tool_failure(started, output)
    from pyevm_agents.abi.revert_reasons import decode_revert  # noqa: PLC0415 - slow to import

    return [decode_revert(output, started.known)]


def _explain_tool_failure(started: StartedRun, answer: bytes) -> list[str]:
    """Return why a tool reverts: the chain keeps no reasons, so the tool is called again.

    Input:  answer: the oracle's, which chose the tool.
    """
    agent = started.agent
    tool, call = _encode_tool_call(agent, answer)
    caller = NodeAccount(agent.client, Address(agent.address), known=started.known)
    try:
        caller.read(to_canonical_address(tool), call)
    except RevertedError as error:
        return [f"called again, it reverts: {error.reason}"]
    except RemoteError:
        return []
    return ["called again, it does not revert"]


def _encode_tool_call(agent: RemoteContract, answer: bytes) -> tuple[str, bytes]:
    """Return the tool that an answer chose, and the calldata of the agent's call."""
    if is_agent_v1(agent):
        chosen = decode_iteration(answer)
        artifact = load_artifact("IERCAgentToolV1")
        return chosen.tool, artifact.encode_call("run", (chosen.params,), agent.address)
    _, _, tool, tool_input, _ = load_artifact("IERCAgentExecutor").decode_result(
        "runNextIteration", answer
    )
    return tool, load_artifact("IERCAgentTool").encode_call("run", tool_input, agent.address)


def serialize_run(started: StartedRun, run: FollowedRun, refund: int | None) -> dict[str, Any]:
    """Return a run in JSON. Amounts are decimal strings in wei."""
    return {
        "agent": started.agent.checksum_address,
        "oracle": started.oracle.checksum_address,
        "runId": run.run_id,
        "requestId": format_request(run.request_id),
        "transactionHash": started.transaction,
        "prompt": started.prompt,
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
        "hasSubscription": started.payer is None,
        "reservedWei": str(started.reserved),
        "costWei": None if refund is None else str(started.reserved - refund),
        "refundWei": None if refund is None else str(refund),
    }

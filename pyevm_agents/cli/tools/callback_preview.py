"""A run of a CallbackAgent before sending: steps and effects, on a fork of this process."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyevm_agents.cache_folder import get_facts_folder
from pyevm_agents.cli.run_preview import read_preview
from pyevm_agents.cli.tools.inspect import SlowStatus
from pyevm_agents.cli.trace import TraceView, format_line
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.errors import ConfigError
from pyevm_agents.forking import open_fork
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.model_registry.registry import ModelChoice, open_registry
from pyevm_agents.oracle.callback_simulation import CallbackEstimator
from pyevm_agents.oracle.contracts import is_agent_v1
from pyevm_agents.oracle.recomputation import ModelOptions, RequestExecutor
from pyevm_agents.oracle.run_simulation import simulate_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from pyevm_agents.cli.options.sender import Sender
    from pyevm_agents.cli.run_preview import RunPreview
    from pyevm_agents.client.contract import RemoteContract
    from pyevm_agents.oracle.run_simulation import SimulatedRun

ANSWERED, NOT_DONE = "Answered", "NotDone"
UNDISTURBED = frozenset({ANSWERED, "AwaitingTool"})
"""Where a run is that did not fail: a fork has no results of asynchronous tools."""

EACH_STEP = "each step is a transaction of its own: what was done stands if a later one fails"


def simulate_callback_run(
    sender: Sender, agent: RemoteContract, instruction: str
) -> tuple[SimulatedRun, RunPreview]:
    """Execute a run on a fork of the sender's chain; return the run with moves of assets.

    Raises: AgentsError: the model is not on this machine, or the agent can't be simulated.
    """
    if is_agent_v1(agent):
        raise ConfigError(
            f"{agent.checksum_address}: a version-1 agent; only version 2 is simulated"
        )
    address = sender.account.address
    with ExitStack() as stack:
        status = stack.enter_context(SlowStatus())
        options = ModelOptions(
            choices=(_choose_model(agent.read("modelId")),),
            kept_facts=get_facts_folder(),
            progress=status.on_progress,
        )
        hosted = options.open(stack)
        block = open_fork(sender.url)
        stack.callback(block.close)
        estimator = stack.enter_context(closing(CallbackEstimator(block, RequestExecutor(hosted))))
        status.report("running the agent on a fork")
        run = simulate_run(estimator, agent.address, instruction, sender=address)
        symbol = get_chain_metadata(estimator.chain.config.chain_id).native_symbol
    # The sender's own ether is not that of the chain: a fork gives it some for gas.
    preview = read_preview(run.effects, sender="", native_symbol=symbol)
    return run, preview if run.status in UNDISTURBED else replace(preview, failure=run.status)


def _choose_model(model_id: str) -> ModelChoice:
    """Return the model of this machine that workers call by an ID.

    Raises: ConfigError: no such model.
    """
    if model_id in ALIASES:
        return ModelChoice()
    try:
        return open_registry().resolve(model_id)
    except ConfigError as error:
        raise ConfigError(f"model {model_id}: not on this machine; {error}") from error


def serialize_run_preview(run: SimulatedRun, preview: RunPreview) -> dict[str, Any]:
    """Return a simulated run in JSON."""
    return {
        "status": run.status,
        "answer": run.result if run.status == ANSWERED else None,
        "steps": [
            {"agentReasoning": reasoning, "toolResult": result}
            for reasoning, result in zip(run.reasoning, run.tool_results, strict=False)
        ],
        **preview.serialize(),
    }


def print_run_preview(run: SimulatedRun, preview: RunPreview, screen: Console) -> None:
    """Print the steps of a simulated run, and the moves of assets."""
    for line in (
        *_iter_lines(run, preview),
        *preview.iter_lines(),
        format_line("By callback", EACH_STEP),
    ):
        screen.print(line, soft_wrap=True)


def _iter_lines(run: SimulatedRun, preview: RunPreview) -> Iterator[str]:
    view = TraceView(names=preview.names, closest=None, shows_prompts=False)
    results = [*run.tool_results, *[None] * len(run.reasoning)]
    for reasoning, result in zip(run.reasoning, results, strict=False):
        _, action, arguments = [*reasoning.split("\n"), "", ""][:3]
        yield from view.iter_action_lines(
            {
                "tool": None,
                "action": action.removeprefix("Action: "),
                "input": arguments.removeprefix("Action Input: "),
                "observation": result,
            }
        )
    if run.status in {ANSWERED, NOT_DONE}:
        yield view.format_answer(run.result)
    else:
        text = f"{run.status} {view.format_text(run.result)}".rstrip()
        yield format_line("Ends as", text, "bold red")

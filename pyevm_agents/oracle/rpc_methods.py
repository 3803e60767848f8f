"""JSON-RPC methods of oracles, for a node with the executor.

`pyevm_agents.node` does not import this module.

build_node_service(node, tables=[METHODS])
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import keccak

from pyevm_agents.client.logs import parse_log
from pyevm_agents.oracle.callback_estimate import serialize_estimate
from pyevm_agents.oracle.callback_simulation import (
    CallbackEstimator,
    NotCallbackAgentError,
    UnestimableError,
)
from pyevm_agents.oracle.codec import decode_request, get_topic
from pyevm_agents.oracle.local_block import LocalBlock
from pyevm_agents.oracle.recomputation import HostedModels, RequestExecutor
from pyevm_agents.rpc.errors import INVALID_PARAMS, SERVER_ERROR, RpcError
from pyevm_agents.rpc.logs import find_logs, parse_log_criteria
from pyevm_agents.rpc.method_table import MethodTable
from pyevm_agents.rpc.params import (
    invalid_param_error,
    parse_address,
    parse_object,
    parse_quantity,
    parse_text,
)

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.oracle.callback_estimate import CallbackEstimate
    from pyevm_agents.oracle.messages import AgentRequest, ComputedAnswer
    from pyevm_agents.rpc.context import RequestContext

METHODS = MethodTable()

WANTED = 'must be {"agent": …, "prompt": …, "from": …}, or {"requestId": …}'


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedRun:
    """A run to estimate: an agent and a prompt, or a request that waits for an answer."""

    agent: Address | None = None
    prompt: str = ""
    sender: Address | None = None
    """Who asks; None for the agent's owner."""

    request_id: int | None = None


def parse_run(value: object, name: str) -> EstimatedRun:
    """Parse a run.

    Raises: RpcError: not a run.
    """
    form = parse_object(value, name)
    if form.keys() == {"requestId"}:
        return EstimatedRun(request_id=parse_quantity(form["requestId"], f"{name}.requestId"))
    if not {"agent", "prompt"} <= form.keys() <= {"agent", "prompt", "from"}:
        raise invalid_param_error(name, dict(form), WANTED)
    sender = form.get("from")
    return EstimatedRun(
        agent=parse_address(form["agent"], f"{name}.agent"),
        prompt=parse_text(form["prompt"], f"{name}.prompt"),
        sender=None if sender is None else parse_address(sender, f"{name}.from"),
    )


@METHODS.method("agent_estimateCallback", parse_run)
def estimate_callback(rpc: RequestContext, run: EstimatedRun) -> dict[str, object]:
    """Return callback gas, fee and answer of each step of a run by an oracle, before the start."""
    chain = rpc.node.chain
    if not chain.config.models:
        raise RpcError(
            SERVER_ERROR,
            "this node has no model to answer with: use `pyevm-agents estimate --callback`",
        )
    executor = RequestExecutor(HostedModels.of_chain(chain))
    block = LocalBlock.from_header(chain, chain.head)
    try:
        with closing(
            CallbackEstimator(
                block,
                executor,
                hardfork=chain.config.fork,
                interruption=rpc.watch_execution(),
            )
        ) as estimator:
            return serialize_estimate(_estimate(rpc, run, estimator, executor))
    except (NotCallbackAgentError, UnestimableError) as error:
        raise RpcError(SERVER_ERROR, str(error)) from error


def _estimate(
    rpc: RequestContext, run: EstimatedRun, estimator: CallbackEstimator, executor: RequestExecutor
) -> CallbackEstimate:
    if run.agent is not None:
        return estimator.estimate_run(run.agent, run.prompt, sender=run.sender)
    request = _find_request(rpc, run.request_id or 0)
    return estimator.estimate_request(request, _compute(rpc, request, executor))


def _find_request(rpc: RequestContext, request_id: int) -> AgentRequest:
    topics = ["0x" + get_topic("AgentRequested").hex(), f"0x{request_id:064x}"]
    query = {"fromBlock": "earliest", "toBlock": "latest", "topics": topics}
    for log in find_logs(rpc.node, parse_log_criteria(query, "filter")):
        request = decode_request(parse_log(log))
        if keccak(request.arguments) == request.commitment.arguments_hash:
            return request
    raise RpcError(INVALID_PARAMS, f"request {topics[1]}: this chain has no event of it")


def _compute(
    rpc: RequestContext, request: AgentRequest, executor: RequestExecutor
) -> ComputedAnswer:
    """Return the answer to a request of this chain, on the state after the request's block."""
    own = rpc.node.chain
    header = own.header(request.commitment.block_number)
    block = LocalBlock.from_header(own, header)
    with closing(executor.open_fork(block, hardfork=own.config.fork)) as chain:
        return executor.execute(chain, request, chain.head, rpc.watch_execution())

"""`agent_subscribe`: notifications of agents' steps during a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from pyevm_agents.agents.events import Purpose
from pyevm_agents.rpc.agent_subscriptions import StepCriteria
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    invalid_param_error,
    parse_address,
    parse_boolean,
    parse_hash32,
    parse_list,
    parse_object,
    parse_text,
)

if TYPE_CHECKING:
    from pyevm_agents.rpc.context import RequestContext

METHODS = MethodTable()

KINDS = ("steps",)
SOURCES: dict[str, Purpose] = {purpose: purpose for purpose in get_args(Purpose)}


def parse_step_criteria(value: object, name: str) -> StepCriteria:
    """Parse the filter of a step subscription."""
    form = parse_object(value, name)
    unknown = set(form) - {"transactionHash", "agent", "sources", "progress"}
    if unknown:
        raise invalid_param_error(name, dict(form), f"unknown field: {', '.join(sorted(unknown))}")
    tx_hash, agent = form.get("transactionHash"), form.get("agent")
    sources, progress = form.get("sources"), form.get("progress")
    return StepCriteria(
        transaction_hash=None
        if tx_hash is None
        else parse_hash32(tx_hash, f"{name}.transactionHash"),
        agent=None if agent is None else parse_address(agent, f"{name}.agent"),
        purposes=None if sources is None else _parse_purposes(sources, f"{name}.sources"),
        has_progress=progress is None or parse_boolean(progress, f"{name}.progress"),
    )


def _parse_purposes(value: object, name: str) -> frozenset[Purpose]:
    purposes = set()
    for index, source in enumerate(parse_list(value, name)):
        if source not in SOURCES:
            raise invalid_param_error(
                f"{name}[{index}]", source, f"must be one of {', '.join(SOURCES)}"
            )
        purposes.add(SOURCES[str(source)])
    return frozenset(purposes)


@METHODS.method(
    "agent_subscribe", parse_text, optional(parse_step_criteria, StepCriteria()), is_quick=True
)
def subscribe(rpc: RequestContext, kind: str, criteria: StepCriteria) -> str:
    """Subscribe to agents' steps; return the subscription id."""
    if kind not in KINDS:
        raise RpcError(INVALID_PARAMS, f"subscription {kind!r}: must be {', '.join(KINDS)}")
    if rpc.session is None:
        raise RpcError(INVALID_PARAMS, "notifications not supported: connect by WebSocket")
    return rpc.events.steps.subscribe(rpc.session, criteria)


@METHODS.method("agent_unsubscribe", parse_text, is_quick=True)
def unsubscribe(rpc: RequestContext, subscription_id: str) -> bool:
    """Cancel a step subscription; return whether found."""
    return rpc.session is not None and rpc.events.steps.unsubscribe(subscription_id, rpc.session)

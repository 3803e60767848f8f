"""`agent_subscribe`: to be told of agents' steps while they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from pyevm_agents.agents.events import Purpose
from pyevm_agents.rpc.agent_subscriptions import StepCriteria
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.params import address, boolean, hash32, invalid, listed, mapping, text

if TYPE_CHECKING:
    from pyevm_agents.rpc.context import Rpc

METHODS = Table()

KINDS = ("steps",)
SOURCES: dict[str, Purpose] = {purpose: purpose for purpose in get_args(Purpose)}


def step_criteria(value: object, name: str) -> StepCriteria:
    """Read which steps are wanted."""
    form = mapping(value, name)
    unknown = set(form) - {"transactionHash", "agent", "sources", "progress"}
    if unknown:
        raise invalid(name, dict(form), f"no such field: {', '.join(sorted(unknown))}")
    told_hash, told_agent = form.get("transactionHash"), form.get("agent")
    sources, progress = form.get("sources"), form.get("progress")
    return StepCriteria(
        transaction_hash=None
        if told_hash is None
        else hash32(told_hash, f"{name}.transactionHash"),
        agent=None if told_agent is None else address(told_agent, f"{name}.agent"),
        purposes=None if sources is None else _purposes(sources, f"{name}.sources"),
        has_progress=progress is None or boolean(progress, f"{name}.progress"),
    )


def _purposes(value: object, name: str) -> frozenset[Purpose]:
    purposes = set()
    for index, one in enumerate(listed(value, name)):
        if one not in SOURCES:
            raise invalid(f"{name}[{index}]", one, f"want one of {', '.join(SOURCES)}")
        purposes.add(SOURCES[str(one)])
    return frozenset(purposes)


@METHODS.method("agent_subscribe", text, optional(step_criteria, StepCriteria()), is_quick=True)
def subscribe(rpc: Rpc, kind: str, criteria: StepCriteria) -> str:
    """Be told of agents' steps as they happen; return the subscription's id."""
    if kind not in KINDS:
        raise RpcError(INVALID_PARAMS, f"no subscription {kind!r}; there is {', '.join(KINDS)}")
    if rpc.session is None:
        raise RpcError(INVALID_PARAMS, "notifications not supported: connect by WebSocket")
    return rpc.events.steps.subscribe(rpc.session, criteria)


@METHODS.method("agent_unsubscribe", text, is_quick=True)
def unsubscribe(rpc: Rpc, subscription_id: str) -> bool:
    """Be told no more of steps; return whether there was such a subscription."""
    return rpc.session is not None and rpc.events.steps.unsubscribe(subscription_id, rpc.session)

"""Effects of a dry run's writes, as an operator reads them before the signature.

Each write is simulated on the present state, after the writes before it: of a run with a treasury,
as a call by the treasury. An execution with other effects has another digest, and is not mined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eth_typing import Address
from eth_utils import to_checksum_address

from pyevm_agents.agents.asset_moves import list_balances
from pyevm_agents.agents.trace import trace_agents
from pyevm_agents.chain import Call
from pyevm_agents.control.results import WriteEffects
from pyevm_agents.lifecycle.local_chain import build_settings
from pyevm_agents.node import Node
from pyevm_agents.node.state_view import StateView
from pyevm_agents.rpc.call_sequence import CallSequence
from pyevm_agents.rpc.context import RequestContext
from pyevm_agents.rpc.filters import EventSystem
from pyevm_agents.rpc.methods.agent_calls import EffectTracer, review_effects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.chain import Chain
    from pyevm_agents.lifecycle.orchestrator import PlannedWrite
    from pyevm_agents.lifecycle.run_block import BlockPin


def trace_writes(
    chain: Chain, pin: BlockPin, writes: Sequence[PlannedWrite]
) -> tuple[WriteEffects, ...]:
    """Return the effects that writes would have now, in their order.

    Input: the chain; the values of the dry run's block; the writes.
    Raises: EngineFault: the host failed.
    """
    node = Node(chain, now=lambda: 0.0)  # It mines nothing.
    head = chain.head
    settings = build_settings(replace(pin, timestamp=max(pin.timestamp, head.timestamp + 1)))
    at = StateView(chain, chain.build_next_header(settings, parent=head))
    rpc = RequestContext(node=node, events=EventSystem(node))
    with rpc.resources:
        simulation = _Simulation(rpc=rpc, at=at, sequence=CallSequence(at))
        return tuple(map(simulation.trace, writes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Simulation:
    """Writes on one state, each after the one before."""

    rpc: RequestContext
    at: StateView
    sequence: CallSequence

    def trace(self, planned: PlannedWrite) -> WriteEffects:
        write, caller = planned.write, to_checksum_address(planned.caller)
        form = NOTHING if planned.is_skipped else self._simulate(planned)
        return WriteEffects.model_validate(
            {
                **form,
                "step_id": write.step_id,
                "number": write.number,
                "caller": caller,
                "target": write.target,
                "value_wei": write.value_wei,
                "data": write.data,
                "is_skipped": planned.is_skipped,
            }
        )

    def _simulate(self, planned: PlannedWrite) -> dict[str, Any]:
        write = planned.write
        tracer, before = EffectTracer(self.rpc.open_trace_budget()), self.sequence.accounts
        call = Call(
            to=Address(write.target),
            sender=Address(planned.caller),
            data=write.data,
            value_wei=write.value_wei,
        )
        result = self.sequence.call(self.rpc.limit_call(call, self.at), tracer=tracer)
        models = self.rpc.node.chain.models
        steps = trace_agents(result.computation, result.gas_used, models).steps
        effects = review_effects(self.rpc, self.at, tracer, steps, before)
        accounts = {*effects["accounts"], to_checksum_address(planned.caller)}
        top = effects["call"]
        return {
            **effects,
            **{name: top[name] for name in ("contract", "function", "arguments")},
            "failure": top["reason"],
            "balances": [*list_balances(effects["changes"], accounts)],
        }


NOTHING: dict[str, Any] = {
    **dict.fromkeys(("contract", "function", "arguments", "failure", "request", "differences")),
    **dict.fromkeys(("transfers", "approvals", "balances"), ()),
    "names": {},
}
"""Of a write that an earlier run of the task made."""

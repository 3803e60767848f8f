"""Tracers: what happened in a transaction, opcode by opcode or call by call, in geth's spelling.

tracer = tracer_from({"tracer": "callTracer"})
vm_class = traced_vm(agent_vm(executor), tracer)
... execute one transaction with a VM of that class ...
tracer.result()

vm.py            the traced VM class
recorder.py      what py-evm does, as the events that geth would tell
gas.py           a gas meter that remembers
events.py        those events, and what a tracer is
opcodes.py       names of opcodes and what they take
failures.py      why a call failed, in geth's words
touches.py       which accounts and slots an opcode touches
touched_state.py what they were before and are after
struct_logs.py   call_frames.py   flat_calls.py   prestate.py   selectors.py
access_list.py   mux.py           state_difference.py           vm_trace.py
                 the tracers
options.py       table.py         tracers by name, with the options of a request
"""

from __future__ import annotations

from pyevm_agents.tracing.access_list import AccessListTracer
from pyevm_agents.tracing.call_frames import CallTree
from pyevm_agents.tracing.events import NoopTracer, Tracer
from pyevm_agents.tracing.flat_calls import PARITY, FlatCallTracer, Place
from pyevm_agents.tracing.mux import MuxTracer
from pyevm_agents.tracing.state_difference import StateDifferenceTracer
from pyevm_agents.tracing.table import tracer_from
from pyevm_agents.tracing.touched_state import TouchedState
from pyevm_agents.tracing.vm import selectively_traced_vm, traced_vm
from pyevm_agents.tracing.vm_trace import VmTracer

__all__ = [
    "PARITY",
    "AccessListTracer",
    "CallTree",
    "FlatCallTracer",
    "MuxTracer",
    "NoopTracer",
    "Place",
    "StateDifferenceTracer",
    "TouchedState",
    "Tracer",
    "VmTracer",
    "selectively_traced_vm",
    "traced_vm",
    "tracer_from",
]

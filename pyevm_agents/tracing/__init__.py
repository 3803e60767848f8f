"""Tracers: what happened in a transaction, opcode by opcode or call by call, in geth's spelling.

tracer = tracer_from({"tracer": "callTracer"})
vm_class = traced_vm(agent_vm(executor), tracer)
... execute one transaction with a VM of that class ...
tracer.result()

vm.py            the traced VM class
dispatch.py      what py-evm does, as the events that geth would tell
gas.py           a gas meter that remembers
tracer.py        those events, and what a tracer is
opcodes.py       names of opcodes and what they take
error_messages.py      why a call failed, in geth's words
touches.py       which accounts and slots an opcode touches
touched_state.py what they were before and are after
struct_log_tracer.py   call_tracer.py    flat_call_tracer.py    prestate_tracer.py
four_byte_tracer.py    mux_tracer.py     state_diff_tracer.py   vm_trace_tracer.py
access_list_tracer.py
                 the tracers
options.py       registry.py         tracers by name, with the options of a request
"""

from __future__ import annotations

from pyevm_agents.tracing.access_list_tracer import AccessListTracer
from pyevm_agents.tracing.call_tracer import CallTree
from pyevm_agents.tracing.flat_call_tracer import PARITY, FlatCallTracer, TransactionLocation
from pyevm_agents.tracing.mux_tracer import MuxTracer
from pyevm_agents.tracing.registry import create_tracer
from pyevm_agents.tracing.state_diff_tracer import StateDiffTracer
from pyevm_agents.tracing.touched_state import TouchedStateTracer
from pyevm_agents.tracing.tracer import NoopTracer, Tracer
from pyevm_agents.tracing.vm import make_selectively_traced_vm, make_traced_vm
from pyevm_agents.tracing.vm_trace_tracer import VmTracer

__all__ = [
    "PARITY",
    "AccessListTracer",
    "CallTree",
    "FlatCallTracer",
    "MuxTracer",
    "NoopTracer",
    "StateDiffTracer",
    "TouchedStateTracer",
    "Tracer",
    "TransactionLocation",
    "VmTracer",
    "create_tracer",
    "make_selectively_traced_vm",
    "make_traced_vm",
]

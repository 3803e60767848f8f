"""Tracers of transactions by opcode or by call, compatible with geth's.

tracer = create_tracer({"tracer": "callTracer"})
vm_class = make_traced_vm(build_vm_class(executor), tracer)
... execute one transaction with a VM of that class ...
tracer.result()

vm.py               the traced VM class
dispatch.py         dispatcher from py-evm's execution to geth's tracer events
tracer.py           those events, and the protocol of a tracer
registry.py         tracers by name; options.py: the options of a request
budget.py           the bounds of a request's traces, and of all traces
*_tracer.py         the tracers, a file each
call_tree_text.py   the tree of calls as text, with names
frames.py           call frames; touches.py: accounts and slots that an opcode touches
touched_state.py    the values of those before and after
gas.py              a gas meter that records charges, and why gas does not suffice
opcodes.py          names of opcodes and their stack heights
error_messages.py   geth's messages for failed calls
console_log.py      `console.log` of Hardhat and forge
witness.py          the state that a block reads
"""

from __future__ import annotations

from pyevm_agents.tracing.access_list_tracer import AccessListTracer
from pyevm_agents.tracing.budget import TraceBudget, TracePool, TraceTooLargeError
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
    "TraceBudget",
    "TracePool",
    "TraceTooLargeError",
    "Tracer",
    "TransactionLocation",
    "VmTracer",
    "create_tracer",
    "make_selectively_traced_vm",
    "make_traced_vm",
]

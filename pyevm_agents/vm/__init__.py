"""py-evm's Cancun and Prague with the executor precompile, as class attributes.

Nothing in py-evm is patched or copied: a fork is a subclass whose attributes are the difference.
These are the only subclasses of py-evm's VM classes.

* watched_state: what is told of a state, and what a call that is only tried is shown
* code: where jumps may lead
* computation: what a call of the EVM remembers
* transactions: which transactions are valid, and what they cost
* blocks: states, VMs
* forks: what sets one apart outside of its VM
* chains: the classes of one chain

Source: architecture, decisions 1 and 2.
"""

from pyevm_agents.vm.computation import (
    AgentComputation,
    RecordingObserver,
    hash_prompt,
)
from pyevm_agents.vm.configure import (
    AgentMiningChain,
    build_chain_class,
    build_foreign_chain_class,
    build_vm_class,
)
from pyevm_agents.vm.forks import CANCUN, FORKS, PRAGUE, Fork
from pyevm_agents.vm.state import ExecutionListener, NestedCallError
from pyevm_agents.vm.transaction_executor import AgentTransactionExecutor, floor_gas
from pyevm_agents.vm.vm import AgentState, AgentVM, PragueAgentVM, WatchedVM

__all__ = [
    "CANCUN",
    "FORKS",
    "PRAGUE",
    "AgentComputation",
    "AgentMiningChain",
    "AgentState",
    "AgentTransactionExecutor",
    "AgentVM",
    "ExecutionListener",
    "Fork",
    "NestedCallError",
    "PragueAgentVM",
    "RecordingObserver",
    "WatchedVM",
    "build_chain_class",
    "build_foreign_chain_class",
    "build_vm_class",
    "floor_gas",
    "hash_prompt",
]

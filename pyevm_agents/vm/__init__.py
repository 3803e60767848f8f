"""py-evm's Cancun and Prague, and our Osaka, with the executor precompile, as class attributes.

Nothing in py-evm is patched or copied: a fork is a subclass whose attributes are the difference.
These are the only subclasses of py-evm's VM classes.

* vm.py: the VM and state classes of the forks
* state.py: a state that notifies a listener of transactions and calls
* computation.py: a call of the EVM, with the generation and inference of the executor
* interruption.py: the end of a simulated call by another thread
* transaction_executor.py: validity, cost and execution of transactions
* headers.py: blocks and headers; forks.py: parameters of the forks; blobs.py: of their blobs
* fork_block.py: the block of a remote chain that a chain continues
* configure.py: the VM and chain classes of one chain
* opcodes.py, fast_opcodes.py, jump_destinations.py: opcodes and bytecode
* metadata_cache.py: cached reads of tool metadata
* stack_depth.py: Python's stack
* modexp.py, bn254.py, kzg.py, bls12_381.py, p256.py: precompiles

Source: docs/architecture.md#fork-is-a-class, #executor-address.
"""

from pyevm_agents.vm.computation import (
    AgentComputation,
    CodeTooLargeError,
    RecordingObserver,
    hash_prompt,
)
from pyevm_agents.vm.configure import (
    AgentMiningChain,
    build_chain_class,
    build_foreign_chain_class,
    build_vm_class,
)
from pyevm_agents.vm.fork_block import ForkBlock
from pyevm_agents.vm.forks import CANCUN, FORKS, PRAGUE, Fork
from pyevm_agents.vm.interruption import InterruptedExecutionError, Interruption
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
    "CodeTooLargeError",
    "ExecutionListener",
    "Fork",
    "ForkBlock",
    "InterruptedExecutionError",
    "Interruption",
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

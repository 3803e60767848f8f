"""py-evm's Cancun and Prague, and our Osaka, with the executor precompile, as class attributes.

Nothing in py-evm is patched or copied: a fork is a subclass whose attributes are the difference.
These are the only subclasses of py-evm's VM classes.

* vm.py: the VM and state classes of the forks
* state.py: a state that notifies a listener of transactions and calls
* computation.py: a call of the EVM, with the generation and inference of the executor
* interruption.py: the end of a simulated call by another thread
* transaction_rules.py: validity of transactions; rule_error.py: what breaks a rule
* transaction_executor.py: execution and cost of transactions
* balances.py: transfers beyond the highest balance; authorizations.py: delegations (EIP-7702)
* block_requests.py: requests to the consensus layer, and system contracts that fail
* headers.py: blocks and headers; header_bounds.py: bounds of their integers
* forks.py: parameters of the forks; blobs.py: of their blobs
* fork_block.py: the block of a remote chain that a chain continues
* configure.py: the VM and chain classes of one chain
* interpreter.py: the loop that executes the frequent opcodes; opcodes.py: all opcodes
* agent_code.py, jump_destinations.py: bytecode
* metadata_cache.py: cached reads of tool metadata
* stack_depth.py: Python's stack
* modexp.py, bn254.py, kzg.py, bls12_381.py, p256.py: precompiles

Source: docs/architecture.md#fork-is-a-class, #executor-address.
"""

from pyevm_agents.vm.balances import BalanceOverflowError
from pyevm_agents.vm.block_requests import BlockRefusal, InvalidBlockError
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
    change_fork,
    replace_precompiles,
)
from pyevm_agents.vm.fork_block import ForkBlock
from pyevm_agents.vm.forks import CANCUN, FORKS, PRAGUE, Fork
from pyevm_agents.vm.header_bounds import find_oversized_quantity
from pyevm_agents.vm.interruption import InterruptedExecutionError, Interruption
from pyevm_agents.vm.rule_error import RuleError
from pyevm_agents.vm.state import ExecutionListener, NestedCallError
from pyevm_agents.vm.transaction_executor import AgentTransactionExecutor
from pyevm_agents.vm.transaction_rules import (
    BLOB_VERSION,
    CANCUN_RULES,
    MAX_NONCE,
    InvalidTransactionError,
    TransactionRefusal,
    TransactionRules,
    TransactionTerms,
    calculate_max_cost_wei,
    describe_low_nonce,
    floor_gas,
    intrinsic_gas,
    is_impersonated,
    require_valid,
)
from pyevm_agents.vm.vm import AgentState, AgentVM, PragueAgentVM, WatchedVM

__all__ = [
    "BLOB_VERSION",
    "CANCUN",
    "CANCUN_RULES",
    "FORKS",
    "MAX_NONCE",
    "PRAGUE",
    "AgentComputation",
    "AgentMiningChain",
    "AgentState",
    "AgentTransactionExecutor",
    "AgentVM",
    "BalanceOverflowError",
    "BlockRefusal",
    "CodeTooLargeError",
    "ExecutionListener",
    "Fork",
    "ForkBlock",
    "InterruptedExecutionError",
    "Interruption",
    "InvalidBlockError",
    "InvalidTransactionError",
    "NestedCallError",
    "PragueAgentVM",
    "RecordingObserver",
    "RuleError",
    "TransactionRefusal",
    "TransactionRules",
    "TransactionTerms",
    "WatchedVM",
    "build_chain_class",
    "build_foreign_chain_class",
    "build_vm_class",
    "calculate_max_cost_wei",
    "change_fork",
    "describe_low_nonce",
    "find_oversized_quantity",
    "floor_gas",
    "hash_prompt",
    "intrinsic_gas",
    "is_impersonated",
    "replace_precompiles",
    "require_valid",
]

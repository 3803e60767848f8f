"""VM and chain classes of one chain, with precompiles, state cache and listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from eth.chains.base import MiningChain
from eth.consensus.noproof import NoProofConsensus
from eth.vm.forks.spurious_dragon.constants import EIP170_CODE_SIZE_LIMIT
from eth_typing import BlockNumber
from eth_utils.toolz import merge

from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.state import OverlayAccountDB, OverlayCache, StateAccountDB, StateCache
from pyevm_agents.vm.block_requests import RequestsVM
from pyevm_agents.vm.forks import PRAGUE
from pyevm_agents.vm.vm import AgentState, WatchedVM

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eth.abc import ComputationAPI
    from eth.vm.forks.frontier import FrontierVM
    from eth_typing import Address

    from precompiles.executor import Executor
    from precompiles.numeric_executor import NumericExecutor
    from pyevm_agents.vm.fork_block import ForkBlock
    from pyevm_agents.vm.forks import Fork
    from pyevm_agents.vm.state import ExecutionListener
    from pyevm_agents.vm.vm import AgentVM


class AgentMiningChain(MiningChain):
    """A chain whose VMs are `WatchedVM`s."""


def build_chain_class(  # noqa: PLR0913 - keyword arguments
    executor: Executor | None,
    chain_id: int,
    listener: ExecutionListener | None = None,
    *,
    numeric: NumericExecutor | None = None,
    fork: Fork = PRAGUE,
    code_size_bytes: int = EIP170_CODE_SIZE_LIMIT,
    fork_block: ForkBlock | None = None,
    cache: StateCache | None = None,
) -> type[AgentMiningChain]:
    """Return the chain class for a chain ID.

    Input:
        executor: the precompile at 0x19; None for a chain without it.
        chain_id: for replay protection.
        listener: notified of transactions and calls.
        numeric: the precompile at 0x1a; None for a chain without it.
        fork: the rules of all blocks.
        code_size_bytes: upper bound of a contract's code.
        fork_block: the block of a remote chain that the chain continues, if any.
        cache: the state cache; None for a new one.
    """
    vm_class = build_vm_class(
        executor,
        listener,
        numeric=numeric,
        fork=fork,
        code_size_bytes=code_size_bytes,
        fork_block=fork_block,
        cache=cache,
    )
    configuration = ((BlockNumber(0), vm_class),)
    return AgentMiningChain.configure(
        __name__="AgentMiningChain", vm_configuration=configuration, chain_id=chain_id
    )


def build_foreign_chain_class(
    forks: Sequence[tuple[int, type[FrontierVM]]], chain_id: int
) -> type[AgentMiningChain]:
    """Return the chain class for imported blocks.

    Input:
        forks: (first block number, py-evm's VM class).
        chain_id: for replay protection.
    """
    configuration = tuple(
        (BlockNumber(number), _build_watched_vm_class(vm_class)) for number, vm_class in forks
    )
    return AgentMiningChain.configure(
        __name__="ForeignChain", vm_configuration=configuration, chain_id=chain_id
    )


def _build_watched_vm_class(vm_class: type[FrontierVM]) -> type[FrontierVM]:
    if issubclass(vm_class, RequestsVM):
        vm_class = vm_class.configure(needs_request_contracts=True)
    if issubclass(vm_class, WatchedVM):
        return vm_class
    return type(
        f"Watched{vm_class.__name__}", (WatchedVM, vm_class), {"consensus_class": NoProofConsensus}
    )


def build_vm_class(  # noqa: PLR0913 - keyword arguments
    executor: Executor | None,
    listener: ExecutionListener | None = None,
    *,
    numeric: NumericExecutor | None = None,
    fork: Fork = PRAGUE,
    code_size_bytes: int = EIP170_CODE_SIZE_LIMIT,
    fork_block: ForkBlock | None = None,
    cache: StateCache | None = None,
) -> type[AgentVM]:
    """Return the VM class of a chain, with `executor` at 0x19 and `numeric` at 0x1a, if not None.

    The precompiles are set on the class: EIP-2929 warmth is looked up there, not on instances.
    Source: docs/architecture.md#fork-is-a-class.
    """
    plain_state = fork.vm_class.get_state_class()
    computation_class: Any = plain_state.computation_class
    added: dict[Address, Callable[[ComputationAPI], ComputationAPI]] = {}
    if executor is not None:
        added[EXECUTOR_ADDRESS] = executor
    if numeric is not None:
        added[NUMERIC_MODELS_ADDRESS] = numeric
    if added:
        computation_class = computation_class.configure(
            __name__="AgentComputation",
            _precompiles=merge(computation_class.get_precompiles(), added),
        )
    if code_size_bytes != computation_class.code_size_bytes:
        computation_class = computation_class.configure(
            __name__="AgentComputation", code_size_bytes=code_size_bytes
        )
    state_class = plain_state.configure(
        __name__="AgentState",
        account_db_class=_build_account_db_class(fork_block, cache),
        computation_class=computation_class,
        listener=listener,
        fork_block=fork_block,
    )
    return fork.vm_class.configure(
        __name__="AgentVM", _state_class=state_class, fork_block=fork_block
    )


def change_fork(vm_class: type[AgentVM], fork: Fork) -> type[AgentVM]:
    """Return the VM class of another fork with a chain's own precompiles and database."""
    own: Any = vm_class._state_class  # noqa: SLF001 - as py-evm's `configure` does
    plain_state: Any = fork.vm_class.get_state_class()
    plain: Any = plain_state.computation_class
    added = {
        address: precompile
        for address, precompile in own.computation_class.get_precompiles().items()
        if address in {EXECUTOR_ADDRESS, NUMERIC_MODELS_ADDRESS}
    }
    state_class = plain_state.configure(
        __name__="AgentState",
        account_db_class=own.account_db_class,
        computation_class=plain.configure(
            __name__="AgentComputation",
            _precompiles=merge(plain.get_precompiles(), added),
            code_size_bytes=own.computation_class.code_size_bytes,
        ),
        listener=own.listener,
        fork_block=own.fork_block,
    )
    return fork.vm_class.configure(
        __name__="AgentVM", _state_class=state_class, fork_block=vm_class.fork_block
    )


class _MovedPrecompilesState(AgentState):
    """A state with moved precompiles. Their addresses in the fork stay warm (EIP-2929)."""

    warm: ClassVar[frozenset[Address]]

    def is_address_warm(self, address: Address) -> bool:
        return self._account_db.is_address_warm(address) or address in self.warm


def replace_precompiles(
    vm_class: type[AgentVM], precompiles: Mapping[Address, Callable[[ComputationAPI], Any]]
) -> type[AgentVM]:
    """Return a VM class with other precompiles, for calls that override accounts."""
    plain_state: Any = vm_class._state_class  # noqa: SLF001 - as py-evm's `configure` does
    plain: Any = plain_state.computation_class
    state_class = type(
        "MovedPrecompilesState",
        (_MovedPrecompilesState, plain_state),
        {
            "computation_class": plain.configure(
                __name__=plain.__name__, _precompiles=dict(precompiles), remembers_reads=False
            ),
            "warm": frozenset(plain.get_precompiles()),
        },
    )
    return vm_class.configure(__name__=vm_class.__name__, _state_class=state_class)


def _build_account_db_class(
    fork_block: ForkBlock | None, cache: StateCache | None
) -> type[StateAccountDB]:
    """Return the class of a chain's accounts, with the chain's state cache."""
    if fork_block is None:
        return type("AccountDB", (StateAccountDB,), {"cache": cache or StateCache()})
    members = {"cache": cache or OverlayCache(), "remote": fork_block.state}
    return type("ForkAccountDB", (OverlayAccountDB,), members)

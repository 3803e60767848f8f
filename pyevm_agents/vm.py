"""AgentVM: py-evm's Prague with the executor precompile, as class attributes.

Nothing in py-evm is patched or copied: a fork is a subclass whose attributes are the difference.
These are the only subclasses of py-evm's VM classes.

Source: architecture, decisions 1 and 2.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from eth.chains.base import MiningChain
from eth.consensus.noproof import NoProofConsensus
from eth.vm.forks.frontier import FrontierVM
from eth.vm.forks.prague import PragueVM
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.forks.prague.state import PragueState, PragueTransactionExecutor
from eth.vm.forks.spurious_dragon.state import SpuriousDragonTransactionExecutor
from eth_typing import BlockNumber
from eth_utils import ValidationError
from eth_utils.toolz import merge

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.block_class import AgentBlock, header_after
from pyevm_agents.deep_calls import at_depth, touched_accounts, with_calls
from pyevm_agents.kzg import POINT_EVALUATION_ADDRESS, point_evaluation
from pyevm_agents.messages import evm_message
from pyevm_agents.opcodes import PRAGUE_OPCODES
from pyevm_agents.state import StateAccountDB, StateCache, list_root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import (
        BlockAPI,
        BlockHeaderAPI,
        ComputationAPI,
        MessageAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        TransactionContextAPI,
        TransactionFieldsAPI,
        WithdrawalAPI,
    )
    from eth_typing import Address

    from precompiles.executor import Executor, Inference

    Watch = Callable[[SignedTransactionAPI, ReceiptAPI, ComputationAPI], None]


MAX_INITCODE_BYTES = 49_152
"""Source: EIP-3860."""


class RunWatcher(Protocol):
    """Who is told how transactions and calls proceed, in the thread that executes them."""

    def transaction_begins(self, transaction: SignedTransactionAPI) -> None:
        """Take note that a transaction, or a call in the form of one, begins."""

    def call_returned(self, caller: ComputationAPI, call: ComputationAPI) -> None:
        """Take note that a contract's call has returned to it."""

    def transaction_ended(self, computation: ComputationAPI) -> None:
        """Take note of how it ended."""


class AgentComputation(PragueComputation):
    """A computation that remembers what the executor did in it, and reads KZG's setup once."""

    _precompiles = merge(
        PragueComputation.get_precompiles(), {POINT_EVALUATION_ADDRESS: point_evaluation}
    )

    opcodes = PRAGUE_OPCODES

    saw_gas: bool = False
    """Whether it executed GAS."""

    least_gas_at_store: int | None = None
    """The least gas that was left when a SSTORE of its own began; None where none did."""

    inference: Inference | None = None
    """Set on a call of the executor that ran to its end."""

    @property
    def is_origin_computation(self) -> bool:
        """Whether it is the transaction's own, which pays for its initcode (EIP-3860).

        py-evm asks whether its sender is the transaction's: so is that of a contract which the
        sender's delegated code creates (EIP-7702), and it would pay twice.
        """
        return bool(self.msg.depth == 0)

    def add_child_computation(self, child_computation: ComputationAPI) -> None:
        """Take what a call returned; tell who watches."""
        super().add_child_computation(child_computation)
        state = self.state
        if isinstance(state, AgentState) and state.watcher is not None:
            state.watcher.call_returned(self, child_computation)

    def generate_child_computation(self, child_msg: MessageAPI) -> ComputationAPI:
        """Execute a call of this one's."""
        call = partial(super().generate_child_computation, child_msg)
        return at_depth(child_msg.depth, call)

    # What follows is what py-evm finds out by recursion, too deep for some Pythons.

    def _succeeded(self) -> list[AgentComputation]:
        return [one for one in with_calls(self) if not one.is_error]

    def get_gas_refund(self) -> int:
        """Return what was refunded in all that it did."""
        own = sum(one._gas_meter.gas_refunded for one in self._succeeded())  # noqa: SLF001 - its own class
        return own + sum(one.msg.refund for one in with_calls(self))

    def get_raw_log_entries(self) -> tuple[tuple[int, bytes, tuple[int, ...], bytes], ...]:
        """Return the logs of all that it did, in order, each with its number."""
        return tuple(sorted(log for one in self._succeeded() for log in one._log_entries))  # noqa: SLF001 - its own class

    def get_accounts_for_deletion(self) -> list[Address]:
        """Return the accounts that are deleted by all that it did."""
        return [
            *dict.fromkeys(each for one in self._succeeded() for each in one.accounts_to_delete)
        ]

    def get_self_destruct_beneficiaries(self) -> list[Address]:
        """Return who gets what those accounts had."""
        return [*dict.fromkeys(each for one in self._succeeded() for each in one.beneficiaries)]


def floor_gas(transaction: TransactionFieldsAPI) -> int:
    """Return the least gas that a transaction with such calldata pays (EIP-7623)."""
    return int(PragueTransactionExecutor.calc_data_floor_gas(transaction, 0, 0))  # type: ignore[arg-type]


class AgentTransactionExecutor(PragueTransactionExecutor):
    """The transaction rules of Prague, with those that py-evm leaves out.

    An account that delegates to a precompile has no code to run (EIP-7702). py-evm follows that for
    calls; for transactions it would run the code that genesis puts at 0x19. A gas limit below what
    calldata costs at least makes a transaction invalid (EIP-7623), and so does initcode that is too
    long (EIP-3860), of which py-evm says that it is out of gas.
    """

    def validate_transaction(self, transaction: SignedTransactionAPI) -> None:
        """Refuse a transaction that no block may hold.

        Raises: ValidationError: says why.
        """
        super().validate_transaction(transaction)
        if not transaction.to and len(transaction.data) > MAX_INITCODE_BYTES:
            raise ValidationError(
                f"max initcode size exceeded: code size {len(transaction.data)}, "
                f"limit {MAX_INITCODE_BYTES}"
            )
        least = floor_gas(transaction)
        if transaction.gas < least:
            raise ValidationError(
                f"insufficient gas for floor data gas cost: gas {transaction.gas}, "
                f"minimum needed {least}"
            )

    def finalize_computation(
        self, transaction: SignedTransactionAPI, computation: ComputationAPI
    ) -> ComputationAPI:
        """Settle what a transaction costs, and delete what it left empty (EIP-161)."""
        state = self.vm_state
        if isinstance(state, AgentState):
            state.shown_gas_price_wei = None  # Nothing was paid at it, and nothing is given back.
        # Past py-evm's own rule of EIP-161, which is the one of its base that recurses.
        settle = super(SpuriousDragonTransactionExecutor, self).finalize_computation
        computation = settle(transaction, computation)
        for account in sorted(touched_accounts(computation)):
            if state.account_exists(account) and state.account_is_empty(account):
                state.delete_account(account)
        return computation

    def build_computation(
        self, message: MessageAPI, transaction: SignedTransactionAPI
    ) -> ComputationAPI:
        """Execute a transaction's message; tell who watches."""
        watcher = self.vm_state.watcher if isinstance(self.vm_state, AgentState) else None
        if watcher is None:
            return super().build_computation(message, transaction)
        watcher.transaction_begins(transaction)
        computation = super().build_computation(message, transaction)
        watcher.transaction_ended(computation)
        return computation

    def build_evm_message(self, transaction: SignedTransactionAPI) -> MessageAPI:
        """Take a transaction's fees and nonce from its sender; return the message that it is."""
        return evm_message(self, transaction)

    def get_code_at_address(self, code_address: Address) -> tuple[bytes, Address | None]:
        """Return the code a transaction to `code_address` runs, and its delegate if it has one."""
        code, delegate = super().get_code_at_address(code_address)
        if delegate is not None and delegate in self.vm_state.computation_class.get_precompiles():
            return b"", delegate
        return code, delegate


class AgentState(PragueState):
    """The state of Prague, with agents' computations."""

    computation_class = AgentComputation
    transaction_executor_class = AgentTransactionExecutor
    account_db_class = StateAccountDB

    watcher: RunWatcher | None = None
    """Who is told how transactions proceed; the same for all states of a chain."""

    shown_base_fee_wei: int | None = None
    """What BASEFEE gives in a block that asks for no fee; None for the block's own."""

    shown_blob_base_fee_wei: int | None = None
    """What BLOBBASEFEE gives; None for what follows from the block."""

    shown_gas_price_wei: int | None = None
    """What GASPRICE gives a call that pays nothing; None for what is paid."""

    shown_blob_hashes: tuple[bytes, ...] = ()
    """What BLOBHASH gives a call; a blob transaction has its own."""

    def set_system_contracts(self) -> None:
        """Do nothing: py-evm looks for two contracts here, and gives them the code they have."""

    @property
    def base_fee(self) -> int:
        """What BASEFEE gives."""
        shown = self.shown_base_fee_wei
        return super().base_fee if shown is None else shown

    @property
    def blob_base_fee(self) -> int:
        """What BLOBBASEFEE gives."""
        shown = self.shown_blob_base_fee_wei
        return super().blob_base_fee if shown is None else shown

    def costless_execute_transaction(self, transaction: SignedTransactionAPI) -> ComputationAPI:
        """Execute a transaction that pays nothing. py-evm's gives back what nobody has paid."""
        self.shown_gas_price_wei = transaction.gas_price
        try:
            return self.apply_transaction(transaction.copy(gas_price=0))
        finally:
            self.shown_gas_price_wei = None

    def get_transaction_context(self, transaction: SignedTransactionAPI) -> TransactionContextAPI:
        """Return what a transaction's code can ask about it."""
        context = super().get_transaction_context(transaction)
        if self.shown_gas_price_wei is not None:
            context._gas_price = self.shown_gas_price_wei  # type: ignore[attr-defined]  # noqa: SLF001 - has no other way in
        if self.shown_blob_hashes:
            context._blob_versioned_hashes = self.shown_blob_hashes  # type: ignore[attr-defined]  # noqa: SLF001 - so does py-evm
        return context


class WatchedVM(FrontierVM):
    """What every VM of a `Chain` adds to its fork's."""

    watch: Watch | None = None
    """Is told of each transaction as it ends: a block's import keeps no computation."""

    is_own_block: bool = False
    """Whether the block is being made here: then nobody claims anything of it to be validated, and
    what a development node may set (time, gas limit, base fee) is what it is told."""

    @classmethod
    def finalize_gas_used(
        cls, transaction: SignedTransactionAPI, computation: ComputationAPI
    ) -> int:
        """Return what a transaction used, which is what its sender paid for.

        The refund is at most a fifth of what was used before calldata's floor is looked at
        (EIP-7623). py-evm's payment does that; its receipt caps by what is used with the floor.
        """
        used = transaction.gas - computation.get_gas_remaining()
        refund = cls.calculate_net_gas_refund(used, computation.get_gas_refund())
        return int(used - refund + computation.data_floor_gas)

    def validate_block(self, block: BlockAPI) -> None:
        """Validate a block that somebody else made.

        Raises: ValidationError: it breaks the rules.
        """
        if not self.is_own_block:
            super().validate_block(block)

    def apply_transaction(
        self, header: BlockHeaderAPI, transaction: SignedTransactionAPI
    ) -> tuple[ReceiptAPI, ComputationAPI]:
        """Execute a transaction; tell who watches.

        Raises: ValidationError: no block may hold it. py-evm does not look at the chain that it was
                signed for (EIP-155, EIP-2930).
        """
        if transaction.chain_id not in {None, self.chain_context.chain_id}:
            raise ValidationError(
                f"the transaction was signed for chain {transaction.chain_id}, this is chain "
                f"{self.chain_context.chain_id}"
            )
        receipt, computation = super().apply_transaction(header, transaction)
        if self.watch is not None:
            self.watch(transaction, receipt, computation)
        return receipt, computation


class AgentVM(WatchedVM, PragueVM):
    """Prague, ready for an executor; blocks need no proof."""

    consensus_class = NoProofConsensus
    block_class = AgentBlock
    _state_class = AgentState
    create_header_from_parent = staticmethod(header_after)

    def set_block_transactions_and_withdrawals(
        self,
        base_block: BlockAPI,
        new_header: BlockHeaderAPI,
        transactions: Sequence[SignedTransactionAPI],
        receipts: Sequence[ReceiptAPI],
        withdrawals: Sequence[WithdrawalAPI] = (),
    ) -> BlockAPI:
        """Return a block of these, which knows its receipts: requests are read from them next."""
        if withdrawals:
            return super().set_block_transactions_and_withdrawals(
                base_block, new_header, transactions, receipts, withdrawals
            )
        nodes: dict[bytes, bytes] = {}
        roots = {
            "transaction_root": list_root([one.encode() for one in transactions], nodes),
            "receipt_root": list_root([one.encode() for one in receipts], nodes),
        }
        self.chaindb.persist_trie_data_dict(nodes)  # type: ignore[arg-type]
        block = base_block.copy(transactions=transactions, header=new_header.copy(**roots))
        assert isinstance(block, AgentBlock)  # noqa: S101 - the class that it makes
        block.receipts = tuple(receipts)
        return block


def record_inference(computation: ComputationAPI, inference: Inference) -> None:
    """Keep on a computation what the executor did in it."""
    assert isinstance(computation, AgentComputation)  # noqa: S101 - the only one an AgentVM makes
    computation.inference = inference


class AgentChain(MiningChain):
    """A chain whose blocks `WatchedVM`s make."""


def agent_chain(
    executor: Executor | None, chain_id: int, watcher: RunWatcher | None = None
) -> type[AgentChain]:
    """Return the chain class of a chain id with `executor` at 0x19, or without one.

    Input: who is told how transactions proceed, where there is an executor.
    """
    configuration = ((BlockNumber(0), agent_vm(executor, watcher)),)
    return AgentChain.configure(
        __name__="AgentChain", vm_configuration=configuration, chain_id=chain_id
    )


def foreign_chain(forks: Sequence[tuple[int, type[FrontierVM]]], chain_id: int) -> type[AgentChain]:
    """Return the chain class of rules that others made: py-evm's VM from each block number on."""
    configuration = tuple((BlockNumber(number), _watched(vm_class)) for number, vm_class in forks)
    return AgentChain.configure(
        __name__="ForeignChain", vm_configuration=configuration, chain_id=chain_id
    )


def _watched(vm_class: type[FrontierVM]) -> type[FrontierVM]:
    if issubclass(vm_class, WatchedVM):
        return vm_class
    return type(
        f"Watched{vm_class.__name__}", (WatchedVM, vm_class), {"consensus_class": NoProofConsensus}
    )


def agent_vm(executor: Executor | None, watcher: RunWatcher | None = None) -> type[AgentVM]:
    """Return the VM class of a chain: with `executor` at 0x19, or plain Prague without one.

    The precompile is entered on the class, not on an instance: EIP-2929 warmth asks the class.
    """
    account_db_class = type("AccountDB", (StateAccountDB,), {"cache": StateCache()})
    computation_class = AgentComputation
    if executor is not None:
        added: dict[Address, Callable[[ComputationAPI], ComputationAPI]] = {
            EXECUTOR_ADDRESS: executor
        }
        computation_class = AgentComputation.configure(
            __name__="AgentComputation",
            _precompiles=merge(AgentComputation.get_precompiles(), added),
        )
    state_class = AgentState.configure(
        __name__="AgentState",
        account_db_class=account_db_class,
        computation_class=computation_class,
        watcher=watcher,
    )
    return AgentVM.configure(__name__="AgentVM", _state_class=state_class)

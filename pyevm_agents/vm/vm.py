"""States and VMs: what makes and checks blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.consensus.noproof import NoProofConsensus
from eth.vm.forks.cancun import CancunVM
from eth.vm.forks.cancun.constants import (
    BEACON_ROOTS_ADDRESS,
    BEACON_ROOTS_CONTRACT_CODE,
    HISTORY_BUFFER_LENGTH,
)
from eth.vm.forks.frontier import FrontierVM
from eth.vm.forks.prague import PragueVM
from eth.vm.forks.prague.constants import (
    HISTORY_SERVE_WINDOW,
    HISTORY_STORAGE_ADDRESS,
    HISTORY_STORAGE_CONTRACT_CODE,
)
from eth.vm.forks.prague.state import PragueState
from eth_utils import ValidationError

from pyevm_agents.state import StateAccountDB, compute_list_root
from pyevm_agents.vm.computation import AgentComputation, PragueAgentComputation
from pyevm_agents.vm.headers import (
    AgentBlock,
    CancunBlock,
    PragueBlock,
    build_cancun_header,
    build_prague_header,
)
from pyevm_agents.vm.state import WatchedState
from pyevm_agents.vm.transaction_executor import (
    AgentTransactionExecutor,
    PragueAgentTransactionExecutor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import (
        BlockAPI,
        BlockHeaderAPI,
        ComputationAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        WithdrawalAPI,
    )

    OnTransaction = Callable[[SignedTransactionAPI, ReceiptAPI, ComputationAPI], None]


class AgentState(WatchedState):
    """A state with agents' computations: of Cancun; those of later forks derive from it."""

    computation_class = AgentComputation
    transaction_executor_class = AgentTransactionExecutor
    account_db_class = StateAccountDB

    def set_system_contracts(self) -> None:
        """Do nothing: py-evm looks for two contracts here, and gives them the code they have."""

    def begin_block(self, header: BlockHeaderAPI) -> None:
        """Do what a block does before its transactions: keep the beacon chain's root (EIP-4788)."""
        if self.get_code(BEACON_ROOTS_ADDRESS) == BEACON_ROOTS_CONTRACT_CODE:
            slot = header.timestamp % HISTORY_BUFFER_LENGTH
            root = int.from_bytes(header.parent_beacon_block_root or b"", "big")
            self.set_storage(BEACON_ROOTS_ADDRESS, slot, header.timestamp)
            self.set_storage(BEACON_ROOTS_ADDRESS, slot + HISTORY_BUFFER_LENGTH, root)


class PragueAgentState(AgentState, PragueState):
    """The same of Prague."""

    computation_class = PragueAgentComputation
    transaction_executor_class = PragueAgentTransactionExecutor

    def begin_block(self, header: BlockHeaderAPI) -> None:
        """Do what a block does before its transactions: keep its parent's hash too (EIP-2935)."""
        super().begin_block(header)
        if self.get_code(HISTORY_STORAGE_ADDRESS) == HISTORY_STORAGE_CONTRACT_CODE:
            slot = (header.block_number - 1) % HISTORY_SERVE_WINDOW
            self.set_storage(
                HISTORY_STORAGE_ADDRESS, slot, int.from_bytes(header.parent_hash, "big")
            )


class WatchedVM(FrontierVM):
    """What every VM of a `Chain` adds to its fork's."""

    on_transaction: OnTransaction | None = None
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
        if self.on_transaction is not None:
            self.on_transaction(transaction, receipt, computation)
        return receipt, computation


class AgentVM(WatchedVM, CancunVM):
    """Ready for an executor; blocks need no proof. Of Cancun; those of later forks derive from it.

    Agents' contracts need Cancun's transient storage.
    """

    consensus_class = NoProofConsensus
    block_class = CancunBlock
    _state_class = AgentState
    create_header_from_parent = staticmethod(build_cancun_header)

    def block_preprocessing(self, block: BlockAPI) -> None:
        """Do what a block does before its transactions: as py-evm, where a call can do it too."""
        state = self.state
        assert isinstance(state, AgentState)  # noqa: S101 - the only one an AgentVM has
        state.begin_block(block.header)

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
            "transaction_root": compute_list_root([tx.encode() for tx in transactions], nodes),
            "receipt_root": compute_list_root([receipt.encode() for receipt in receipts], nodes),
        }
        self.chaindb.persist_trie_data_dict(nodes)  # type: ignore[arg-type]
        block = base_block.copy(transactions=transactions, header=new_header.copy(**roots))
        assert isinstance(block, AgentBlock)  # noqa: S101 - the class that it makes
        block.receipts = tuple(receipts)
        return block


class PragueAgentVM(AgentVM, PragueVM):
    """The same of Prague."""

    block_class = PragueBlock
    _state_class = PragueAgentState
    create_header_from_parent = staticmethod(build_prague_header)

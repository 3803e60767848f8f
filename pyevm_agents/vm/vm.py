"""VM and state classes: execution and validation of blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import rlp
from eth._utils.db import get_block_header_by_hash
from eth.abc import BlockAndMetaWitness
from eth.consensus.noproof import NoProofConsensus
from eth.constants import BLANK_ROOT_HASH
from eth.vm.forks.cancun import CancunVM
from eth.vm.forks.cancun.constants import (
    BEACON_ROOTS_ADDRESS,
    BEACON_ROOTS_CONTRACT_CODE,
    GAS_PER_BLOB,
    HISTORY_BUFFER_LENGTH,
)
from eth.vm.forks.cancun.state import get_total_blob_gas
from eth.vm.forks.frontier import FrontierVM
from eth.vm.forks.prague import PragueVM
from eth.vm.forks.prague.constants import (
    HISTORY_SERVE_WINDOW,
    HISTORY_STORAGE_ADDRESS,
    HISTORY_STORAGE_CONTRACT_CODE,
)
from eth.vm.forks.prague.state import PragueState
from eth_typing import Address
from eth_utils import ValidationError

from pyevm_agents.state import StateAccountDB, compute_list_root
from pyevm_agents.vm.authorizations import authorize
from pyevm_agents.vm.blobs import BPO1_BLOBS, BPO2_BLOBS, CANCUN_BLOBS, PRAGUE_BLOBS
from pyevm_agents.vm.block_requests import BlockRefusal, InvalidBlockError, RequestsVM
from pyevm_agents.vm.computation import (
    AgentComputation,
    OsakaAgentComputation,
    PragueAgentComputation,
)
from pyevm_agents.vm.fork_block import get_remote_block_hash
from pyevm_agents.vm.headers import (
    AgentBlock,
    CancunBlock,
    PragueBlock,
    build_cancun_header,
    build_osaka_header,
    build_prague_header,
    complete_header,
)
from pyevm_agents.vm.receipts import build_receipt
from pyevm_agents.vm.rlp_codec import encode_typed
from pyevm_agents.vm.state import WatchedState
from pyevm_agents.vm.transaction_executor import (
    AgentTransactionExecutor,
    OsakaAgentTransactionExecutor,
    PragueAgentTransactionExecutor,
)
from pyevm_agents.vm.transaction_rules import (
    InvalidTransactionError,
    TransactionRefusal,
    require_chain_id,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import (
        BlockAPI,
        BlockHeaderAPI,
        ComputationAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        StateAPI,
        WithdrawalAPI,
    )
    from eth_typing import Hash32

    from pyevm_agents.vm.blobs import BlobSchedule
    from pyevm_agents.vm.fork_block import ForkBlock

    OnTransaction = Callable[[SignedTransactionAPI, ReceiptAPI, ComputationAPI], None]
    OnRefusal = Callable[[SignedTransactionAPI, InvalidTransactionError], None]


MAX_BLOCK_BYTES = 8 * 2**20
"""Upper bound of a block's RLP from Osaka on. Source: EIP-7934."""


class AgentState(WatchedState):
    """The state class of Cancun, with the executor. Base of the later forks."""

    computation_class = AgentComputation
    transaction_executor_class = AgentTransactionExecutor
    account_db_class = StateAccountDB

    fork_block: ForkBlock | None = None
    """The block of a remote chain that the chain continues, if any."""

    def get_ancestor_hash(self, block_number: int) -> Hash32:
        """Return the value of BLOCKHASH; on a fork, also of remote blocks.

        Raises: RemoteFault: the remote chain did not answer.
        """
        fork_block = self.fork_block
        if fork_block is None or block_number > fork_block.header.block_number:
            return super().get_ancestor_hash(block_number)
        return get_remote_block_hash(fork_block, block_number, current=self.block_number)

    def has_code_or_nonce(self, address: Address) -> bool:
        """Whether no contract can be created at an address; storage is enough (EIP-7610).

        py-evm, which calls this method before a creation, ignores storage.
        """
        if super().has_code_or_nonce(address):
            return True
        root = self._account_db._get_storage_root(address)  # type: ignore[attr-defined]  # noqa: SLF001 - so does py-evm's
        return bool(root != BLANK_ROOT_HASH)

    def set_system_contracts(self) -> None:
        """Do nothing: py-evm sets the code of system contracts to the present code."""

    def begin_block(self, header: BlockHeaderAPI) -> None:
        """Run a block's system calls before the transactions: the beacon root (EIP-4788)."""
        if self.get_code(BEACON_ROOTS_ADDRESS) == BEACON_ROOTS_CONTRACT_CODE:
            slot = header.timestamp % HISTORY_BUFFER_LENGTH
            root = int.from_bytes(header.parent_beacon_block_root or b"", "big")
            self.set_storage(BEACON_ROOTS_ADDRESS, slot, header.timestamp)
            self.set_storage(BEACON_ROOTS_ADDRESS, slot + HISTORY_BUFFER_LENGTH, root)


class PragueAgentState(AgentState, PragueState):
    """The state class of Prague, with the executor."""

    computation_class = PragueAgentComputation
    transaction_executor_class = PragueAgentTransactionExecutor

    def process_set_code_authorizations(self, transaction: SignedTransactionAPI) -> int:
        """Delegate the accounts of a transaction's valid authorizations; return the gas refund.

        Raises: RemoteFault: an account of a fork can't be read.
        """
        return sum(authorize(each, self) for each in transaction.authorization_list)

    def begin_block(self, header: BlockHeaderAPI) -> None:
        """Run a block's system calls: the beacon root, and the parent's hash (EIP-2935)."""
        super().begin_block(header)
        if self.get_code(HISTORY_STORAGE_ADDRESS) == HISTORY_STORAGE_CONTRACT_CODE:
            slot = (header.block_number - 1) % HISTORY_SERVE_WINDOW
            self.set_storage(
                HISTORY_STORAGE_ADDRESS, slot, int.from_bytes(header.parent_hash, "big")
            )


class OsakaAgentState(PragueAgentState):
    """The state class of Osaka, with the executor."""

    computation_class = OsakaAgentComputation
    transaction_executor_class = OsakaAgentTransactionExecutor
    blobs = PRAGUE_BLOBS

    @property
    def blob_base_fee(self) -> int:
        """The blob base fee of the block, in wei per blob gas."""
        return self.blobs.compute_base_fee(self.execution_context.excess_blob_gas or 0)


class Bpo1AgentState(OsakaAgentState):
    """The state class of Osaka with the first blob schedule after Osaka."""

    blobs = BPO1_BLOBS


class Bpo2AgentState(OsakaAgentState):
    """The state class of Osaka with the second blob schedule after Osaka."""

    blobs = BPO2_BLOBS


class WatchedVM(FrontierVM):
    """Extensions of py-evm's VM for every fork of a `Chain`."""

    on_start: Callable[[SignedTransactionAPI], None] | None = None
    """Called before each transaction."""

    on_transaction: OnTransaction | None = None
    """Called after each transaction, as py-evm's block import returns no computations."""

    @classmethod
    def complete_header(cls, header: BlockHeaderAPI) -> BlockHeaderAPI:
        """Return a header with all fields that an execution reads."""
        return header

    is_own_block: bool = False
    """Whether this process mines the block. It is not validated then, since a development node may
    set its timestamp, gas limit and base fee freely."""

    @classmethod
    def finalize_gas_used(
        cls, transaction: SignedTransactionAPI, computation: ComputationAPI
    ) -> int:
        """Return the gas used by a transaction, for which the sender paid.

        The refund is at most a fifth of the gas used before the calldata floor (EIP-7623). py-evm
        charges accordingly, but py-evm's receipt caps the refund by the gas with the floor.
        """
        used = transaction.gas - computation.get_gas_remaining()
        refund = cls.calculate_net_gas_refund(used, computation.get_gas_refund())
        return int(used - refund + computation.data_floor_gas)

    def make_own_block(self, transactions: Sequence[SignedTransactionAPI]) -> BlockAndMetaWitness:
        """Execute transactions as a block of this process; return the block.

        Raises: see `Chain.mine`.
        """
        self.is_own_block = True
        return self.import_block(self.get_block().copy(transactions=transactions))

    def import_block(self, block: BlockAPI) -> BlockAndMetaWitness:
        """Execute a block that was made before; return the block of the results.

        Results that its header states are not read. The senders of its transactions stay known, as
        they do not in py-evm's copies.
        """
        known = {transaction.hash: transaction for transaction in block.transactions}
        result: Any = super().import_block(block)
        executed = tuple(known[transaction.hash] for transaction in result.block.transactions)
        fields = result.block.as_dict() | {"transactions": executed}
        return BlockAndMetaWitness(type(result.block)(**fields), result.meta_witness)

    def validate_block(self, block: BlockAPI) -> None:
        """Validate an imported block.

        Raises: InvalidBlockError: with the reason.
        """
        if self.is_own_block:
            return
        try:
            super().validate_block(block)
        except InvalidBlockError:
            raise
        except ValidationError as error:
            raise InvalidBlockError(BlockRefusal.INCORRECT_BLOCK_FORMAT, str(error)) from error

    on_refusal: OnRefusal | None = None
    """Called with each transaction that an own block leaves out because it is invalid, with its
    sender's later ones, as those that do not fit. None: such a transaction refuses the block."""

    def apply_transaction(
        self, header: BlockHeaderAPI, transaction: SignedTransactionAPI
    ) -> tuple[ReceiptAPI, ComputationAPI]:
        """Execute a transaction and call `on_transaction`.

        Raises: InvalidTransactionError: nothing was executed; also if signed for another chain
                (EIP-155, EIP-2930), which py-evm does not check, or beyond the block's gas limit.
        """
        if self.on_start is not None:
            self.on_start(transaction)
        require_chain_id(transaction, self.chain_context.chain_id)
        left = header.gas_limit - header.gas_used
        if transaction.gas > left:
            raise InvalidTransactionError(
                TransactionRefusal.GAS_ALLOWANCE_EXCEEDED,
                f"gas limit reached: the transaction's is {transaction.gas}, the block has {left}",
            )
        receipt, computation = super().apply_transaction(header, transaction)
        if self.on_transaction is not None:
            self.on_transaction(transaction, receipt, computation)
        return receipt, computation

    def add_to_header(
        self, header: BlockHeaderAPI, transaction: SignedTransactionAPI, receipt: ReceiptAPI
    ) -> BlockHeaderAPI:
        """Return a header that counts one more transaction's gas, blob gas and logs."""
        return self.increment_blob_gas_used(
            self.add_receipt_to_header(header, receipt), transaction
        )


class AgentVM(WatchedVM, CancunVM):
    """The VM of Cancun, configurable with an executor; no proof of work. Base of the later forks.

    The executor needs Cancun's transient storage.
    """

    consensus_class = NoProofConsensus
    block_class: type[AgentBlock] = CancunBlock
    _state_class = AgentState
    create_header_from_parent = staticmethod(build_cancun_header)
    blobs: ClassVar[BlobSchedule] = CANCUN_BLOBS

    fork_block: ForkBlock | None = None
    """The block of a remote chain that the chain continues, if any."""

    _included: list[SignedTransactionAPI]
    """The transactions of an own block, without those that were left out."""

    @classmethod
    def create_genesis_header(cls, *, gas_used: int = 0, **fields: Any) -> BlockHeaderAPI:  # noqa: ANN401 - py-evm's
        """Return the header of genesis.

        Input: the stated gas, which py-evm does not take; the other fields.
        """
        return super().create_genesis_header(**fields).copy(gas_used=gas_used)

    @classmethod
    def complete_header(cls, header: BlockHeaderAPI) -> BlockHeaderAPI:
        """Return a header with all fields of this fork, for execution after an older fork block."""
        return complete_header(header, cls.block_class)

    @classmethod
    def validate_gas(cls, header: BlockHeaderAPI, parent_header: BlockHeaderAPI) -> None:
        """Validate gas limit and base fee of a block.

        The first block of a fork has the gas limit of the chain config. An import computes the base
        fee of that block.

        Raises: ValidationError: the header is invalid.
        """
        fork_block = cls.fork_block
        if fork_block is None or parent_header.hash != fork_block.header.hash:
            super().validate_gas(header, parent_header)

    def make_own_block(self, transactions: Sequence[SignedTransactionAPI]) -> BlockAndMetaWitness:
        """Execute transactions as a block of this process; return the block with its receipts.

        The block is that of an import, without the steps of one: py-evm's copies header and block
        at each step, and asks for rewards that no fork has had since the merge.

        Source: docs/architecture.md#own-blocks.
        Raises: see `Chain.mine`.
        """
        self.is_own_block = True
        first_header = self.get_header()
        self.begin_block(first_header)
        header, receipts, _ = self.apply_all_transactions(transactions, first_header)
        included = self.get_included(transactions)
        block = self.block_class.build(header, included, receipts)
        fields = self._store_lists(included, receipts) | self.finish_block(block)
        witness = self.state.persist()
        sealed = header.copy(**fields, state_root=self.state.state_root)
        return BlockAndMetaWitness(block.copy(header=sealed), witness)

    def _store_lists(
        self, transactions: Sequence[SignedTransactionAPI], receipts: Sequence[ReceiptAPI]
    ) -> dict[str, Any]:
        """Store the tries of a block's transactions and receipts; return their header fields."""
        nodes: dict[bytes, bytes] = {}
        roots = {
            "transaction_root": compute_list_root([*map(encode_typed, transactions)], nodes),
            "receipt_root": compute_list_root([*map(encode_typed, receipts)], nodes),
        }
        for key, node in nodes.items():
            self.chaindb.db[key] = node
        return roots

    def finish_block(self, block: BlockAPI) -> dict[str, bytes]:  # noqa: ARG002 - for later forks
        """Run an executed block's last system calls; return the header fields that they give.

        Raises: InvalidBlockError: one failed.
        """
        return {}

    @classmethod
    def make_receipt(
        cls,
        base_header: BlockHeaderAPI,
        transaction: SignedTransactionAPI,
        computation: ComputationAPI,
        state: StateAPI,  # noqa: ARG003 - py-evm's, for receipts with a state root
    ) -> ReceiptAPI:
        """Return the receipt of a transaction after those that a header counts."""
        gas_used = base_header.gas_used + cls.finalize_gas_used(transaction, computation)
        return build_receipt(transaction, computation, gas_used)

    @classmethod
    def validate_receipt(cls, receipt: ReceiptAPI) -> None:
        """Do nothing: py-evm looks for the logs in the bloom filter that was computed of them."""

    def add_receipt_to_header(
        self, old_header: BlockHeaderAPI, receipt: ReceiptAPI
    ) -> BlockHeaderAPI:
        """Return a header that counts one more transaction's gas and logs."""
        bloom = old_header.bloom | receipt.bloom
        return old_header.copy(bloom=bloom, gas_used=receipt.gas_used)

    def block_preprocessing(self, block: BlockAPI) -> None:
        """Run a block's system calls, by a method of the state that simulations use as well."""
        self.begin_block(block.header)

    def begin_block(self, header: BlockHeaderAPI) -> None:
        """Run the system calls of a block with this header."""
        state = self.state
        assert isinstance(state, AgentState)  # noqa: S101 - the only one an AgentVM has
        state.begin_block(header)

    @classmethod
    def has_room(cls, header: BlockHeaderAPI, transaction: SignedTransactionAPI) -> bool:
        """Whether a block has room for one more transaction.

        Its gas limit counts; of those before it, the gas that they used. Source: go-ethereum,
        miner/worker.go.

        Input: the header with the gas and the blob gas used so far; the transaction.
        """
        return bool(
            transaction.gas <= header.gas_limit - header.gas_used
            and get_total_blob_gas(transaction) <= cls._get_blob_gas_left(header)
        )

    @classmethod
    def _get_blob_gas_left(cls, header: BlockHeaderAPI) -> int:
        """Return the blob gas of a block that none of its transactions has used."""
        return int(cls.blobs.maximum * GAS_PER_BLOB - header.blob_gas_used)

    def apply_all_transactions(
        self, transactions: Sequence[SignedTransactionAPI], base_header: BlockHeaderAPI
    ) -> tuple[BlockHeaderAPI, tuple[ReceiptAPI, ...], tuple[ComputationAPI, ...]]:
        """Execute a block's transactions; with `on_refusal`, those that are valid and have room.

        Raises: InvalidTransactionError: of any, or with `on_refusal` if no valid one is left.
        """
        if self.on_refusal is None:
            self._require_room_for_blobs(transactions, base_header)
            return super().apply_all_transactions(transactions, base_header)
        header, left_out = base_header, set[Address]()
        done: list[tuple[ReceiptAPI, ComputationAPI]] = []
        refused: InvalidTransactionError | None = None
        self._included = []
        for transaction in transactions:
            sender = transaction.sender
            if sender in left_out or not self.has_room(header, transaction):
                left_out.add(sender)
                continue
            try:
                receipt, computation = self.apply_transaction(header, transaction)
            except InvalidTransactionError as error:
                self.on_refusal(transaction, error)
                left_out.add(sender)
                refused = error
                continue
            header = self.add_to_header(header, transaction, receipt)
            done.append((receipt, computation))
            self._included.append(transaction)
        if refused is not None and not done:
            raise refused
        return header, tuple(one for one, _ in done), tuple(one for _, one in done)

    def get_included(
        self, transactions: Sequence[SignedTransactionAPI]
    ) -> Sequence[SignedTransactionAPI]:
        """Return the transactions of an executed block, without those that were left out."""
        return transactions if self.on_refusal is None else self._included

    def _require_room_for_blobs(
        self, transactions: Sequence[SignedTransactionAPI], header: BlockHeaderAPI
    ) -> None:
        """Refuse transactions that together have more blobs than a block may (EIP-4844).

        Raises: InvalidTransactionError: they have.
        """
        left = self._get_blob_gas_left(header)
        for transaction in transactions:
            blob_gas = get_total_blob_gas(transaction)
            if blob_gas > left:
                raise InvalidTransactionError(
                    TransactionRefusal.TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED,
                    f"blob gas limit reached: the transaction's is {blob_gas}, "
                    f"the block has {left}",
                )
            left -= blob_gas

    def set_block_transactions_and_withdrawals(
        self,
        base_block: BlockAPI,
        new_header: BlockHeaderAPI,
        transactions: Sequence[SignedTransactionAPI],
        receipts: Sequence[ReceiptAPI],
        withdrawals: Sequence[WithdrawalAPI] = (),
    ) -> BlockAPI:
        """Return a block with transactions and receipts; requests are read from the receipts."""
        transactions = self.get_included(transactions)
        if withdrawals:
            return super().set_block_transactions_and_withdrawals(
                base_block, new_header, transactions, receipts, withdrawals
            )
        roots = self._store_lists(transactions, receipts)
        block = base_block.copy(transactions=transactions, header=new_header.copy(**roots))
        assert isinstance(block, AgentBlock)  # noqa: S101 - the class that it makes
        block.receipts = tuple(receipts)
        return block


class PragueAgentVM(AgentVM, RequestsVM, PragueVM):
    """The VM of Prague, configurable with an executor."""

    block_class = PragueBlock
    _state_class = PragueAgentState
    create_header_from_parent = staticmethod(build_prague_header)
    blobs = PRAGUE_BLOBS

    def finish_block(self, block: BlockAPI) -> dict[str, bytes]:
        """Run the system calls of a block's requests to the consensus layer; return their hash.

        Raises: InvalidBlockError: one failed.
        """
        return {"requests_hash": self.compute_block_requests_hash(block)}


class OsakaAgentVM(PragueAgentVM):
    """The VM of Osaka, configurable with an executor.

    Source: EIP-7607: EIP-7594, 7823, 7825, 7883, 7918, 7934, 7939, 7951. py-evm has none of these.
    """

    fork = "osaka"
    _state_class = OsakaAgentState
    blobs = PRAGUE_BLOBS
    create_header_from_parent = staticmethod(partial(build_osaka_header, PRAGUE_BLOBS))

    def validate_block(self, block: BlockAPI) -> None:
        """Validate an imported block.

        Raises: InvalidBlockError: with the reason; also if the RLP exceeds 8 MiB (EIP-7934).
        """
        super().validate_block(block)
        if self.is_own_block:
            return
        size = len(rlp.encode(block))
        if size > MAX_BLOCK_BYTES:
            raise InvalidBlockError(
                BlockRefusal.RLP_BLOCK_LIMIT_EXCEEDED,
                f"block of {size} bytes: must be at most {MAX_BLOCK_BYTES}",
            )

    def validate_block_blobs(self, block: BlockAPI) -> None:
        """Validate the blob gas of a block.

        Raises: InvalidBlockError: the excess or the sum is wrong.
        """
        parent = get_block_header_by_hash(block.header.parent_hash, self.chaindb)
        excess, expected = block.header.excess_blob_gas, self.blobs.compute_excess(parent)
        if excess != expected:
            raise InvalidBlockError(
                BlockRefusal.INCORRECT_EXCESS_BLOB_GAS,
                f"excess blob gas {excess}: must be {expected}",
            )
        used, stated = sum(map(get_total_blob_gas, block.transactions)), block.header.blob_gas_used
        if used != stated:
            raise InvalidBlockError(
                BlockRefusal.INCORRECT_BLOB_GAS_USED,
                f"blob gas used {stated}: must be {used}, that of the blobs",
            )


class Bpo1AgentVM(OsakaAgentVM):
    """The VM of Osaka with the first blob schedule after Osaka (EIP-7892)."""

    fork = "bpo1"
    _state_class = Bpo1AgentState
    blobs = BPO1_BLOBS
    create_header_from_parent = staticmethod(partial(build_osaka_header, BPO1_BLOBS))


class Bpo2AgentVM(OsakaAgentVM):
    """The VM of Osaka with the second blob schedule after Osaka (EIP-7892)."""

    fork = "bpo2"
    _state_class = Bpo2AgentState
    blobs = BPO2_BLOBS
    create_header_from_parent = staticmethod(partial(build_osaka_header, BPO2_BLOBS))

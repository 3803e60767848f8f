"""Execution of transactions: validity, intrinsic and floor gas, the message, refunds.

py-evm's builder of the message also formats a log line with the whole code and a hash of the data,
a sixth of a plain call's time, so the message is built here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from eth._utils.address import generate_contract_address
from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.vm.forks.cancun.constants import BLOB_TX_TYPE
from eth.vm.forks.cancun.state import CancunTransactionExecutor
from eth.vm.forks.prague.state import PragueTransactionExecutor
from eth.vm.forks.spurious_dragon.state import SpuriousDragonTransactionExecutor
from eth.vm.message import Message
from eth_utils import ValidationError

from pyevm_agents.vm.stack_depth import collect_touched_accounts
from pyevm_agents.vm.state import WatchedState

if TYPE_CHECKING:
    from eth.abc import ComputationAPI, MessageAPI, SignedTransactionAPI, TransactionFieldsAPI
    from eth.vm.forks.cancun.transactions import BlobTransaction
    from eth_typing import Address


MAX_TRANSACTION_GAS = 1 << 24
"""Upper bound of a transaction's gas limit from Osaka on. Source: EIP-7825."""

MAX_TRANSACTION_BLOBS = 6
"""Upper bound of a transaction's blobs from Osaka on. Source: EIP-7594."""


def floor_gas(transaction: TransactionFieldsAPI) -> int:
    """Return the floor price of a transaction's calldata, in gas (EIP-7623)."""
    return int(PragueTransactionExecutor.calc_data_floor_gas(transaction, 0, 0))  # type: ignore[arg-type]


class AgentTransactionExecutor(CancunTransactionExecutor):
    """The transaction rules of Cancun. Base of the later forks.

    Initcode above the limit makes a transaction invalid (EIP-3860), where py-evm runs out of gas.
    """

    def validate_transaction(self, transaction: SignedTransactionAPI) -> None:
        """Reject an invalid transaction.

        Raises: ValidationError: with the reason.
        """
        super().validate_transaction(transaction)
        computation_class: Any = self.vm_state.computation_class
        limit = 2 * computation_class.code_size_bytes
        if not transaction.to and len(transaction.data) > limit:
            raise ValidationError(
                f"max initcode size exceeded: code size {len(transaction.data)}, limit {limit}"
            )

    def finalize_computation(
        self, transaction: SignedTransactionAPI, computation: ComputationAPI
    ) -> ComputationAPI:
        """Pay fees and refunds of a transaction, and delete empty accounts (EIP-161)."""
        state = self.vm_state
        if isinstance(state, WatchedState):
            state.shown_gas_price_wei = None  # Nothing was paid, so nothing is refunded.
        # Skips the base class whose EIP-161 cleanup recurses.
        settle = super(SpuriousDragonTransactionExecutor, self).finalize_computation
        computation = settle(transaction, computation)
        for account in sorted(collect_touched_accounts(computation)):
            if state.account_exists(account) and state.account_is_empty(account):
                state.delete_account(account)
        return computation

    def build_computation(
        self, message: MessageAPI, transaction: SignedTransactionAPI
    ) -> ComputationAPI:
        """Execute a transaction's message, and notify the listener."""
        listener = self.vm_state.listener if isinstance(self.vm_state, WatchedState) else None
        if listener is None:
            return super().build_computation(message, transaction)
        listener.on_transaction_start(transaction)
        computation = super().build_computation(message, transaction)
        listener.on_transaction_end(computation)
        return computation

    def build_evm_message(self, transaction: SignedTransactionAPI) -> MessageAPI:
        """Charge a transaction's fees, increment the sender's nonce; return the message."""
        return build_message(self, transaction)


class PragueAgentTransactionExecutor(AgentTransactionExecutor, PragueTransactionExecutor):
    """The transaction rules of Prague, with two that py-evm lacks.

    An account that delegates to a precompile runs no code (EIP-7702); py-evm follows that in calls,
    but a transaction would run the code that genesis puts at 0x19. A gas limit below the calldata
    floor makes a transaction invalid (EIP-7623).
    """

    def validate_transaction(self, transaction: SignedTransactionAPI) -> None:
        """Reject an invalid transaction.

        Raises: ValidationError: with the reason.
        """
        super().validate_transaction(transaction)
        least = floor_gas(transaction)
        if transaction.gas < least:
            raise ValidationError(
                f"insufficient gas for floor data gas cost: gas {transaction.gas}, "
                f"minimum needed {least}"
            )

    def get_code_at_address(self, code_address: Address) -> tuple[bytes, Address | None]:
        """Return the code that a transaction to `code_address` runs, and the delegate, if any."""
        code, delegate = super().get_code_at_address(code_address)
        if delegate is not None and delegate in self.vm_state.computation_class.get_precompiles():
            return b"", delegate
        return code, delegate


class OsakaAgentTransactionExecutor(PragueAgentTransactionExecutor):
    """The transaction rules of Osaka: at most six blobs (EIP-7594).

    The limit of a transaction's gas (EIP-7825) is the VM's: calls, which are not in blocks, may
    have more.
    """

    def validate_transaction(self, transaction: SignedTransactionAPI) -> None:
        """Reject an invalid transaction.

        Raises: ValidationError: with the reason.
        """
        super().validate_transaction(transaction)
        if transaction.type_id == BLOB_TX_TYPE:
            blobs = len(cast("BlobTransaction", transaction).blob_versioned_hashes)
            if blobs > MAX_TRANSACTION_BLOBS:
                raise ValidationError(
                    f"transaction with {blobs} blobs: must be at most {MAX_TRANSACTION_BLOBS}"
                )


def build_message(
    executor: CancunTransactionExecutor, transaction: SignedTransactionAPI
) -> MessageAPI:
    """Charge a transaction's fees, increment the sender's nonce; return the message.

    Raises: ValidationError: the sender can't pay.
    """
    state, sender = executor.vm_state, transaction.sender
    fee_wei = transaction.gas * state.get_gas_price(transaction)
    if transaction.type_id == BLOB_TX_TYPE:
        fee_wei += executor.calc_data_fee(cast("BlobTransaction", transaction))
    state.delta_balance(sender, -fee_wei)
    state.increment_nonce(sender)
    refund = executor.calc_message_refund(transaction)
    gas = transaction.gas - transaction.intrinsic_gas
    if transaction.to == CREATE_CONTRACT_ADDRESS:
        return Message(
            gas=gas,
            to=transaction.to,
            sender=sender,
            value=transaction.value,
            data=b"",
            code=transaction.data,
            create_address=generate_contract_address(sender, state.get_nonce(sender) - 1),
            refund=refund,
        )
    code, delegate = executor.get_code_at_address(transaction.to)
    return Message(
        gas=gas,
        to=transaction.to,
        sender=sender,
        value=transaction.value,
        data=transaction.data,
        code=code,
        refund=refund,
        is_delegation=delegate is not None,
    )

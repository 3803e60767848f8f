"""Execution of transactions: the message, the call, fees and refunds.

py-evm's builder of the message also formats a log line with the whole code and a hash of the data,
a sixth of a plain call's time, so the message is built here.

An error of py-evm in an execution is a fault of the host, and never taken for an invalid
transaction: `transaction_rules` alone refuse one, before anything was executed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, cast

from eth._utils.address import generate_contract_address
from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.vm.forks.cancun.constants import BLOB_TX_TYPE
from eth.vm.forks.cancun.state import CancunTransactionExecutor
from eth.vm.forks.prague.state import PragueTransactionExecutor
from eth.vm.message import Message
from eth.vm.spoof import SpoofTransaction
from eth_utils import ValidationError

from pyevm_agents.errors import EngineFault
from pyevm_agents.vm.balances import credit, fail_call, is_overflowing
from pyevm_agents.vm.stack_depth import collect_touched_accounts
from pyevm_agents.vm.state import WatchedState
from pyevm_agents.vm.transaction_rules import (
    CANCUN_RULES,
    OSAKA_RULES,
    PRAGUE_RULES,
    InvalidTransactionError,
    TransactionRules,
    TransactionTerms,
    require_valid,
)

if TYPE_CHECKING:
    from eth.abc import ComputationAPI, MessageAPI, SignedTransactionAPI
    from eth.vm.forks.cancun.transactions import BlobTransaction
    from eth_typing import Address


log = logging.getLogger(__name__)


class AgentTransactionExecutor(CancunTransactionExecutor):
    """The transaction rules of Cancun. Base of the later forks."""

    rules: ClassVar[TransactionRules] = CANCUN_RULES

    def __call__(self, transaction: SignedTransactionAPI) -> ComputationAPI:
        """Execute a transaction.

        Raises: InvalidTransactionError: nothing was executed. EngineFault: py-evm could not finish
                the execution.
        """
        try:
            return super().__call__(transaction)
        except InvalidTransactionError:
            raise
        except ValidationError as error:
            log.exception("py-evm failed inside an execution: this is a bug, please report it")
            raise EngineFault(f"the execution failed inside py-evm: {error}") from error

    def validate_transaction(self, transaction: SignedTransactionAPI) -> None:
        """Refuse an invalid transaction.

        Raises: InvalidTransactionError: with the reason.
        """
        state = self.vm_state
        computation_class: Any = state.computation_class
        is_blob = transaction.type_id == BLOB_TX_TYPE
        terms = TransactionTerms(
            rules=self.rules,
            chain_id=None,  # The VM's: a call has none.
            initcode_bytes=2 * computation_class.code_size_bytes,
            base_fee_wei=int(state.execution_context.base_fee_per_gas or 0),
            blob_base_fee_wei=int(state.blob_base_fee) if is_blob else 0,
            is_call=isinstance(transaction, SpoofTransaction),
        )
        require_valid(transaction, state, terms)

    def finalize_computation(
        self, transaction: SignedTransactionAPI, computation: ComputationAPI
    ) -> ComputationAPI:
        """Pay fees and refunds of a transaction, and delete empty accounts (EIP-161)."""
        state = self.vm_state
        if isinstance(state, WatchedState):
            state.shown_gas_price_wei = None  # Nothing was paid, so nothing is refunded.
        self._settle(transaction, computation)
        for account in computation.get_accounts_for_deletion():
            state.delete_account(account)
        for account in sorted(collect_touched_accounts(computation)):
            if state.account_exists(account) and state.account_is_empty(account):
                state.delete_account(account)
        return computation

    def _settle(self, transaction: SignedTransactionAPI, computation: ComputationAPI) -> None:
        """Refund the gas that is left, and pay the tip to the coinbase, which is touched."""
        state, left = self.vm_state, computation.get_gas_remaining()
        used = transaction.gas - left
        refund = self.calculate_gas_refund(computation, used)
        floor = self.calc_data_floor_gas(transaction, used, refund)
        computation.data_floor_gas = floor
        back, paid = left + refund - floor, used - refund + floor
        price_wei = state.get_transaction_context(transaction).gas_price
        if back * price_wei:
            credit(state, computation.msg.sender, back * price_wei)
        credit(state, state.coinbase, paid * state.get_tip(transaction))

    def build_computation(
        self, message: MessageAPI, transaction: SignedTransactionAPI
    ) -> ComputationAPI:
        """Execute a transaction's message, and notify the listener."""
        listener = self.vm_state.listener if isinstance(self.vm_state, WatchedState) else None
        if listener is None:
            return self._apply(message, transaction)
        listener.on_transaction_start(transaction)
        computation = self._apply(message, transaction)
        listener.on_transaction_end(computation)
        return computation

    def _apply(self, message: MessageAPI, transaction: SignedTransactionAPI) -> ComputationAPI:
        state = self.vm_state
        if is_overflowing(state, message):
            return fail_call(state, message, state.get_transaction_context(transaction))
        return super().build_computation(message, transaction)

    def build_evm_message(self, transaction: SignedTransactionAPI) -> MessageAPI:
        """Charge a transaction's fees, increment the sender's nonce; return the message."""
        return build_message(self, transaction)


class PragueAgentTransactionExecutor(AgentTransactionExecutor, PragueTransactionExecutor):
    """The transaction rules of Prague, with one that py-evm lacks.

    An account that delegates to a precompile runs no code (EIP-7702); py-evm follows that in calls,
    but a transaction would run the code that genesis puts at 0x19.
    """

    rules = PRAGUE_RULES

    def get_code_at_address(self, code_address: Address) -> tuple[bytes, Address | None]:
        """Return the code that a transaction to `code_address` runs, and the delegate, if any."""
        code, delegate = super().get_code_at_address(code_address)
        if delegate is not None and delegate in self.vm_state.computation_class.get_precompiles():
            return b"", delegate
        return code, delegate


class OsakaAgentTransactionExecutor(PragueAgentTransactionExecutor):
    """The transaction rules of Osaka: at most six blobs (EIP-7594), and 2^24 gas (EIP-7825)."""

    rules = OSAKA_RULES


def build_message(
    executor: CancunTransactionExecutor, transaction: SignedTransactionAPI
) -> MessageAPI:
    """Charge a valid transaction's fees, increment the sender's nonce; return the message."""
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

"""How a transaction becomes a message of the EVM.

py-evm's own way also writes a line for a log, with the whole code and a hash of the data, whether
anybody reads logs or not: a sixth of a plain call's time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from eth._utils.address import generate_contract_address
from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.vm.forks.cancun.constants import BLOB_TX_TYPE
from eth.vm.message import Message

if TYPE_CHECKING:
    from eth.abc import MessageAPI, SignedTransactionAPI
    from eth.vm.forks.cancun.state import CancunTransactionExecutor
    from eth.vm.forks.cancun.transactions import BlobTransaction


def evm_message(
    executor: CancunTransactionExecutor, transaction: SignedTransactionAPI
) -> MessageAPI:
    """Take a transaction's fees and nonce from its sender; return the message that it is.

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

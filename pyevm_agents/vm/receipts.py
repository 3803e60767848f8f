"""Receipts of transactions since Byzantium, with the bloom filter of their logs.

py-evm's `BloomFilter` takes 20 µs a value, and rlp's constructor 10 µs a record.

Source: the Ethereum Yellow Paper, section 4.4.1 (bloom filter); EIP-658; EIP-2718.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.rlp.logs import Log
from eth.rlp.receipts import Receipt
from eth.vm.forks.byzantium.constants import (
    EIP658_TRANSACTION_STATUS_CODE_FAILURE,
    EIP658_TRANSACTION_STATUS_CODE_SUCCESS,
)
from eth_hash.auto import keccak

from precompiles.spec import WORD_BYTES
from pyevm_agents.vm.rlp_codec import build_record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eth.abc import ComputationAPI, LogAPI, ReceiptAPI, SignedTransactionAPI

BLOOM_BITS = 2_048


def build_receipt(
    transaction: SignedTransactionAPI, computation: ComputationAPI, gas_used: int
) -> ReceiptAPI:
    """Return the receipt of an executed transaction.

    Input: the transaction; its computation; the gas used in the block so far.
    """
    status = EIP658_TRANSACTION_STATUS_CODE_SUCCESS
    if computation.is_error:
        status = EIP658_TRANSACTION_STATUS_CODE_FAILURE
    logs = tuple(build_record(Log, *entry) for entry in computation.get_log_entries())
    receipt: ReceiptAPI = build_record(Receipt, status, gas_used, compute_bloom(logs), logs)
    if transaction.type_id is None:
        return receipt
    builder = transaction.receipt_builder  # type: ignore[attr-defined]
    typed: ReceiptAPI = builder.typed_receipt_class(transaction.type_id, receipt)
    return typed


def compute_bloom(logs: Iterable[LogAPI]) -> int:
    """Return the bloom filter of logs' addresses and topics."""
    bloom = 0
    for log in logs:
        for value in (log.address, *(topic.to_bytes(WORD_BYTES, "big") for topic in log.topics)):
            digest = keccak(value)
            for at in (0, 2, 4):
                bloom |= 1 << int.from_bytes(digest[at : at + 2], "big") % BLOOM_BITS
    return bloom

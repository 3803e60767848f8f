"""Blocks, transactions, receipts and logs as JSON, spelled as execution-apis spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rlp
from eth_bloom.bloom import BloomFilter
from eth_utils import keccak

from pyevm_agents.chain.transactions import (
    BLOB_GAS,
    BLOB_TYPE,
    DYNAMIC_FEE_TYPE,
    SET_CODE_TYPE,
    access_list_of,
    authorizations_of,
    effective_gas_price,
    legacy_v,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth.abc import BlockHeaderAPI, LogAPI, ReceiptAPI, SignedTransactionAPI

    from pyevm_agents.chain import Record

Json = dict[str, object]


def quantity(number: int) -> str:
    """Write a quantity."""
    return hex(number)


def data(value: bytes) -> str:
    """Write bytes."""
    return "0x" + value.hex()


def word(number: int) -> str:
    """Write a number as 32 bytes."""
    return f"0x{number:064x}"


def address(value: bytes) -> str | None:
    """Write an address; null for none."""
    return "0x" + value.hex() if value else None


HEADER_FIELDS: Mapping[str, str] = {
    "base_fee_per_gas": "baseFeePerGas",
    "blob_gas_used": "blobGasUsed",
    "excess_blob_gas": "excessBlobGas",
}
"""Fields that came with later forks, quantities all."""

HEADER_HASHES: Mapping[str, str] = {
    "withdrawals_root": "withdrawalsRoot",
    "parent_beacon_block_root": "parentBeaconBlockRoot",
    "requests_hash": "requestsHash",
}


def header_json(header: BlockHeaderAPI) -> Json:
    """Write a header."""
    fields = header.as_dict()
    form: Json = {
        "number": quantity(header.block_number),
        "hash": data(header.hash),
        "parentHash": data(header.parent_hash),
        "sha3Uncles": data(header.uncles_hash),
        "miner": data(header.coinbase),
        "stateRoot": data(header.state_root),
        "transactionsRoot": data(header.transaction_root),
        "receiptsRoot": data(header.receipt_root),
        "logsBloom": bloom_json(header.bloom),
        "difficulty": quantity(header.difficulty),
        "gasLimit": quantity(header.gas_limit),
        "gasUsed": quantity(header.gas_used),
        "timestamp": quantity(header.timestamp),
        "extraData": data(header.extra_data),
        "mixHash": data(header.mix_hash),
        "nonce": data(header.nonce),
    }
    form |= {told: quantity(fields[name]) for name, told in HEADER_FIELDS.items() if name in fields}
    form |= {told: data(fields[name]) for name, told in HEADER_HASHES.items() if name in fields}
    return form


def block_json(record: Record, *, is_full: bool) -> Json:
    """Write a block, with whole transactions or their hashes."""
    block = record.block
    form = header_json(block.header)
    form["size"] = quantity(len(rlp.encode(block)))
    form["uncles"] = [data(uncle.hash) for uncle in block.uncles]
    if is_full:
        form["transactions"] = [
            transaction_json(transaction, record, index)
            for index, transaction in enumerate(block.transactions)
        ]
    else:
        form["transactions"] = [data(one.hash) for one in block.transactions]
    if "withdrawals_root" in block.header.as_dict():
        form["withdrawals"] = [
            {
                "index": quantity(one.index),
                "validatorIndex": quantity(one.validator_index),
                "address": data(one.address),
                "amount": quantity(one.amount),
            }
            for one in block.withdrawals
        ]
    return form


def transaction_json(
    transaction: SignedTransactionAPI, record: Record | None = None, index: int = 0
) -> Json:
    """Write a transaction, with its place in a block, or none while it waits."""
    kind = type_of(transaction)
    header = None if record is None else record.block.header
    form: Json = {
        "blockHash": None if header is None else data(header.hash),
        "blockNumber": None if header is None else quantity(header.block_number),
        "transactionIndex": None if header is None else quantity(index),
        "hash": data(transaction.hash),
        "type": quantity(kind),
        "nonce": quantity(transaction.nonce),
        "from": data(transaction.sender),
        "to": address(transaction.to),
        "value": quantity(transaction.value),
        "gas": quantity(transaction.gas),
        "input": data(transaction.data),
        "r": quantity(transaction.r),
        "s": quantity(transaction.s),
    }
    base_fee = None if header is None else header.as_dict().get("base_fee_per_gas")
    form["gasPrice"] = quantity(effective_gas_price(transaction, base_fee))
    if kind == 0:
        form["v"] = quantity(legacy_v(transaction))
        if transaction.chain_id is not None:
            form["chainId"] = quantity(transaction.chain_id)
        return form
    form |= {
        "chainId": quantity(transaction.chain_id or 0),
        "v": quantity(transaction.y_parity),
        "yParity": quantity(transaction.y_parity),
        "accessList": access_list_json(transaction),
    }
    if kind >= DYNAMIC_FEE_TYPE:
        form["maxFeePerGas"] = quantity(transaction.max_fee_per_gas)
        form["maxPriorityFeePerGas"] = quantity(transaction.max_priority_fee_per_gas)
    if kind == BLOB_TYPE:
        form["maxFeePerBlobGas"] = quantity(transaction.max_fee_per_blob_gas)
        form["blobVersionedHashes"] = [data(one) for one in transaction.blob_versioned_hashes]
    if kind == SET_CODE_TYPE:
        form["authorizationList"] = [
            {
                "chainId": quantity(one.chain_id),
                "address": data(one.address),
                "nonce": quantity(one.nonce),
                "yParity": quantity(one.y_parity),
                "r": quantity(one.r),
                "s": quantity(one.s),
            }
            for one in authorizations_of(transaction)
        ]
    return form


def access_list_json(transaction: SignedTransactionAPI) -> list[Json]:
    """Write a transaction's access list."""
    return [
        {"address": data(one), "storageKeys": [word(slot) for slot in slots]}
        for one, slots in access_list_of(transaction)
    ]


def receipts_json(record: Record, blob_base_fee: int | None) -> Iterator[Json]:
    """Write the receipts of a block's transactions."""
    header, before_gas, before_logs = record.block.header, 0, 0
    for index, (transaction, receipt) in enumerate(
        zip(record.block.transactions, record.receipts, strict=True)
    ):
        base_fee = header.as_dict().get("base_fee_per_gas")
        form: Json = {
            "blockHash": data(header.hash),
            "blockNumber": quantity(header.block_number),
            "transactionHash": data(transaction.hash),
            "transactionIndex": quantity(index),
            "type": quantity(type_of(transaction)),
            "from": data(transaction.sender),
            "to": address(transaction.to),
            "contractAddress": None if transaction.to else data(created_address(transaction)),
            "gasUsed": quantity(receipt.gas_used - before_gas),
            "cumulativeGasUsed": quantity(receipt.gas_used),
            "effectiveGasPrice": quantity(effective_gas_price(transaction, base_fee)),
            "logsBloom": bloom_json(receipt.bloom),
            "logs": logs_json(record, index, before_logs),
        }
        form |= _outcome(receipt)
        if type_of(transaction) == BLOB_TYPE:
            form["blobGasUsed"] = quantity(BLOB_GAS * len(transaction.blob_versioned_hashes))
            form["blobGasPrice"] = quantity(blob_base_fee or 0)
        before_gas = receipt.gas_used
        before_logs += len(receipt.logs)
        yield form


def _outcome(receipt: ReceiptAPI) -> Json:
    root = receipt.state_root
    if len(root) == len(keccak(b"")):
        return {"root": data(root)}  # Before Byzantium.
    return {"status": quantity(int.from_bytes(root, "big"))}


def logs_json(record: Record, index: int, before: int) -> list[Json]:
    """Write the logs of a transaction, `before` of its block standing before them."""
    header, transaction = record.block.header, record.block.transactions[index]
    return [
        log_json(log)
        | {
            "blockHash": data(header.hash),
            "blockNumber": quantity(header.block_number),
            "blockTimestamp": quantity(header.timestamp),
            "transactionHash": data(transaction.hash),
            "transactionIndex": quantity(index),
            "logIndex": quantity(before + position),
            "removed": False,
        }
        for position, log in enumerate(record.receipts[index].logs)
    ]


def log_json(log: LogAPI) -> Json:
    """Write what a log says."""
    return {
        "address": data(log.address),
        "topics": [word(topic) for topic in log.topics],
        "data": data(log.data),
    }


def bloom_json(bloom: int) -> str:
    """Write a bloom filter."""
    return f"0x{bloom:0512x}"


def may_hold(bloom: int, value: bytes) -> bool:
    """Whether a bloom filter admits that something is in a block."""
    return value in BloomFilter(bloom)


def created_address(transaction: SignedTransactionAPI) -> bytes:
    """Return the address of the contract that a transaction creates."""
    return bytes(keccak(rlp.encode([transaction.sender, transaction.nonce]))[12:])

"""Serializers of blocks, transactions, receipts and logs. Source: execution-apis."""

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
    effective_gas_price,
    get_access_list,
    get_authorizations,
    get_transaction_type,
    legacy_v,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth.abc import BlockHeaderAPI, LogAPI, ReceiptAPI, SignedTransactionAPI

    from pyevm_agents.chain import BlockRecord

Json = dict[str, object]


def encode_quantity(number: int) -> str:
    """Encode a quantity."""
    return hex(number)


def encode_data(value: bytes) -> str:
    """Encode bytes."""
    return "0x" + value.hex()


def encode_word(number: int) -> str:
    """Encode a number as 32 bytes."""
    return f"0x{number:064x}"


def encode_address(value: bytes) -> str | None:
    """Encode an address; None if empty."""
    return "0x" + value.hex() if value else None


HEADER_FIELDS: Mapping[str, str] = {
    "base_fee_per_gas": "baseFeePerGas",
    "blob_gas_used": "blobGasUsed",
    "excess_blob_gas": "excessBlobGas",
}
"""Quantities that later forks added."""

HEADER_HASHES: Mapping[str, str] = {
    "withdrawals_root": "withdrawalsRoot",
    "parent_beacon_block_root": "parentBeaconBlockRoot",
    "requests_hash": "requestsHash",
}


def serialize_header(header: BlockHeaderAPI) -> Json:
    """Serialize a header."""
    fields = header.as_dict()
    form: Json = {
        "number": encode_quantity(header.block_number),
        "hash": encode_data(header.hash),
        "parentHash": encode_data(header.parent_hash),
        "sha3Uncles": encode_data(header.uncles_hash),
        "miner": encode_data(header.coinbase),
        "stateRoot": encode_data(header.state_root),
        "transactionsRoot": encode_data(header.transaction_root),
        "receiptsRoot": encode_data(header.receipt_root),
        "logsBloom": encode_bloom(header.bloom),
        "difficulty": encode_quantity(header.difficulty),
        "gasLimit": encode_quantity(header.gas_limit),
        "gasUsed": encode_quantity(header.gas_used),
        "timestamp": encode_quantity(header.timestamp),
        "extraData": encode_data(header.extra_data),
        "mixHash": encode_data(header.mix_hash),
        "nonce": encode_data(header.nonce),
    }
    form |= {
        key: encode_quantity(fields[name]) for name, key in HEADER_FIELDS.items() if name in fields
    }
    form |= {
        key: encode_data(fields[name]) for name, key in HEADER_HASHES.items() if name in fields
    }
    return form


def encode_block_hash(record: BlockRecord) -> str | None:
    """Encode a block's hash; None for a draft, whose hash changes until it is mined."""
    return None if record.root_before is not None else encode_data(record.block.header.hash)


def serialize_block(record: BlockRecord, *, is_full: bool) -> Json:
    """Serialize a block, with full transactions or their hashes."""
    block = record.block
    form = serialize_header(block.header)
    form["size"] = encode_quantity(len(rlp.encode(block)))
    form["uncles"] = [encode_data(uncle.hash) for uncle in block.uncles]
    if is_full:
        form["transactions"] = [
            serialize_transaction(transaction, record, index)
            for index, transaction in enumerate(block.transactions)
        ]
    else:
        form["transactions"] = [encode_data(tx.hash) for tx in block.transactions]
    if "withdrawals_root" in block.header.as_dict():
        form["withdrawals"] = [
            {
                "index": encode_quantity(withdrawal.index),
                "validatorIndex": encode_quantity(withdrawal.validator_index),
                "address": encode_data(withdrawal.address),
                "amount": encode_quantity(withdrawal.amount),
            }
            for withdrawal in block.withdrawals
        ]
    return form


def serialize_transaction(
    transaction: SignedTransactionAPI, record: BlockRecord | None = None, index: int = 0
) -> Json:
    """Serialize a transaction, with the index in a block; pending without a block."""
    kind = get_transaction_type(transaction)
    header = None if record is None else record.block.header
    form: Json = {
        "blockHash": None if record is None else encode_block_hash(record),
        "blockNumber": None if header is None else encode_quantity(header.block_number),
        "blockTimestamp": None if header is None else encode_quantity(header.timestamp),
        "transactionIndex": None if header is None else encode_quantity(index),
        "hash": encode_data(transaction.hash),
        "type": encode_quantity(kind),
        "nonce": encode_quantity(transaction.nonce),
        "from": encode_data(transaction.sender),
        "to": encode_address(transaction.to),
        "value": encode_quantity(transaction.value),
        "gas": encode_quantity(transaction.gas),
        "input": encode_data(transaction.data),
        "r": encode_quantity(transaction.r),
        "s": encode_quantity(transaction.s),
    }
    base_fee = None if header is None else header.as_dict().get("base_fee_per_gas")
    form["gasPrice"] = encode_quantity(effective_gas_price(transaction, base_fee))
    if kind == 0:
        form["v"] = encode_quantity(legacy_v(transaction))
        if transaction.chain_id is not None:
            form["chainId"] = encode_quantity(transaction.chain_id)
        return form
    form |= {
        "chainId": encode_quantity(transaction.chain_id or 0),
        "v": encode_quantity(transaction.y_parity),
        "yParity": encode_quantity(transaction.y_parity),
        "accessList": serialize_access_list(transaction),
    }
    if kind >= DYNAMIC_FEE_TYPE:
        form["maxFeePerGas"] = encode_quantity(transaction.max_fee_per_gas)
        form["maxPriorityFeePerGas"] = encode_quantity(transaction.max_priority_fee_per_gas)
    if kind == BLOB_TYPE:
        form["maxFeePerBlobGas"] = encode_quantity(transaction.max_fee_per_blob_gas)
        form["blobVersionedHashes"] = [
            encode_data(blob_hash) for blob_hash in transaction.blob_versioned_hashes
        ]
    if kind == SET_CODE_TYPE:
        form["authorizationList"] = [
            {
                "chainId": encode_quantity(authorization.chain_id),
                "address": encode_data(authorization.address),
                "nonce": encode_quantity(authorization.nonce),
                "yParity": encode_quantity(authorization.y_parity),
                "r": encode_quantity(authorization.r),
                "s": encode_quantity(authorization.s),
            }
            for authorization in get_authorizations(transaction)
        ]
    return form


def serialize_access_list(transaction: SignedTransactionAPI) -> list[Json]:
    """Serialize a transaction's access list."""
    return [
        {"address": encode_data(address), "storageKeys": [encode_word(slot) for slot in slots]}
        for address, slots in get_access_list(transaction)
    ]


def serialize_receipts(record: BlockRecord, blob_base_fee: int | None) -> Iterator[Json]:
    """Yield the serialized receipts of a block."""
    header, before_gas, before_logs = record.block.header, 0, 0
    for index, (transaction, receipt) in enumerate(
        zip(record.block.transactions, record.receipts, strict=True)
    ):
        base_fee = header.as_dict().get("base_fee_per_gas")
        form: Json = {
            "blockHash": encode_block_hash(record),
            "blockNumber": encode_quantity(header.block_number),
            "transactionHash": encode_data(transaction.hash),
            "transactionIndex": encode_quantity(index),
            "type": encode_quantity(get_transaction_type(transaction)),
            "from": encode_data(transaction.sender),
            "to": encode_address(transaction.to),
            "contractAddress": None
            if transaction.to
            else encode_data(compute_create_address(transaction)),
            "gasUsed": encode_quantity(receipt.gas_used - before_gas),
            "cumulativeGasUsed": encode_quantity(receipt.gas_used),
            "effectiveGasPrice": encode_quantity(effective_gas_price(transaction, base_fee)),
            "logsBloom": encode_bloom(receipt.bloom),
            "logs": serialize_logs(record, index, before_logs),
        }
        form |= _serialize_outcome(receipt)
        if get_transaction_type(transaction) == BLOB_TYPE:
            form["blobGasUsed"] = encode_quantity(BLOB_GAS * len(transaction.blob_versioned_hashes))
            form["blobGasPrice"] = encode_quantity(blob_base_fee or 0)
        before_gas = receipt.gas_used
        before_logs += len(receipt.logs)
        yield form


def _serialize_outcome(receipt: ReceiptAPI) -> Json:
    root = receipt.state_root
    if len(root) == len(keccak(b"")):
        return {"root": encode_data(root)}  # Before Byzantium.
    return {"status": encode_quantity(int.from_bytes(root, "big"))}


def serialize_logs(record: BlockRecord, index: int, before: int) -> list[Json]:
    """Serialize the logs of a transaction; `before` is the number of earlier logs in the block."""
    header, transaction = record.block.header, record.block.transactions[index]
    return [
        serialize_log(log)
        | {
            "blockHash": encode_block_hash(record),
            "blockNumber": encode_quantity(header.block_number),
            "blockTimestamp": encode_quantity(header.timestamp),
            "transactionHash": encode_data(transaction.hash),
            "transactionIndex": encode_quantity(index),
            "logIndex": encode_quantity(before + position),
            "removed": False,
        }
        for position, log in enumerate(record.receipts[index].logs)
    ]


def serialize_log(log: LogAPI) -> Json:
    """Serialize a log's address, topics and data."""
    return {
        "address": encode_data(log.address),
        "topics": [encode_word(topic) for topic in log.topics],
        "data": encode_data(log.data),
    }


def encode_bloom(bloom: int) -> str:
    """Encode a bloom filter."""
    return f"0x{bloom:0512x}"


def is_in_bloom(bloom: int, value: bytes) -> bool:
    """Return whether a bloom filter may contain an address or a topic."""
    return value in BloomFilter(bloom)


def compute_create_address(transaction: SignedTransactionAPI) -> bytes:
    """Return the address of the contract that a transaction creates."""
    return bytes(keccak(rlp.encode([transaction.sender, transaction.nonce]))[12:])

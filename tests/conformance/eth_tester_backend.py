"""A node as a backend of eth-tester: requests go to the RPC methods of all clients.

eth-tester decides when blocks are mined. The node mines none of its own.
"""

from __future__ import annotations

import re
import time
from typing import Any

from eth_keys.datatypes import PrivateKey
from eth_tester.backends.base import BaseChainBackend
from eth_tester.exceptions import (
    BlockNotFound,
    TransactionFailed,
    TransactionNotFound,
    ValidationError,
)
from eth_utils import to_canonical_address, to_hex

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.node import Keys, MiningMode, Node
from pyevm_agents.rpc.errors import EXECUTION_REVERTED, RpcError
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session

GWEI = 10**9
ETHER = 10**18
KEYS = tuple(PrivateKey(number.to_bytes(32, "big")) for number in range(1, 11))
"""The keys of eth-tester's own backend."""

NUMBERS = frozenset(
    [
        *("amount", "base_fee_per_gas", "blob_gas_price", "blob_gas_used", "block_number"),
        *("chain_id", "cumulative_gas_used", "difficulty", "effective_gas_price"),
        *("excess_blob_gas", "gas", "gas_limit", "gas_price", "gas_used", "index", "log_index"),
        *("logs_bloom", "max_fee_per_blob_gas", "max_fee_per_gas", "max_priority_fee_per_gas"),
        *("number", "oldest_block", "r", "s", "size", "status", "timestamp", "transaction_index"),
        *("type", "v", "validator_index", "value", "y_parity"),
    ]
)
"""Fields that are numbers; all other texts are bytes."""

ASKED = {
    "from": "from",
    "to": "to",
    "gas": "gas",
    "gas_price": "gasPrice",
    "max_fee_per_gas": "maxFeePerGas",
    "max_priority_fee_per_gas": "maxPriorityFeePerGas",
    "value": "value",
    "data": "data",
    "nonce": "nonce",
    "access_list": "accessList",
}
"""Fields of a transaction, and what clients call them."""


FEES = ("gas_price", "max_fee_per_gas", "max_priority_fee_per_gas")


class NodeBackend(BaseChainBackend):  # type: ignore[misc]  # eth-tester has no types
    """A node behind eth-tester."""

    def __init__(self) -> None:
        """Begin a chain."""
        self._begin()

    def _begin(self) -> None:
        keys = Keys(list(KEYS))
        accounts = {one: GenesisAccount(balance_wei=1_000_000 * ETHER) for one in keys.addresses}
        config = ChainConfig(
            chain_id=1,
            base_fee_wei=GWEI,
            genesis_timestamp_seconds=int(time.time()),
        )
        mining = MiningMode(is_automatic=False)
        node = Node(Chain(config, accounts=accounts), now=time.time, keys=keys, mining=mining)
        self._node, self._session = node, Session("eth-tester")
        self._service = build_node_service(node, send_seconds=240)

    def _ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        return self._service.call(method, list(params), self._session)

    # -- snapshots and time -- #

    def take_snapshot(self) -> str:
        return str(self._ask("evm_snapshot"))

    def revert_to_snapshot(self, snapshot: str) -> None:
        assert self._ask("evm_revert", snapshot)

    def reset_to_genesis(self, *_: object) -> None:
        self._node.close()
        self._begin()

    def time_travel(self, to_timestamp: int) -> int:
        self._ask("evm_setNextBlockTimestamp", to_timestamp - 1)
        self._ask("evm_mine")
        return to_timestamp

    def mine_blocks(self, num_blocks: int = 1, coinbase: bytes = bytes(20)) -> tuple[bytes, ...]:
        self._ask("anvil_setCoinbase", to_hex(coinbase))
        hashes = []
        for _ in range(num_blocks):
            self._ask("evm_mine")
            hashes.append(self.get_block_by_number("latest")["hash"])
        return tuple(hashes)

    # -- accounts -- #

    def get_accounts(self) -> tuple[bytes, ...]:
        return tuple(map(bytes, self._node.keys.addresses))

    def add_account(self, private_key: bytes) -> None:
        self._node.keys = Keys([*self._keys(), PrivateKey(private_key)])

    def _keys(self) -> list[PrivateKey]:
        found = (self._node.keys.get_key(one) for one in self._node.keys.addresses)
        return [key for key in found if key is not None]

    def get_nonce(self, account: bytes, block_number: object = "latest") -> int:
        return int(self._ask("eth_getTransactionCount", to_hex(account), _block(block_number)), 16)

    def get_balance(self, account: bytes, block_number: object = "latest") -> int:
        return int(self._ask("eth_getBalance", to_hex(account), _block(block_number)), 16)

    def get_code(self, account: bytes, block_number: object = "latest") -> bytes:
        return _bytes(self._ask("eth_getCode", to_hex(account), _block(block_number)))

    def get_storage(self, account: bytes, slot: int, block_number: object = "latest") -> int:
        at = _block(block_number)
        return int(self._ask("eth_getStorageAt", to_hex(account), hex(slot), at), 16)

    def get_base_fee(self, block_number: object = "latest") -> int:
        return int(self.get_block_by_number(block_number)["base_fee_per_gas"])

    # -- blocks and transactions -- #

    def get_block_by_number(self, block_number: object, full_transaction: bool = True) -> Any:  # noqa: ANN401, FBT002 - eth-tester's
        is_full = full_transaction
        return self._block(self._ask("eth_getBlockByNumber", _block(block_number), is_full))

    def get_block_by_hash(self, block_hash: bytes, full_transaction: bool = True) -> Any:  # noqa: ANN401, FBT002 - eth-tester's
        is_full = full_transaction
        return self._block(self._ask("eth_getBlockByHash", to_hex(block_hash), is_full))

    def _block(self, form: Any) -> Any:  # noqa: ANN401 - JSON
        if form is None:
            raise BlockNotFound("no such block")
        block = _read(form)
        block["transactions"] = [self._transaction(one) for one in form["transactions"]]
        block["coinbase"] = block.pop("miner") or bytes(20)
        block["total_difficulty"] = block["difficulty"]
        block["extra_data"] = block["extra_data"].rjust(32, b"\0")
        for name, size in (("hash", 32), ("nonce", 8)):
            block[name] = block[name] or bytes(size)
        return block

    def get_transaction_by_hash(self, transaction_hash: bytes) -> Any:  # noqa: ANN401 - eth-tester's
        form = self._ask("eth_getTransactionByHash", to_hex(transaction_hash))
        if form is None:
            raise TransactionNotFound(to_hex(transaction_hash))
        return self._transaction(form)

    def _transaction(self, form: Any) -> Any:  # noqa: ANN401 - JSON
        """Return a transaction with the fields that eth-tester knows."""
        if not isinstance(form, dict):
            return _bytes(form)
        transaction = _read(form)
        if transaction["type"] == 0:
            transaction.pop("chain_id", None)
        return transaction

    def get_transaction_receipt(self, transaction_hash: bytes) -> Any:  # noqa: ANN401 - eth-tester's
        form = self._ask("eth_getTransactionReceipt", to_hex(transaction_hash))
        if form is None:
            form = self._receipt_to_be(to_hex(transaction_hash))
        receipt = _read(form)
        del receipt["logs_bloom"]
        receipt["state_root"] = bytes([receipt["status"]])
        for log in receipt["logs"]:
            log["type"] = "mined" if log["block_number"] is not None else "pending"
            log.pop("removed", None)
            log.pop("block_timestamp", None)
        return receipt

    def _receipt_to_be(self, transaction_hash: str) -> Any:  # noqa: ANN401 - JSON
        for form in self._ask("eth_getBlockReceipts", "pending") or []:
            if form["transactionHash"] == transaction_hash:
                nowhere = {"blockHash": None, "blockNumber": None, "transactionIndex": None}
                return form | nowhere | {"logs": [log | nowhere for log in form["logs"]]}
        raise TransactionNotFound(transaction_hash)

    def get_fee_history(
        self,
        block_count: int = 1,
        newest_block: object = "latest",
        reward_percentiles: tuple[int, ...] | None = None,
    ) -> Any:  # noqa: ANN401 - eth-tester's
        if newest_block is None and block_count:
            raise BlockNotFound("No block found for block number: None")
        if isinstance(block_count, int) and not 1 <= block_count <= 1024:
            raise ValidationError("block_count must be between 1 and 1024")
        form = self._ask(
            "eth_feeHistory", hex(block_count), _block(newest_block), [*(reward_percentiles or ())]
        )
        return {
            "oldest_block": int(form["oldestBlock"], 16),
            "base_fee_per_gas": [int(one, 16) for one in form["baseFeePerGas"]],
            "gas_used_ratio": form["gasUsedRatio"],
            "reward": [[int(one, 16) for one in block] for block in form.get("reward", [])],
        }

    # -- sending and calling -- #

    def send_raw_transaction(self, raw_transaction: bytes) -> bytes:
        try:
            return _bytes(self._ask("eth_sendRawTransaction", to_hex(raw_transaction)))
        except RpcError as error:
            raise error.__cause__ or error from error

    def send_transaction(self, transaction: dict[str, Any]) -> bytes:
        try:
            return _bytes(self._ask("eth_sendTransaction", _asked(_with_fees(transaction))))
        except RpcError as error:
            raise ValidationError(error.message) from error

    def send_signed_transaction(self, transaction: dict[str, Any]) -> bytes:
        names = ("nonce", "gas_price", "gas", "to", "value", "data", "v", "r", "s")
        if "gas_price" not in transaction:
            raise NotImplementedError("eth-tester then sends it without its signature")
        fields = {name: transaction[name] for name in names}
        signed = self._node.chain.transaction_builder.new_transaction(**fields)
        return self.send_raw_transaction(signed.encode())

    def estimate_gas(self, transaction: dict[str, Any], block_number: object = "latest") -> int:
        with _failures():
            found = self._ask("eth_estimateGas", _asked(transaction), _block(block_number))
        return int(found, 16)

    def call(self, transaction: dict[str, Any], block_number: object = "latest") -> bytes:
        with _failures():
            return _bytes(self._ask("eth_call", _asked(transaction), _block(block_number)))


class _failures:  # noqa: N801 - used as a function
    """Report a failed execution as eth-tester does."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, RpcError):
            reason = error.message.removeprefix("execution reverted: ")
            if error.code != EXECUTION_REVERTED:
                reason = error.message
            raise TransactionFailed(reason) from error


def _with_fees(transaction: dict[str, Any]) -> dict[str, Any]:
    """Apply the defaults of eth-tester's own backend."""
    if any(name in transaction for name in FEES):
        return transaction
    return transaction | dict.fromkeys(FEES[1:], GWEI)


def _asked(transaction: dict[str, Any]) -> dict[str, object]:
    form: dict[str, object] = {}
    for name, told in ASKED.items():
        value = transaction.get(name)
        if value is None or value == b"":
            continue
        if name == "access_list":
            form[told] = [
                {"address": to_hex(one), "storageKeys": [f"0x{slot:064x}" for slot in slots]}
                for one, slots in value
            ]
        else:
            form[told] = to_hex(value) if isinstance(value, bytes) else hex(value)
    return form


def _block(block: object) -> object:
    return hex(block) if isinstance(block, int) else block


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: "_" + found[1].lower(), name)


def _read(form: Any, name: str = "") -> Any:  # noqa: ANN401 - JSON
    """Return JSON with eth-tester's names and types."""
    if isinstance(form, dict):
        read: dict[str, Any] = {}
        for key, value in form.items():
            own = "data" if key == "input" else _snake(key)
            number = int(value, 16) if own == "nonce" and "gas" in form else None
            read[own] = _read(value, own) if number is None else number
        if "storage_keys" in read:
            slots = tuple(int.from_bytes(one, "big") for one in read["storage_keys"])
            return read["address"], slots
        if "to" in read:
            read["to"] = read["to"] or b""
        return read
    if isinstance(form, list):
        return [_read(value, name) for value in form]
    if name in {"address", "from", "to"} and isinstance(form, str):
        return to_canonical_address(form)
    if isinstance(form, str):
        return int(form, 16) if name in NUMBERS else _bytes(form)
    return form

"""`anvil_*` and `hardhat_*` that drop, undo, dump and load; `evm.py` has what sets and mines.

`anvil_*` and `hardhat_*` that give accounts ether, tokens and allowances.

Where a token keeps a balance is found by asking it: a call of `balanceOf` tells which slots it
reads, and the right one is that whose value is the answer.
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

import orjson
from eth_utils import ValidationError, keccak

from pyevm_agents.chain.calls import AccountOverride, Call
from pyevm_agents.node.state_dump import dump, load
from pyevm_agents.node.transaction_defaults import (
    fill_transaction,
    prepare_transaction,
    resolve_signer,
    suggest_gas_price,
)
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.errors import INVALID_PARAMS, SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.methods.net import client_version
from pyevm_agents.rpc.params import (
    address,
    anything,
    boolean,
    data,
    hash32,
    invalid,
    listed,
    mapping,
    quantity,
    seconds,
    uint64,
)
from pyevm_agents.rpc.transaction_params import asked, decode_transaction
from pyevm_agents.rpc.unsupported import NO_FORK

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI, StateAPI
    from eth_typing import Address

    from pyevm_agents.chain import Chain
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json


METHODS = Table()

MAX_DUMP_BYTES = 256 * 2**20
"""Of a dump that is unpacked: 8 MB of gzip can hold a thousand times as much."""

MAX_DEPTH = 10_000
"""Blocks that one reorganisation replaces at most: each is made anew."""


# -- what waits -- #


@METHODS.method("anvil_dropTransaction", "hardhat_dropTransaction", hash32, is_quick=True)
def drop_transaction(rpc: Rpc, transaction_hash: bytes) -> str | None:
    """Let a transaction wait no longer; return its hash, null where it did not wait."""
    dropped = rpc.change(lambda: rpc.node.pool.remove(transaction_hash))
    return None if dropped is None else serializers.data(transaction_hash)


@METHODS.method("anvil_dropAllTransactions", "hardhat_dropAllTransactions", is_quick=True)
def drop_all_transactions(rpc: Rpc) -> None:
    """Let no transaction wait."""
    rpc.change(rpc.node.pool.clear)


@METHODS.method("anvil_removePoolTransactions", address, is_quick=True)
def remove_pool_transactions(rpc: Rpc, account: Address) -> None:
    """Let none of an account's transactions wait."""
    rpc.change(lambda: rpc.node.pool.remove_of(account))


@METHODS.method("eth_sendUnsignedTransaction", asked)
def send_unsigned_transaction(rpc: Rpc, transaction: TransactionRequest) -> str:
    """Send a transaction in anybody's name, without a key; return its hash."""
    if transaction.sender is None:
        raise RpcError(INVALID_PARAMS, "from is missing: say in whose name it is sent")
    make = prepare_transaction(rpc.node, transaction, transaction.sender, may_sign=False)
    return serializers.data(rpc.send(make))


# -- time -- #


@METHODS.method("anvil_getIntervalMining", is_quick=True)
def get_interval_mining(rpc: Rpc) -> int | None:
    """Return how often a block is made, in seconds; null for never."""
    interval = rpc.node.mining.interval_seconds
    return int(interval) if interval else None


@METHODS.method("anvil_getGenesisTime")
def get_genesis_time(rpc: Rpc) -> int:
    """Return the time of block 0, in seconds since 1970."""
    return int(rpc.node.chain.header(0).timestamp)


@METHODS.method(
    "anvil_setBlockTimestampInterval", "evm_setBlockTimestampInterval", seconds, is_quick=True
)
def set_block_timestamp_interval(rpc: Rpc, interval: int) -> None:
    """Let each block be so many seconds after its parent, whatever the world's time."""
    rpc.change(lambda: rpc.node.clock.set_interval(interval))


@METHODS.method(
    "anvil_removeBlockTimestampInterval", "evm_removeBlockTimestampInterval", is_quick=True
)
def remove_block_timestamp_interval(rpc: Rpc) -> bool:
    """Go by the world's time again; return whether there was an interval."""

    def work() -> bool:
        was_set = rpc.node.clock.settings.interval_seconds is not None
        rpc.node.clock.set_interval(None)
        return was_set

    return rpc.change(work)


# -- going back -- #


@METHODS.method("anvil_rollback", optional(uint64, 1))
def rollback(rpc: Rpc, depth: int) -> None:
    """Go back by so many blocks; their transactions are gone."""
    rpc.node.do(lambda: rpc.node.history.rollback(depth)).result()


@METHODS.method("anvil_reorg", uint64, optional(listed))
def reorg(rpc: Rpc, depth: int, transactions: list[object] | None) -> None:
    """Put other blocks in the place of the latest: of pairs of a transaction and its block."""
    head = rpc.node.chain.head.block_number
    if depth > min(head, MAX_DEPTH):
        raise invalid(
            "depth", depth, f"want at most the chain's height, {head}, and at most {MAX_DEPTH}"
        )
    pairs = [_pair(one, f"transactions[{i}]", depth) for i, one in enumerate(transactions or [])]

    def work() -> None:
        blocks: list[list[SignedTransactionAPI]] = [[] for _ in range(depth)]
        nonces: dict[Address, int] = {}
        base = rpc.node.chain.header(rpc.node.chain.head.block_number - depth)
        state = rpc.node.chain.state(base)
        for told, index in sorted(pairs, key=lambda pair: pair[1]):
            if isinstance(told, bytes):
                made = decode_transaction(told, rpc.node.chain.transaction_builder)
            else:
                sender = resolve_signer(rpc.node, told)
                nonce = nonces.get(sender, state.get_nonce(sender))
                gas = base.gas_limit if told.gas is None else told.gas
                request = replace(told, nonce=nonce, gas=gas)
                made = fill_transaction(rpc.node, request, sender)
            nonces[made.sender] = made.nonce + 1
            blocks[index].append(made)
        try:
            rpc.node.reorganize(blocks)
        except ValidationError as error:
            raise RpcError(SERVER_ERROR, f"no block may hold that: {error}") from error

    rpc.node.do(work).result()


def _pair(value: object, name: str, depth: int) -> tuple[TransactionRequest | bytes, int]:
    pair = listed(value, name)
    if len(pair) != 2:  # noqa: PLR2004 - a pair
        raise invalid(name, pair, "want a transaction and the place of its block")
    told, index = pair
    place = uint64(index, f"{name}[1]")
    if place >= depth:
        raise invalid(f"{name}[1]", index, f"want a place from 0 to {depth - 1}")
    read = data if isinstance(told, str) else asked
    return read(told, f"{name}[0]"), place


@METHODS.method("anvil_reset", "hardhat_reset", optional(anything))
def reset(rpc: Rpc, options: object) -> None:
    """Go back to genesis, with nothing waiting and nobody impersonated."""
    told = {} if options is None else mapping(options, "options")
    if told.get("forking") is not None:
        raise invalid("options.forking", told["forking"], NO_FORK)
    rpc.node.do(rpc.node.reset).result()


# -- all of it -- #


@METHODS.method("anvil_dumpState", "hardhat_dumpState", optional(boolean))
def dump_state(rpc: Rpc, preserve_historical_states: bool | None) -> str:  # noqa: ARG001, FBT001 - anvil's
    """Return all accounts and the head's number and time, as gzipped JSON in hexadecimal."""
    form = json.dumps(rpc.node.do(lambda: dump(rpc.node)).result(), separators=(",", ":"))
    return serializers.data(gzip.compress(form.encode(), mtime=0))


@METHODS.method("anvil_loadState", "hardhat_loadState", data)
def load_state(rpc: Rpc, state: bytes) -> bool:
    """Put a dump's accounts into the latest state, and mine up to its head's number and time."""
    form = _unpacked(state)
    rpc.node.do(lambda: load(rpc.node, form)).result()
    return True


def _unpacked(state: bytes) -> object:
    """Unpack a dump."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = unpacker.decompress(state, MAX_DUMP_BYTES)
        form = orjson.loads(text) if unpacker.eof else None
    except (zlib.error, ValueError) as error:
        raise _no_dump(str(error)) from error
    if not unpacker.eof:
        raise _no_dump(f"it is cut off, or has more than {MAX_DUMP_BYTES:,} bytes unpacked")
    return form


def _no_dump(reason: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"invalid params: state: Failed to decode state dump: {reason}")


# -- what the node is -- #


@METHODS.method("anvil_nodeInfo")
def node_info(rpc: Rpc) -> Json:
    """Return where the chain stands and what rules it has."""
    head, following = rpc.node.chain.head, rpc.node.next_block.header()
    base_fee = int(following.base_fee_per_gas or 0)
    return {
        "currentBlockNumber": serializers.quantity(head.block_number),
        "currentBlockTimestamp": head.timestamp,
        "currentBlockHash": serializers.data(head.hash),
        "hardFork": rpc.node.chain.config.fork.capitalize(),
        "transactionOrder": "fees",
        "environment": {
            "baseFee": serializers.quantity(base_fee),
            "chainId": rpc.node.chain.config.chain_id,
            "gasLimit": serializers.quantity(following.gas_limit),
            "gasPrice": serializers.quantity(suggest_gas_price(rpc.node)),
        },
        "forkConfig": {"forkUrl": None, "forkBlockNumber": None, "forkRetryBackoff": None},
    }


@METHODS.method("anvil_metadata", "hardhat_metadata")
def metadata(rpc: Rpc) -> Json:
    """Return which node this is, and its snapshots."""
    head = rpc.node.chain.head
    return {
        "clientVersion": client_version(rpc),
        "clientSemver": version("pyevm-agents"),
        "chainId": rpc.node.chain.config.chain_id,
        "instanceId": serializers.data(rpc.node.instance_id),
        "latestBlockNumber": head.block_number,
        "latestBlockHash": serializers.data(head.hash),
        "forkedNetwork": None,
        "snapshots": {
            hex(number): [header.block_number, serializers.data(header.hash)]
            for number, header in rpc.node.history.snapshots.items()
        },
    }


@METHODS.method("anvil_setLoggingEnabled", "hardhat_setLoggingEnabled", boolean)
def set_logging_enabled(rpc: Rpc, enabled: bool) -> None:  # noqa: FBT001 - JSON-RPC has places
    """Write a log of requests and transactions, or not."""
    rpc.node.is_logging = enabled


BALANCE_OF = keccak(b"balanceOf(address)")[:4]
ALLOWANCE = keccak(b"allowance(address,address)")[:4]

PROBE = 0x1D0_5EED_0F_A_51_07
"""A balance that no token answers by chance."""


@METHODS.method("anvil_addBalance", "hardhat_addBalance", "tenderly_addBalance", address, quantity)
def add_balance(rpc: Rpc, account: Address, balance: int) -> None:
    """Give an account so much more, in wei."""

    def change(state: StateAPI) -> None:
        most = 2**256 - 1
        state.set_balance(account, min(state.get_balance(account) + balance, most))

    rpc.change(lambda: rpc.node.modify(change))


@METHODS.method(
    "anvil_dealERC20",
    "hardhat_dealERC20",
    "anvil_setERC20Balance",
    "hardhat_setERC20Balance",
    address,
    address,
    quantity,
)
def deal_erc20(rpc: Rpc, account: Address, token: Address, balance: int) -> None:
    """Give an account its balance of a token."""
    asks = BALANCE_OF + _word(account)
    _set_answer(rpc, Call(to=token, data=asks), balance, "ERC20 balance")


@METHODS.method("anvil_setERC20Allowance", address, address, address, quantity)
def set_erc20_allowance(
    rpc: Rpc, owner: Address, spender: Address, token: Address, amount: int
) -> None:
    """Let somebody spend so much of an account's token."""
    asks = ALLOWANCE + _word(owner) + _word(spender)
    _set_answer(rpc, Call(to=token, data=asks), amount, "ERC20 allowance")


def _word(account: Address) -> bytes:
    return account.rjust(32, b"\0")


def _set_answer(rpc: Rpc, call: Call, value: int, what: str) -> None:
    """Set the slot that a call of a token answers with."""

    def work() -> None:
        token = call.to
        assert token is not None  # noqa: S101 - whom is asked
        slot = _slot_of(rpc.node.chain, call, token)
        if slot is None:
            raise RpcError(
                SERVER_ERROR,
                f"Unable to set {what}, no slot found: {serializers.data(token)} answers with none "
                "of its slots as it is",
            )
        rpc.node.modify(lambda state: state.set_storage(token, slot, value))

    rpc.node.do(work).result()


def _slot_of(chain: Chain, call: Call, token: Address) -> int | None:
    try:
        for slot in sorted(chain.slots_of_call(call, token)):
            told = {token: AccountOverride(storage_diff={slot: PROBE})}
            if chain.call(call, overrides=told).output == PROBE.to_bytes(32, "big"):
                return slot
    except ValidationError:
        return None
    return None

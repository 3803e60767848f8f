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
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.methods.net import client_version
from pyevm_agents.rpc.params import (
    accept_any,
    invalid_param_error,
    parse_address,
    parse_boolean,
    parse_data,
    parse_hash32,
    parse_list,
    parse_object,
    parse_quantity,
    parse_seconds,
    parse_uint64,
)
from pyevm_agents.rpc.transaction_params import decode_transaction, parse_transaction_request
from pyevm_agents.rpc.unsupported import NO_FORK

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI, StateAPI
    from eth_typing import Address

    from pyevm_agents.chain import Chain
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json


METHODS = MethodTable()

MAX_DUMP_BYTES = 256 * 2**20
"""Of a dump that is unpacked: 8 MB of gzip can hold a thousand times as much."""

MAX_DEPTH = 10_000
"""Blocks that one reorganisation replaces at most: each is made anew."""


# -- what waits -- #


@METHODS.method("anvil_dropTransaction", "hardhat_dropTransaction", parse_hash32, is_quick=True)
def drop_transaction(rpc: RequestContext, transaction_hash: bytes) -> str | None:
    """Let a transaction wait no longer; return its hash, null where it did not wait."""
    dropped = rpc.run_exclusive(lambda: rpc.node.pool.remove(transaction_hash))
    return None if dropped is None else serializers.encode_data(transaction_hash)


@METHODS.method("anvil_dropAllTransactions", "hardhat_dropAllTransactions", is_quick=True)
def drop_all_transactions(rpc: RequestContext) -> None:
    """Let no transaction wait."""
    rpc.run_exclusive(rpc.node.pool.clear)


@METHODS.method("anvil_removePoolTransactions", parse_address, is_quick=True)
def remove_pool_transactions(rpc: RequestContext, account: Address) -> None:
    """Let none of an account's transactions wait."""
    rpc.run_exclusive(lambda: rpc.node.pool.remove_by_sender(account))


@METHODS.method("eth_sendUnsignedTransaction", parse_transaction_request)
def send_unsigned_transaction(rpc: RequestContext, transaction: TransactionRequest) -> str:
    """Send a transaction in anybody's name, without a key; return its hash."""
    if transaction.sender is None:
        raise RpcError(INVALID_PARAMS, "from is missing: say in whose name it is sent")
    make = prepare_transaction(rpc.node, transaction, transaction.sender, may_sign=False)
    return serializers.encode_data(rpc.send(make))


# -- time -- #


@METHODS.method("anvil_getIntervalMining", is_quick=True)
def get_interval_mining(rpc: RequestContext) -> int | None:
    """Return how often a block is made, in seconds; null for never."""
    interval = rpc.node.mining.interval_seconds
    return int(interval) if interval else None


@METHODS.method("anvil_getGenesisTime")
def get_genesis_time(rpc: RequestContext) -> int:
    """Return the time of block 0, in seconds since 1970."""
    return int(rpc.node.chain.header(0).timestamp)


@METHODS.method(
    "anvil_setBlockTimestampInterval", "evm_setBlockTimestampInterval", parse_seconds, is_quick=True
)
def set_block_timestamp_interval(rpc: RequestContext, interval: int) -> None:
    """Let each block be so many seconds after its parent, whatever the world's time."""
    rpc.run_exclusive(lambda: rpc.node.clock.set_interval(interval))


@METHODS.method(
    "anvil_removeBlockTimestampInterval", "evm_removeBlockTimestampInterval", is_quick=True
)
def remove_block_timestamp_interval(rpc: RequestContext) -> bool:
    """Go by the world's time again; return whether there was an interval."""

    def clear_interval() -> bool:
        was_set = rpc.node.clock.settings.interval_seconds is not None
        rpc.node.clock.set_interval(None)
        return was_set

    return rpc.run_exclusive(clear_interval)


# -- going back -- #


@METHODS.method("anvil_rollback", optional(parse_uint64, 1))
def rollback(rpc: RequestContext, depth: int) -> None:
    """Go back by so many blocks; their transactions are gone."""
    rpc.node.submit_change(lambda: rpc.node.history.rollback(depth)).result()


@METHODS.method("anvil_reorg", parse_uint64, optional(parse_list))
def reorg(rpc: RequestContext, depth: int, transactions: list[object] | None) -> None:
    """Put other blocks in the place of the latest: of pairs of a transaction and its block."""
    head = rpc.node.chain.head.block_number
    if depth > min(head, MAX_DEPTH):
        raise invalid_param_error(
            "depth", depth, f"want at most the chain's height, {head}, and at most {MAX_DEPTH}"
        )
    pairs = [
        _parse_reorg_pair(item, f"transactions[{i}]", depth)
        for i, item in enumerate(transactions or [])
    ]

    def replace_blocks() -> None:
        blocks: list[list[SignedTransactionAPI]] = [[] for _ in range(depth)]
        nonces: dict[Address, int] = {}
        base = rpc.node.chain.header(rpc.node.chain.head.block_number - depth)
        state = rpc.node.chain.state(base)
        for payload, index in sorted(pairs, key=lambda pair: pair[1]):
            if isinstance(payload, bytes):
                transaction = decode_transaction(payload, rpc.node.chain.transaction_builder)
            else:
                sender = resolve_signer(rpc.node, payload)
                nonce = nonces.get(sender, state.get_nonce(sender))
                gas = base.gas_limit if payload.gas is None else payload.gas
                request = replace(payload, nonce=nonce, gas=gas)
                transaction = fill_transaction(rpc.node, request, sender)
            nonces[transaction.sender] = transaction.nonce + 1
            blocks[index].append(transaction)
        try:
            rpc.node.reorganize(blocks)
        except ValidationError as error:
            raise RpcError(SERVER_ERROR, f"no block may hold that: {error}") from error

    rpc.node.submit_change(replace_blocks).result()


def _parse_reorg_pair(
    value: object, name: str, depth: int
) -> tuple[TransactionRequest | bytes, int]:
    pair = parse_list(value, name)
    if len(pair) != 2:  # noqa: PLR2004 - a pair
        raise invalid_param_error(name, pair, "want a transaction and the place of its block")
    payload, index = pair
    place = parse_uint64(index, f"{name}[1]")
    if place >= depth:
        raise invalid_param_error(f"{name}[1]", index, f"want a place from 0 to {depth - 1}")
    read = parse_data if isinstance(payload, str) else parse_transaction_request
    return read(payload, f"{name}[0]"), place


@METHODS.method("anvil_reset", "hardhat_reset", optional(accept_any))
def reset(rpc: RequestContext, options: object) -> None:
    """Go back to genesis, with nothing waiting and nobody impersonated."""
    form = {} if options is None else parse_object(options, "options")
    if form.get("forking") is not None:
        raise invalid_param_error("options.forking", form["forking"], NO_FORK)
    rpc.node.submit_change(rpc.node.reset).result()


# -- all of it -- #


@METHODS.method("anvil_dumpState", "hardhat_dumpState", optional(parse_boolean))
def dump_state(rpc: RequestContext, preserve_historical_states: bool | None) -> str:  # noqa: ARG001, FBT001 - anvil's
    """Return all accounts and the head's number and time, as gzipped JSON in hexadecimal."""
    form = json.dumps(
        rpc.node.submit_change(lambda: dump(rpc.node)).result(), separators=(",", ":")
    )
    return serializers.encode_data(gzip.compress(form.encode(), mtime=0))


@METHODS.method("anvil_loadState", "hardhat_loadState", parse_data)
def load_state(rpc: RequestContext, state: bytes) -> bool:
    """Put a dump's accounts into the latest state, and mine up to its head's number and time."""
    form = _unpack_dump(state)
    rpc.node.submit_change(lambda: load(rpc.node, form)).result()
    return True


def _unpack_dump(state: bytes) -> object:
    """Unpack a dump."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = unpacker.decompress(state, MAX_DUMP_BYTES)
        form = orjson.loads(text) if unpacker.eof else None
    except (zlib.error, ValueError) as error:
        raise _invalid_dump_error(str(error)) from error
    if not unpacker.eof:
        raise _invalid_dump_error(
            f"it is cut off, or has more than {MAX_DUMP_BYTES:,} bytes unpacked"
        )
    return form


def _invalid_dump_error(reason: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"invalid params: state: Failed to decode state dump: {reason}")


# -- what the node is -- #


@METHODS.method("anvil_nodeInfo")
def node_info(rpc: RequestContext) -> Json:
    """Return where the chain stands and what rules it has."""
    head, following = rpc.node.chain.head, rpc.node.next_block.build_header()
    base_fee = int(following.base_fee_per_gas or 0)
    return {
        "currentBlockNumber": serializers.encode_quantity(head.block_number),
        "currentBlockTimestamp": head.timestamp,
        "currentBlockHash": serializers.encode_data(head.hash),
        "hardFork": rpc.node.chain.config.fork.capitalize(),
        "transactionOrder": "fees",
        "environment": {
            "baseFee": serializers.encode_quantity(base_fee),
            "chainId": rpc.node.chain.config.chain_id,
            "gasLimit": serializers.encode_quantity(following.gas_limit),
            "gasPrice": serializers.encode_quantity(suggest_gas_price(rpc.node)),
        },
        "forkConfig": {"forkUrl": None, "forkBlockNumber": None, "forkRetryBackoff": None},
    }


@METHODS.method("anvil_metadata", "hardhat_metadata")
def metadata(rpc: RequestContext) -> Json:
    """Return which node this is, and its snapshots."""
    head = rpc.node.chain.head
    return {
        "clientVersion": client_version(rpc),
        "clientSemver": version("pyevm-agents"),
        "chainId": rpc.node.chain.config.chain_id,
        "instanceId": serializers.encode_data(rpc.node.instance_id),
        "latestBlockNumber": head.block_number,
        "latestBlockHash": serializers.encode_data(head.hash),
        "forkedNetwork": None,
        "snapshots": {
            hex(number): [header.block_number, serializers.encode_data(header.hash)]
            for number, header in rpc.node.history.snapshots.items()
        },
    }


@METHODS.method("anvil_setLoggingEnabled", "hardhat_setLoggingEnabled", parse_boolean)
def set_logging_enabled(rpc: RequestContext, enabled: bool) -> None:  # noqa: FBT001 - JSON-RPC has places
    """Write a log of requests and transactions, or not."""
    rpc.node.is_logging = enabled


BALANCE_OF = keccak(b"balanceOf(address)")[:4]
ALLOWANCE = keccak(b"allowance(address,address)")[:4]

PROBE = 0x1D0_5EED_0F_A_51_07
"""A balance that no token answers by chance."""


@METHODS.method(
    "anvil_addBalance", "hardhat_addBalance", "tenderly_addBalance", parse_address, parse_quantity
)
def add_balance(rpc: RequestContext, account: Address, balance: int) -> None:
    """Give an account so much more, in wei."""

    def change(state: StateAPI) -> None:
        most = 2**256 - 1
        state.set_balance(account, min(state.get_balance(account) + balance, most))

    rpc.run_exclusive(lambda: rpc.node.patch_state(change))


@METHODS.method(
    "anvil_dealERC20",
    "hardhat_dealERC20",
    "anvil_setERC20Balance",
    "hardhat_setERC20Balance",
    parse_address,
    parse_address,
    parse_quantity,
)
def deal_erc20(rpc: RequestContext, account: Address, token: Address, balance: int) -> None:
    """Give an account its balance of a token."""
    asks = BALANCE_OF + _pad_address(account)
    _set_token_slot(rpc, Call(to=token, data=asks), balance, "ERC20 balance")


@METHODS.method(
    "anvil_setERC20Allowance", parse_address, parse_address, parse_address, parse_quantity
)
def set_erc20_allowance(
    rpc: RequestContext, owner: Address, spender: Address, token: Address, amount: int
) -> None:
    """Let somebody spend so much of an account's token."""
    asks = ALLOWANCE + _pad_address(owner) + _pad_address(spender)
    _set_token_slot(rpc, Call(to=token, data=asks), amount, "ERC20 allowance")


def _pad_address(account: Address) -> bytes:
    return account.rjust(32, b"\0")


def _set_token_slot(rpc: RequestContext, call: Call, value: int, what: str) -> None:
    """Set the slot that a call of a token answers with."""

    def set_slot() -> None:
        token = call.to
        assert token is not None  # noqa: S101 - whom is asked
        slot = _find_slot(rpc.node.chain, call, token)
        if slot is None:
            raise RpcError(
                SERVER_ERROR,
                f"Unable to set {what}, no slot found: {serializers.encode_data(token)} answers "
                "with none of its slots as it is",
            )
        rpc.node.patch_state(lambda state: state.set_storage(token, slot, value))

    rpc.node.submit_change(set_slot).result()


def _find_slot(chain: Chain, call: Call, token: Address) -> int | None:
    try:
        for slot in sorted(chain.find_call_slots(call, token)):
            overrides = {token: AccountOverride(storage_diff={slot: PROBE})}
            if chain.call(call, overrides=overrides).output == PROBE.to_bytes(32, "big"):
                return slot
    except ValidationError:
        return None
    return None

"""`anvil_*`, `hardhat_*` and `evm_*` methods for snapshots, rollbacks, reorgs and resets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth_utils import ValidationError

from pyevm_agents.errors import ConfigError
from pyevm_agents.node.transaction_defaults import (
    fill_transaction,
    resolve_signer,
)
from pyevm_agents.rpc.errors import SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    accept_any,
    invalid_param_error,
    parse_data,
    parse_list,
    parse_object,
    parse_quantity,
    parse_text,
    parse_uint64,
)
from pyevm_agents.rpc.transaction_params import decode_transaction, parse_transaction_request

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext

METHODS = MethodTable()

MAX_INLINE_REVERT_BLOCKS = 16
"""Longer reverts run in a thread: each reverted block is read, and announced to listeners."""

MAX_DEPTH = 10_000
"""The most blocks that one reorg replaces: each is mined again."""


@METHODS.method("evm_snapshot", "anvil_snapshot", is_quick=True)
def snapshot(rpc: RequestContext) -> str:
    """Take a snapshot of the chain, pool and clock; return the unique id for `evm_revert`."""
    return hex(rpc.run_exclusive(rpc.node.history.snapshot))


@METHODS.method("evm_revert", "anvil_revert", parse_quantity, is_quick=True)
def revert(rpc: RequestContext, snapshot_id: int) -> bool:
    """Revert to a snapshot, and delete this and later ones; return false if unknown."""
    if rpc.node.history.count_blocks_since(snapshot_id) > MAX_INLINE_REVERT_BLOCKS:
        rpc.require_blocking_allowed()
    try:
        rpc.run_exclusive(lambda: rpc.node.history.revert(snapshot_id))
    except ConfigError:
        return False
    return True


@METHODS.method("anvil_rollback", optional(parse_uint64, 1))
def rollback(rpc: RequestContext, depth: int) -> None:
    """Remove the latest `depth` blocks with their transactions."""
    rpc.node.submit_change(lambda: rpc.node.history.rollback(depth)).result()


@METHODS.method("anvil_reorg", parse_uint64, optional(parse_list))
def reorg(rpc: RequestContext, depth: int, transactions: list[object] | None) -> None:
    """Replace the latest `depth` blocks; `transactions` are pairs of transaction and block."""
    head = rpc.node.chain.head.block_number
    if depth > min(head, MAX_DEPTH):
        raise invalid_param_error(
            "depth", depth, f"must be at most the chain's height, {head}, and at most {MAX_DEPTH}"
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
            raise RpcError(SERVER_ERROR, f"invalid transaction: {error}") from error

    rpc.node.submit_change(replace_blocks).result()


def _parse_reorg_pair(
    value: object, name: str, depth: int
) -> tuple[TransactionRequest | bytes, int]:
    pair = parse_list(value, name)
    if len(pair) != 2:  # noqa: PLR2004 - a pair
        raise invalid_param_error(name, pair, "must be a transaction and the index of its block")
    payload, index = pair
    place = parse_uint64(index, f"{name}[1]")
    if place >= depth:
        raise invalid_param_error(f"{name}[1]", index, f"must be an index from 0 to {depth - 1}")
    read = parse_data if isinstance(payload, str) else parse_transaction_request
    return read(payload, f"{name}[0]"), place


@METHODS.method("anvil_reset", "hardhat_reset", optional(accept_any))
def reset(rpc: RequestContext, options: object) -> None:
    """Reset the chain to the first block, or to `{forking: {jsonRpcUrl, blockNumber}}`."""
    form = {} if options is None else parse_object(options, "options")
    node = rpc.node
    if form.get("forking") is None:
        node.submit_change(node.reset).result()
        return
    forking = parse_object(form["forking"], "options.forking")
    if unknown := forking.keys() - {"jsonRpcUrl", "blockNumber"}:
        raise invalid_param_error(
            "options.forking", sorted(unknown), "must be jsonRpcUrl and blockNumber"
        )
    url, number = forking.get("jsonRpcUrl"), forking.get("blockNumber")
    url_text = None if url is None else parse_text(url, "options.forking.jsonRpcUrl")
    block = None if number is None else parse_uint64(number, "options.forking.blockNumber")
    node.submit_change(lambda: node.fork_again(url_text, block)).result()

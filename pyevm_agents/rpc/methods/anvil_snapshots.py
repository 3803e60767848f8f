"""`anvil_*`, `hardhat_*` and `evm_*` methods for snapshots, rollbacks, reorgs and resets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.node.transaction_defaults import (
    fill_transaction,
    resolve_signer,
)
from pyevm_agents.rpc.errors import SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    invalid_param_error,
    parse_data,
    parse_list,
    parse_object,
    parse_quantity,
    parse_text,
    parse_uint64,
)
from pyevm_agents.rpc.transaction_params import decode_transaction, parse_transaction_request
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext

METHODS = MethodTable()

MAX_INLINE_REVERT_BLOCKS = 16
"""Longer reverts run in a thread: each reverted block is read, and announced to listeners."""

FORKING_FIELDS = ("jsonRpcUrl", "blockNumber")

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
    """Remove the latest `depth` blocks with their transactions; time goes on from the new head."""
    rpc.node.submit_change(lambda: rpc.node.rollback(depth)).result()


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
        except RuleError as error:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Forking:
    """A block of a remote chain to fork from. None: as before."""

    url: str | None
    block: int | None


def parse_reset_options(value: object, name: str) -> Forking | None:
    """Parse the remote block of a reset, inside `forking` or flat; None for the chain's start.

    Source: Hardhat, `hardhat_reset`, for the first form; anvil's `Forking` for both.
    """
    form = parse_object(value, name)
    if "forking" in form:
        _require_only(form, ("forking",), name)
        if form["forking"] is None:
            return None
        name = f"{name}.forking"
        form = parse_object(form["forking"], name)
    elif all(entry is None for entry in form.values()):
        _require_only(form, FORKING_FIELDS, name)
        return None
    _require_only(form, FORKING_FIELDS, name)
    url, number = form.get("jsonRpcUrl"), form.get("blockNumber")
    return Forking(
        url=None if url is None else parse_text(url, f"{name}.jsonRpcUrl"),
        block=None if number is None else parse_uint64(number, f"{name}.blockNumber"),
    )


def _require_only(form: Mapping[str, object], known: tuple[str, ...], name: str) -> None:
    if unknown := sorted(form.keys() - {*known}):
        raise invalid_param_error(name, unknown, f"must be {' and '.join(known)}")


@METHODS.method("anvil_reset", "hardhat_reset", optional(parse_reset_options))
def reset(rpc: RequestContext, options: Forking | None) -> None:
    """Reset the chain to the first block, or to `{jsonRpcUrl, blockNumber}` of a remote chain."""
    node = rpc.node
    work = node.reset
    if options is not None:
        work = partial(node.fork_again, options.url, options.block)
    node.submit_change(work).result()

"""Transfers and approvals of ether and tokens in a transaction, read from calls and events.

An event is a contract's own word. The balances of `state_changes` are read from the tokens.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.abi.values import compute_topic, decode_values
from pyevm_agents.agents.asset_moves import TokenApproval, Transfer
from pyevm_agents.tracing.call_tracer import CallNode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.agents.asset_moves import ApprovalStandard, TransferStandard
    from pyevm_agents.tracing.call_tracer import CallTree
    from pyevm_agents.tracing.tracer import TracedLog

MOVES_VALUE = frozenset({"CALL", "CREATE", "CREATE2", "SELFDESTRUCT"})
"""Calls that move ether; CALLCODE moves it to the caller itself."""

TRANSFER = int.from_bytes(compute_topic("Transfer(address,address,uint256)"), "big")
TRANSFER_SINGLE = int.from_bytes(
    compute_topic("TransferSingle(address,address,address,uint256,uint256)"), "big"
)
TRANSFER_BATCH = int.from_bytes(
    compute_topic("TransferBatch(address,address,address,uint256[],uint256[])"), "big"
)

APPROVAL = int.from_bytes(compute_topic("Approval(address,address,uint256)"), "big")
APPROVAL_FOR_ALL = int.from_bytes(compute_topic("ApprovalForAll(address,address,bool)"), "big")

FUNGIBLE_TOPICS = 3
"""Topics of ERC-20's Transfer and Approval; ERC-721's have the token's ID as another one."""

MULTI_TOKEN_TOPICS = 4
ADDRESS_BITS = 160


def iter_transfers(tree: CallTree) -> Iterator[Transfer]:
    """Yield the transfers of a transaction that took effect, in order."""
    for entry in _iter_entries(tree):
        if not isinstance(entry, CallNode):
            yield from _read_log(entry)
            continue
        frame = entry.frame
        if frame.value_wei and frame.kind in MOVES_VALUE:
            yield Transfer(
                standard="native",
                token=None,
                sender=frame.sender,
                receiver=frame.to,
                amount=frame.value_wei,
            )


def iter_approvals(tree: CallTree) -> Iterator[TokenApproval]:
    """Yield the approvals of a transaction's events, in order, also those of nothing."""
    for entry in _iter_entries(tree):
        if not isinstance(entry, CallNode):
            yield from _read_approval(entry)


def _iter_entries(tree: CallTree) -> Iterator[CallNode | TracedLog]:
    """Yield the calls and the logs that took effect, in order."""
    open_entries: list[CallNode | TracedLog] = [] if tree.root is None else [tree.root]
    while open_entries:
        entry = open_entries.pop()
        if not isinstance(entry, CallNode):
            yield entry
        elif entry.frame.error is None:
            yield entry
            open_entries.extend(reversed([*_iter_contents(entry, tree)]))


def _iter_contents(node: CallNode, tree: CallTree) -> Iterator[CallNode | TracedLog]:
    """Yield the logs and the inner calls of a call, in order."""
    logs = deque(node.logs)
    for position, call in enumerate([*node.calls, None]):
        while logs and logs[0][1] == position:
            yield tree.logs[logs.popleft()[0]]
        if call is not None:
            yield call


def _read_log(entry: TracedLog) -> Iterator[Transfer]:
    """Yield the transfers that a log reports."""
    topics = entry.topics
    if not topics:
        return
    if topics[0] == TRANSFER and len(topics) == FUNGIBLE_TOPICS:
        values = decode_values(["uint256"], entry.data)
        if values is not None:
            yield _build(entry, "erc20", topics[1:], _read_integer(values[0]))
    elif topics[0] == TRANSFER and len(topics) == FUNGIBLE_TOPICS + 1:
        yield _build(entry, "erc721", topics[1:3], 1, topics[3])
    elif topics[0] == TRANSFER_SINGLE and len(topics) == MULTI_TOKEN_TOPICS:
        values = decode_values(["uint256", "uint256"], entry.data)
        if values is not None:
            amount, token_id = _read_integer(values[1]), _read_integer(values[0])
            yield _build(entry, "erc1155", topics[2:], amount, token_id)
    elif topics[0] == TRANSFER_BATCH and len(topics) == MULTI_TOKEN_TOPICS:
        yield from _read_batch(entry)


def _read_approval(entry: TracedLog) -> Iterator[TokenApproval]:
    """Yield the approval that a log reports."""
    topics = entry.topics
    if topics[:1] == (APPROVAL,) and len(topics) == FUNGIBLE_TOPICS:
        values = decode_values(["uint256"], entry.data)
        if values is not None:
            yield _build_approval(entry, "erc20", amount=_read_integer(values[0]))
    elif topics[:1] == (APPROVAL,) and len(topics) == FUNGIBLE_TOPICS + 1:
        yield _build_approval(entry, "erc721", token_id=topics[3])
    elif topics[:1] == (APPROVAL_FOR_ALL,) and len(topics) == FUNGIBLE_TOPICS:
        yield _build_approval(entry, "all")


def _build_approval(
    entry: TracedLog,
    standard: ApprovalStandard,
    *,
    amount: int | None = None,
    token_id: int | None = None,
) -> TokenApproval:
    owner, spender = map(_read_address, entry.topics[1:3])
    return TokenApproval(
        standard=standard,
        token=entry.address,
        owner=owner,
        spender=spender,
        amount=amount,
        token_id=token_id,
    )


def _read_batch(entry: TracedLog) -> Iterator[Transfer]:
    values = decode_values(["uint256[]", "uint256[]"], entry.data)
    if values is None:
        return
    ids, amounts = values
    assert isinstance(ids, tuple)  # noqa: S101 - as eth_abi decodes arrays
    assert isinstance(amounts, tuple)  # noqa: S101 - as above
    for token_id, amount in zip(ids, amounts, strict=False):
        yield _build(entry, "erc1155", entry.topics[2:], amount, token_id)


def _build(
    entry: TracedLog,
    standard: TransferStandard,
    parties: tuple[int, ...],
    amount: int,
    token_id: int | None = None,
) -> Transfer:
    sender, receiver = map(_read_address, parties[:2])
    return Transfer(
        standard=standard,
        token=entry.address,
        sender=sender,
        receiver=receiver,
        amount=amount,
        token_id=token_id,
    )


def _read_address(topic: int) -> Address:
    return Address((topic % 2**ADDRESS_BITS).to_bytes(ADDRESS_BITS // 8, "big"))


def _read_integer(value: object) -> int:
    assert isinstance(value, int)  # noqa: S101 - as eth_abi decodes a uint256
    return value

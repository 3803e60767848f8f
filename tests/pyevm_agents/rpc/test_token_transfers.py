"""Transfers that calls and events tell of, those of reverted calls left out."""

from __future__ import annotations

from eth_abi import encode
from eth_typing import Address

from pyevm_agents.agents.asset_moves import Transfer
from pyevm_agents.rpc.token_transfers import (
    TRANSFER,
    TRANSFER_BATCH,
    TRANSFER_SINGLE,
    iter_transfers,
)
from pyevm_agents.tracing import CallTree
from pyevm_agents.tracing.call_tracer import CallNode
from pyevm_agents.tracing.tracer import CallFrame, TracedLog

A, B, TOKEN = (Address(bytes([number]) * 20) for number in (0xAA, 0xBB, 0xCC))
FROM, TO = int.from_bytes(A, "big"), int.from_bytes(B, "big")


def node(kind: str = "CALL", value: int | None = None, error: str | None = None) -> CallNode:
    frame = CallFrame(
        kind=kind, depth=0, sender=A, to=B, value_wei=value, input=b"", gas=0, error=error
    )
    return CallNode(frame=frame)


def tree_of(root: CallNode, *logs: tuple[tuple[int, ...], bytes]) -> CallTree:
    """Return a tree whose root has these logs after all its calls."""
    tree = CallTree()
    tree.root = root
    for topics, data in logs:
        root.logs.append((len(tree.logs), len(root.calls)))
        tree.logs.append(TracedLog(depth=1, address=TOKEN, topics=topics, data=data))
    return tree


def test_events_of_three_standards() -> None:
    tree = tree_of(
        node(),
        ((TRANSFER, FROM, TO), encode(["uint256"], [5])),
        ((TRANSFER, FROM, TO, 7), b""),
        ((TRANSFER_SINGLE, 0, FROM, TO), encode(["uint256", "uint256"], [8, 3])),
        (
            (TRANSFER_BATCH, 0, FROM, TO),
            encode(["uint256[]", "uint256[]"], [[1, 2], [10, 20]]),
        ),
    )
    found = [(it.standard, it.amount, it.token_id) for it in iter_transfers(tree)]
    assert found == [
        ("erc20", 5, None),
        ("erc721", 1, 7),
        ("erc1155", 3, 8),
        ("erc1155", 10, 1),
        ("erc1155", 20, 2),
    ]
    assert {(it.token, it.sender, it.receiver) for it in iter_transfers(tree)} == {(TOKEN, A, B)}


def test_malformed_events_are_none() -> None:
    tree = tree_of(
        node(),
        ((), b""),
        ((TRANSFER,), b""),
        ((TRANSFER, FROM, TO), b"\1"),
        ((TRANSFER_SINGLE, 0, FROM, TO), b""),
        ((TRANSFER_BATCH, 0, FROM, TO), b"\xff" * 64),
        ((TRANSFER + 1, FROM, TO), encode(["uint256"], [5])),
    )
    assert [*iter_transfers(tree)] == []


def test_ether_moves_by_calls_that_took_effect() -> None:
    root = node(value=1)
    failed = node(value=2, error="execution reverted")
    failed.calls.append(node(value=3))
    root.calls += [
        failed,
        node("DELEGATECALL", value=1),
        node("CALLCODE", value=4),
        node("STATICCALL"),
        node("CREATE", value=5),
        node("SELFDESTRUCT", value=6),
    ]
    assert [it.amount for it in iter_transfers(tree_of(root))] == [1, 5, 6]


def test_transfers_are_in_the_order_of_execution() -> None:
    root = node(value=1)
    inner = node(value=2)
    root.calls.append(inner)
    tree = tree_of(root, ((TRANSFER, FROM, TO), encode(["uint256"], [4])))
    inner.logs.append((1, 0))
    tree.logs.append(TracedLog(depth=2, address=TOKEN, topics=(TRANSFER, FROM, TO, 9), data=b""))
    assert [it.amount for it in iter_transfers(tree)] == [1, 2, 1, 4]


def test_topics_beyond_an_address_are_cut() -> None:
    tree = tree_of(node(), ((TRANSFER, FROM + 2**200, TO), encode(["uint256"], [5])))
    (found,) = iter_transfers(tree)
    assert found == Transfer(standard="erc20", token=TOKEN, sender=A, receiver=B, amount=5)


def test_a_transaction_without_calls_moves_nothing() -> None:
    assert [*iter_transfers(CallTree())] == []

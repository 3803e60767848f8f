"""Requests to nodes: the same work for each node, in transactions with consecutive nonces."""

from __future__ import annotations

from typing import Any

from benchmarks.node_alone import PyEvmAlone
from benchmarks.node_asks import (
    ACCOUNTS,
    CHAIN_ID,
    KINDS,
    SENDERS,
    SNAPSHOT,
    TOKEN_ADDRESS,
    TRANSFER,
    Asks,
    decode_transaction,
)


def test_transactions_of_a_sender_follow_each_other() -> None:
    asks = Asks(CHAIN_ID)
    sent: list[Any] = [decode_transaction(ask) for ask in asks.setting_up()]
    assert [one.nonce for one in sent] == [0, 1, 2, 3]
    for _ in range(2):
        for own in asks.window(TRANSFER, 8, SENDERS):
            sent += [decode_transaction(ask) for ask in own]
    for account in ACCOUNTS:
        nonces = [one.nonce for one in sent if one.sender == account]
        assert nonces == [*range(len(nonces))]
        assert len(nonces) >= 4


def test_py_evm_alone_does_all_of_it() -> None:
    asks, chain = Asks(CHAIN_ID), PyEvmAlone()
    for ask in asks.setting_up():
        chain.ask(ask)
    for kind in KINDS:
        for ask in asks.window(kind, 2, 1)[0]:
            if kind != SNAPSHOT:
                chain.ask(ask)
    state = chain._chain.get_vm().state  # noqa: SLF001 - nothing else tells
    assert state.get_nonce(ACCOUNTS[0]) == 4 + 2 + 2
    assert state.get_code(TOKEN_ADDRESS)

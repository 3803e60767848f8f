"""Bundles of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pyevm_agents.node.senders_of_tests import NOBODY
from tests.pyevm_agents.rpc.contracts_to_trace import CODES, COUNTER, REVERTING, SENDER
from tests.pyevm_agents.rpc.served import RefusedError
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

COUNT = {"from": SENDER, "to": COUNTER}
NUMBER = asm("NUMBER PUSH0 MSTORE 0x20 PUSH0 RETURN")


def word(number: int) -> str:
    return f"0x{number:064x}"


def test_calls_follow_on_each_other_and_nothing_is_kept(serve: Serve) -> None:
    served = serve(codes=CODES)
    for _ in range(2):
        answers = served.ask(
            "eth_callMany", [{"transactions": [COUNT, COUNT]}, {"transactions": [COUNT]}]
        )
        assert answers == [[{"value": word(1)}, {"value": word(2)}], [{"value": word(3)}]]


def test_a_call_that_fails_says_why_and_the_next_goes_on(serve: Serve) -> None:
    served = serve(codes=CODES)
    poor = {"from": "0x" + "57" * 20, "to": COUNTER, "value": "0x1"}
    ((reverted, refused, fine),) = served.ask(
        "eth_callMany", [{"transactions": [{"to": REVERTING}, poor, COUNT]}]
    )
    assert reverted["error"].startswith("execution reverted")
    assert refused["error"].startswith("err: ")
    assert fine == {"value": word(1)}


def test_a_bundle_is_in_a_block_of_its_own(serve: Serve) -> None:
    served = serve(codes={NOBODY: NUMBER})
    call = {"to": "0x" + NOBODY.hex()}
    answers = served.ask(
        "eth_callMany",
        [
            {"transactions": [call], "blockOverride": {"number": "0x63"}},
            {"transactions": [call]},
        ],
        {"blockNumber": "latest", "transactionIndex": -1},
    )
    assert answers == [[{"value": word(99)}], [{"value": word(0)}]]


def test_accounts_are_as_they_are_said_to_be_and_as_calls_left_them(serve: Serve) -> None:
    served = serve(codes=CODES)
    told = {COUNTER: {"state": {word(0): word(41), word(1): word(9)}}}
    answers = served.ask("eth_callMany", [{"transactions": [COUNT, COUNT]}], {}, told)
    assert answers == [[{"value": word(42)}, {"value": word(43)}]]


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ([[]], "must be at least one bundle"),
        ([[{"transactions": None}]], "must be a list"),
        ([[{"transactions": [{}] * 1_001}]], "must be at most 1000 calls, not 1001"),
        (
            [[{"transactions": []}], {"transactionIndex": 1}],
            r"must be -1 \(calls follow a whole block\) or none",
        ),
        (
            [[{"transactions": []}], {"transactionIndex": []}],
            r"must be -1 \(calls follow a whole block\) or none",
        ),
        ([[{"transactions": []}], []], "must be an object"),
    ],
)
def test_what_is_asked_wrongly(serve: Serve, params: list[object], told: str) -> None:
    with pytest.raises(RefusedError, match=told) as refusal:
        serve().ask("eth_callMany", *params)
    assert refusal.value.code == -32602

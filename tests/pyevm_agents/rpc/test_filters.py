"""Filters, subscriptions and logs of mined and reverted blocks."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_hex

from pyevm_agents.rpc import filters as events_module
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.filters import IDLE_SECONDS, EventSystem
from pyevm_agents.rpc.session import Session
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, NOBODY
from tests.pyevm_agents.rpc.served import RefusedError
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

OTHER = NOBODY[:-1] + b"\x00"
CODE = asm("0x20 CALLDATALOAD PUSH0 CALLDATALOAD PUSH0 PUSH0 LOG2 STOP")
"""Logs the two words that it is called with."""


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve(codes={NOBODY: CODE, OTHER: CODE})


def log(served: Served, to: bytes, *topics: int) -> str:
    data = b"".join(topic.to_bytes(32, "big") for topic in topics)
    sent: str = served.ask(
        "eth_sendTransaction",
        {"from": to_hex(ADDRESSES[0]), "to": to_hex(to), "data": to_hex(data)},
    )
    return sent


def word(number: int) -> str:
    return f"0x{number:064x}"


def places(logs: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [
        (one["address"][-2:], int(one["topics"][0], 16), int(one["topics"][1], 16)) for one in logs
    ]


def test_logs_are_found_as_a_search_through_all_finds_them(served: Served) -> None:
    for to, first, second in itertools.product((NOBODY, OTHER), (1, 2), (1, 3)):
        log(served, to, first, second)
    every = served.ask("eth_getLogs", {"fromBlock": "earliest"})
    assert len(every) == 8
    options: list[Any] = [None, word(1), [word(1), word(2)], [word(9)], []]
    for address, first, second in itertools.product(
        (None, to_hex(NOBODY), [to_hex(NOBODY), to_hex(OTHER)]), options, options
    ):
        found = served.ask(
            "eth_getLogs", {"fromBlock": "0x0", "address": address, "topics": [first, second]}
        )
        assert found == [
            one
            for one in every
            if (not address or one["address"] in address)
            and all(
                not wanted or topic in wanted
                for wanted, topic in zip((first, second), one["topics"], strict=True)
            )
        ]


def test_ranges_and_blocks(served: Served) -> None:
    for number in range(4):
        log(served, NOBODY, number, 0)
    block = served.ask("eth_getBlockByNumber", "0x2")
    (only,) = served.ask("eth_getLogs", {"blockHash": block["hash"]})
    assert only["blockNumber"] == "0x2"
    found = served.ask("eth_getLogs", {"fromBlock": "0x2", "toBlock": "0x3"})
    assert [one["blockNumber"] for one in found] == ["0x2", "0x3"]
    assert len(served.ask("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x4"})) == 4
    with pytest.raises(RefusedError, match="extends beyond current head block: toBlock 5, head 4"):
        served.ask("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x5"})
    assert served.ask("eth_getLogs", {"topics": [None, None, None]}) == []
    with pytest.raises(RefusedError, match="fromBlock 3 > toBlock 2"):
        served.ask("eth_getLogs", {"fromBlock": "0x3", "toBlock": "0x2"})
    with pytest.raises(RefusedError, match="header not found"):
        served.ask("eth_getLogs", {"blockHash": "0x" + "00" * 32})
    with pytest.raises(RefusedError, match="give blockHash, or fromBlock and toBlock"):
        served.ask("eth_getLogs", {"blockHash": block["hash"], "fromBlock": "0x1"})


def test_filters_tell_what_came_since_they_were_asked(served: Served) -> None:
    names = {
        "logs": served.ask("eth_newFilter", {"topics": [word(1)]}),
        "blocks": served.ask("eth_newBlockFilter"),
        "pending": served.ask("eth_newPendingTransactionFilter"),
    }
    sent = [log(served, NOBODY, 1, 5), log(served, NOBODY, 2, 5)]
    assert places(served.ask("eth_getFilterChanges", names["logs"])) == [("99", 1, 5)]
    assert served.ask("eth_getFilterChanges", names["logs"]) == []
    assert served.ask("eth_getFilterChanges", names["pending"]) == sent
    hashes = [served.ask("eth_getBlockByNumber", number)["hash"] for number in ("0x1", "0x2")]
    assert served.ask("eth_getFilterChanges", names["blocks"]) == hashes
    assert served.ask("eth_uninstallFilter", names["logs"]) is True
    assert served.ask("eth_uninstallFilter", names["logs"]) is False
    with pytest.raises(RefusedError, match="filter not found"):
        served.ask("eth_getFilterChanges", names["logs"])


@pytest.mark.parametrize(
    ("bounds", "first", "next_"),
    [
        ({}, [], [4]),
        ({"fromBlock": "latest"}, [], [4]),
        ({"fromBlock": "earliest"}, [1, 2, 3], [4]),
        ({"fromBlock": "0x2"}, [2, 3], [4]),
        ({"fromBlock": "0x2", "toBlock": "latest"}, [2, 3], [4]),
        ({"fromBlock": "0x1", "toBlock": "0x2"}, [1, 2], []),
        ({"fromBlock": "0x2", "toBlock": "0x4"}, [2, 3], [4]),
        ({"fromBlock": "0x4"}, [], [4]),
        ({"fromBlock": "0x9"}, [], []),
        ({"toBlock": "0x2"}, [], []),
    ],
)
def test_a_filter_begins_with_the_logs_that_are_there_as_in_anvil(
    served: Served, bounds: dict[str, str], first: list[int], next_: list[int]
) -> None:
    def poll() -> list[int]:
        return [int(one["blockNumber"], 16) for one in served.ask("eth_getFilterChanges", name)]

    for _ in range(3):
        log(served, NOBODY, 1, 5)
    name = served.ask("eth_newFilter", {"address": to_hex(NOBODY), **bounds})
    assert poll() == first
    assert poll() == []
    log(served, NOBODY, 1, 5)
    assert poll() == next_


def test_filters_tell_nothing_outside_of_their_blocks(served: Served) -> None:
    ranges = [
        {},
        {"fromBlock": "earliest", "toBlock": "latest"},
        {"fromBlock": "0x2"},
        {"toBlock": "0x1"},
        {"fromBlock": "0x2", "toBlock": "0x2"},
        {"fromBlock": "0x3"},
        {"toBlock": "0x0"},
    ]
    names = [served.ask("eth_newFilter", one) for one in ranges]
    for _ in range(2):
        log(served, NOBODY, 1, 5)
    told = [
        [int(one["blockNumber"], 16) for one in served.ask("eth_getFilterChanges", name)]
        for name in names
    ]
    assert told == [[1, 2], [1, 2], [2], [1], [2], [], []]


def test_subscribers_are_told_and_told_again_what_is_undone(served: Served) -> None:
    heads = served.ask("eth_subscribe", "newHeads")
    logs = served.ask("eth_subscribe", "logs", {"address": to_hex(NOBODY)})
    pending = served.ask("eth_subscribe", "newPendingTransactions")
    snapshot = served.ask("evm_snapshot")
    sent = log(served, NOBODY, 1, 2)
    log(served, OTHER, 1, 2)
    told = [(one["params"]["subscription"], one["params"]["result"]) for one in served.told]
    assert [name for name, _ in told] == [pending, heads, logs, pending, heads]
    assert told[0][1] == sent
    assert told[1][1]["number"] == "0x1"
    assert told[2][1]["removed"] is False
    served.told.clear()
    assert served.ask("evm_revert", snapshot) is True
    (undone,) = served.told
    assert undone["params"] == {"subscription": logs, "result": told[2][1] | {"removed": True}}
    assert served.ask("eth_unsubscribe", logs) is True
    assert served.ask("eth_unsubscribe", logs) is False
    served.told.clear()
    log(served, NOBODY, 1, 2)
    assert {one["params"]["subscription"] for one in served.told} == {pending, heads}


def test_the_end_of_a_session_ends_its_subscriptions(served: Served) -> None:
    name = served.ask("eth_subscribe", "newHeads")
    served.session.close()
    log(served, NOBODY, 1, 2)
    assert served.told == []
    assert served.ask("eth_unsubscribe", name) is False


def test_nobody_ends_a_subscription_of_another(served: Served) -> None:
    other = Session("other", lambda _: None)
    for kind, subscription in (("eth", "newHeads"), ("agent", "steps")):
        name = served.ask(f"{kind}_subscribe", subscription)
        assert served.service.call(f"{kind}_unsubscribe", [name], other) is False
        assert served.ask(f"{kind}_unsubscribe", name) is True


def test_no_two_subscriptions_have_one_name(served: Served) -> None:
    asked = [("agent_subscribe", "steps"), ("eth_subscribe", "newHeads")] * 3
    assert len({served.ask(*one) for one in asked}) == 6


def test_what_can_not_be_subscribed_to(served: Served) -> None:
    with pytest.raises(RefusedError, match="subscription 'weather': must be"):
        served.ask("eth_subscribe", "weather")


@pytest.fixture
def clocked(served: Served) -> tuple[EventSystem, list[float]]:
    """Filters that expire by a test's clock."""
    now = [0.0]
    return EventSystem(served.node, now=lambda: now[0]), now


def test_a_filter_that_nobody_polls_goes(clocked: tuple[EventSystem, list[float]]) -> None:
    events, now = clocked
    polled, left = events.open_filter("blocks"), events.open_filter("blocks")
    for _ in range(3):
        now[0] += IDLE_SECONDS - 1
        assert events.poll_changes(polled) == []
    with pytest.raises(RpcError, match=f"filter not found: {left}"):
        events.poll_changes(left)


def test_what_filters_keep_is_bounded_together(
    served: Served, clocked: tuple[EventSystem, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "MAX_QUEUED", 10)
    events, _ = clocked
    first, second = events.open_filter("blocks"), events.open_filter("blocks")
    for _ in range(5):
        served.ask("evm_mine")
    assert len(events.poll_changes(first)) == 5
    for _ in range(5):
        served.ask("evm_mine")
    # Together 15: the least recently polled one is removed.
    assert len(events.poll_changes(first)) == 5
    with pytest.raises(RpcError, match=f"filter not found: {second}"):
        events.poll_changes(second)


def test_a_session_has_so_many_subscriptions_at_most(served: Served) -> None:
    names = [
        served.ask("eth_subscribe", "newHeads") for _ in range(events_module.MAX_SUBSCRIPTIONS)
    ]
    with pytest.raises(RefusedError, match="at most 1,000; cancel some with eth_unsubscribe"):
        served.ask("eth_subscribe", "newHeads")
    other = Session("other", lambda _: None)
    assert served.service.call("eth_subscribe", ["newHeads"], other)
    assert served.ask("eth_unsubscribe", names[0]) is True
    assert served.ask("eth_subscribe", "newHeads")


def test_there_are_so_many_filters_at_most(
    clocked: tuple[EventSystem, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "MAX_FILTERS", 3)
    events, _ = clocked
    names = [events.open_filter("blocks") for _ in range(4)]
    with pytest.raises(RpcError, match=f"filter not found: {names[0]}"):
        events.get_filter(names[0])
    assert events.close_filter(names[1])
    assert not events.close_filter(names[1])

"""The search for an account's transactions: pages, limits and cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.rpc.methods import ots
from tests.pyevm_agents.rpc.contracts_to_trace import CALLER, CODES, COUNTER, OTHER, SENDER, send
from tests.pyevm_agents.rpc.served import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

BEFORE, AFTER = "ots_searchTransactionsBefore", "ots_searchTransactionsAfter"
STRANGER = "0x" + "57" * 20


@pytest.fixture
def served(serve: Serve) -> Served:
    """Return a node with five blocks of one transaction, one of three, and empty ones between."""
    served = serve(codes=CODES)
    for _ in range(5):
        send(served, OTHER, value="0x1")
        served.ask("evm_mine")
    is_automatic = False
    served.ask("evm_setAutomine", is_automatic)
    send(served, COUNTER)
    send(served, CALLER, value="0x4")
    send(served, OTHER, value="0x1")
    served.ask("evm_mine")
    return served


def places(page: dict[str, Any]) -> list[tuple[int, int]]:
    assert [one["hash"] for one in page["txs"]] == [
        one["transactionHash"] for one in page["receipts"]
    ]
    return [(int(one["blockNumber"], 16), int(one["transactionIndex"], 16)) for one in page["txs"]]


ALL = [(11, 2), (11, 1), (11, 0), (9, 0), (7, 0), (5, 0), (3, 0), (1, 0)]


def test_all_of_them_are_one_page_newest_first(served: Served) -> None:
    for method in (BEFORE, AFTER):
        page = served.ask(method, SENDER, 0, 25)
        assert places(page) == ALL
        assert page["firstPage"] is page["lastPage"] is True
        assert all("timestamp" in receipt for receipt in page["receipts"])


def test_pages_go_back_to_the_first_block(served: Served) -> None:
    found: list[tuple[int, int]] = []
    pages: list[dict[str, Any]] = []
    block = 0
    while not pages or not pages[-1]["lastPage"]:
        pages.append(served.ask(BEFORE, SENDER, block, 2))
        found += places(pages[-1])
        block = found[-1][0]
    assert found == ALL
    assert [len(page["txs"]) for page in pages] == [3, 2, 2, 1]  # A page has all of a block.
    assert [page["firstPage"] for page in pages] == [True, False, False, False]


def test_pages_go_on_to_the_latest_block(served: Served) -> None:
    found: list[tuple[int, int]] = []
    pages: list[dict[str, Any]] = []
    block = 0
    while not pages or not pages[-1]["firstPage"]:
        pages.append(served.ask(AFTER, SENDER, block, 2))
        found = places(pages[-1]) + found
        block = found[0][0]
    assert found == ALL
    assert [page["lastPage"] for page in pages] == [True, False, False]


def test_who_is_called_inside_is_found_too(served: Served) -> None:
    assert places(served.ask(BEFORE, COUNTER, 0, 25)) == [(11, 1), (11, 0)]
    created = served.ask("trace_block", "0xb")[3]["result"]["address"]
    assert places(served.ask(BEFORE, created, 0, 25)) == [(11, 1)]
    page = served.ask(BEFORE, STRANGER, 0, 25)
    assert page == {"txs": [], "receipts": [], "firstPage": True, "lastPage": True}


def test_a_search_that_is_too_long_ends_and_goes_on_where_it_was(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ots, "MAX_EXECUTED", 2)
    with pytest.raises(
        RefusedError, match="in blocks 11 to 8; continue the search from block 8"
    ) as it:
        served.ask(BEFORE, STRANGER, 0, 25)
    assert it.value.code == -32005
    with pytest.raises(RefusedError, match="in blocks 7 to 4; continue the search from block 4"):
        served.ask(BEFORE, STRANGER, 8, 25)
    assert served.ask(BEFORE, STRANGER, 4, 25)["lastPage"] is True
    assert served.ask(BEFORE, STRANGER, 0, 25)["lastPage"] is True  # All blocks are indexed now.


def test_a_search_looks_at_so_many_blocks_and_no_more(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ots, "MAX_SCANNED", 3)
    with pytest.raises(RefusedError, match="in blocks 11 to 9; continue the search from block 9"):
        served.ask(BEFORE, STRANGER, 0, 25)
    page = served.ask(BEFORE, SENDER, 0, 25)
    assert places(page) == ALL[:4]
    assert page["lastPage"] is False


def test_what_a_search_found_until_it_ended_is_a_page(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ots, "MAX_EXECUTED", 2)
    page = served.ask(BEFORE, SENDER, 0, 25)
    assert places(page) == ALL[:4]
    assert page["lastPage"] is False


def test_what_was_undone_is_not_found(served: Served) -> None:
    assert places(served.ask(BEFORE, COUNTER, 0, 25)) == [(11, 1), (11, 0)]
    served.ask("anvil_rollback", 1)
    assert places(served.ask(BEFORE, COUNTER, 0, 25)) == []

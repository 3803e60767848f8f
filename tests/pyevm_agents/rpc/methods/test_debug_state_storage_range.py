"""debug_storageRangeAt, compared with eth_getStorageAt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_typing import Address
from eth_utils import keccak, to_hex
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pyevm_agents.rpc.contracts_to_trace import OTHER, SENDER, send
from tests.pyevm_agents.rpc.served import Served
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    Serve = Callable[..., Served]

WRITER_ADDRESS = Address(b"\xa1" * 20)
WRITER = to_hex(WRITER_ADDRESS)
CODES = {WRITER_ADDRESS: asm("0x20 CALLDATALOAD PUSH0 CALLDATALOAD SSTORE")}
FAR = 2**200
"""A slot whose hash is not precomputed."""


def word(number: int) -> str:
    return f"0x{number:064x}"


def write(served: Served, slot: int, value: int) -> None:
    send(served, WRITER, data=word(slot) + word(value)[2:], gas=hex(100_000))


def ranged(served: Served, block: str, index: int, start: str = "0x", limit: int = 100) -> Any:  # noqa: ANN401 - JSON
    return served.ask("debug_storageRangeAt", block, hex(index), WRITER, start, limit)


def values(answer: dict[str, Any]) -> dict[int | None, int]:
    return {
        None if it["key"] is None else int(it["key"], 16): int(it["value"], 16)
        for it in answer["storage"].values()
    }


def test_slots_are_those_between_two_transactions(serve: Serve) -> None:
    served = serve(codes=CODES, is_automatic=False)
    write(served, 1, 10)
    served.ask("evm_mine")
    for slot, value in ((2, 20), (1, 0), (FAR, 30)):
        write(served, slot, value)
    served.ask("evm_mine")
    block = served.ask("eth_getBlockByNumber", "0x2")["hash"]
    assert values(ranged(served, block, 0)) == {1: 10}
    assert values(ranged(served, block, 1)) == {1: 10, 2: 20}
    assert values(ranged(served, block, 2)) == {2: 20}
    assert values(ranged(served, block, 3)) == {2: 20, FAR: 30}
    assert ranged(served, "0x0", 0) == {"storage": {}, "nextKey": None}


def test_a_slot_whose_hash_nobody_knows_has_no_key(serve: Serve) -> None:
    served = serve(codes=CODES)
    write(served, FAR, 1)
    write(served, 5, 2)
    send(served, OTHER)
    assert values(ranged(served, "0x3", 0)) == {None: 1, 5: 2}
    answer = ranged(served, "0x3", 1)
    assert answer["storage"][to_hex(keccak(hexstr=word(FAR)))]["value"] == word(1)


def test_who_has_no_storage_has_no_slots(serve: Serve) -> None:
    served = serve(codes=CODES)
    answer = served.ask("debug_storageRangeAt", "latest", 0, SENDER, "0x", 1)
    assert answer == {"storage": {}, "nextKey": None}


WRITTEN = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=8)


@settings(max_examples=12)
@given(before=WRITTEN, then=WRITTEN, limit=st.integers(1, 4))
def test_pages_together_are_all_slots_in_the_order_of_their_hashes(
    before: list[tuple[int, int]], then: list[tuple[int, int]], limit: int
) -> None:
    served = Served(codes=CODES, is_automatic=False)
    try:
        for part in (before, then):
            for slot, value in part:
                write(served, slot, value)
            served.ask("evm_mine")
        pages = [ranged(served, "latest", len(then), limit=limit)]
        while pages[-1]["nextKey"] is not None:
            pages.append(ranged(served, "latest", len(then), pages[-1]["nextKey"], limit))
        hashes = [key for page in pages for key in page["storage"]]
        assert hashes == sorted(set(hashes))
        found = {slot: value for page in pages for slot, value in values(page).items()}
        assert found == {slot: value for slot, value in dict([*before, *then]).items() if value}
    finally:
        served.close()

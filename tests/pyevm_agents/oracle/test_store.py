"""The worker's store: what it keeps, whose it is, and who may open it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.messages import (
    AgentRequest,
    Answer,
    Commitment,
    ComputedAnswer,
    Evidence,
)
from pyevm_agents.oracle.store import (
    Attempt,
    Slot,
    StoreIdentity,
    StoreInUseError,
    WorkerStore,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IDENTITY = StoreIdentity(chain_id=31337, oracle=b"\x0a" * 20, worker=b"\x0b" * 20)
COMPUTED = ComputedAnswer(
    answer=Answer(refused=True, output=b"no"),
    evidence=Evidence(
        block_hash=b"\x01" * 32,
        model_digest=b"\x02" * 32,
        profile_fingerprint=b"\x03" * 32,
        prompt_hash=b"\x04" * 32,
        output_hash=b"\x05" * 32,
    ),
)


def request(number: int) -> AgentRequest:
    commitment = Commitment(
        request_id=2**256 - number,
        client=b"\x0c" * 20,
        budget_id=2**255,
        arguments_hash=b"\x0d" * 32,
        callback_gas_limit=2**32 - 1,
        fee=2**128 - 1,
        block_number=number,
        deadline=2**40,
    )
    return AgentRequest(
        oracle=IDENTITY.oracle,
        commitment=commitment,
        arguments=b"call",
        block_hash=number.to_bytes(32),
    )


def attempt(nonce: int, number: int) -> Attempt:
    return Attempt(
        hash=number.to_bytes(32), nonce=nonce, raw=b"raw", fee=2**70, tip=2**69, signed_at=number
    )


def fill_store(path: Path) -> WorkerStore:
    store = WorkerStore(path, IDENTITY)
    for number in range(1, 6):
        store.add_block(number, number.to_bytes(32))
        store.add_request(request(number), timestamp=100 + number, position=0)
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkerStore]:
    with fill_store(tmp_path / "store.sqlite3") as store:
        yield store


def test_everything_is_kept(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "store.sqlite3")
    [first, *_] = store.list_requests()
    store.set_answer(first.key, COMPUTED)
    store.add_attempt(Slot(nonce=7, kind="answer", key=first.key), attempt(7, 1))
    store.add_attempt(Slot(nonce=7, kind="filler", key=None), attempt(7, 2))
    store.close()
    with WorkerStore(store.path, IDENTITY) as again:
        kept = again.list_requests()[0]
        assert (kept.request, kept.computed, kept.timestamp) == (request(1), COMPUTED, 101)
        assert again.list_slots() == [Slot(nonce=7, kind="filler", key=None)]
        assert again.list_attempts(7) == [attempt(7, 1), attempt(7, 2)]
        assert again.get_scanned() == 5


def test_one_process_opens_it(store: WorkerStore) -> None:
    with pytest.raises(StoreInUseError, match="another worker has it open"):
        WorkerStore(store.path, IDENTITY)


@pytest.mark.parametrize(
    "other",
    [
        replace(IDENTITY, chain_id=1),
        replace(IDENTITY, oracle=bytes(20)),
        replace(IDENTITY, worker=bytes(20)),
    ],
)
def test_it_is_never_used_for_something_else(tmp_path: Path, other: StoreIdentity) -> None:
    path = tmp_path / "store.sqlite3"
    WorkerStore(path, IDENTITY).close()
    with pytest.raises(ConfigError, match="pass another file with --store"):
        WorkerStore(path, other)
    WorkerStore(path, IDENTITY).close()


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no database, but a text that is long enough to be read as one" * 20)
    with pytest.raises(ConfigError, match="not a database"):
        WorkerStore(path, IDENTITY)


def test_rewinding_removes_and_reopens(store: WorkerStore) -> None:
    keys = [each.key for each in store.list_requests()]
    store.set_settled(keys[:2], 4)
    removed = store.rewind(3)
    assert [each.request.commitment.block_number for each in removed] == [4, 5]
    assert store.get_scanned() == 3
    assert [each.settled_at for each in store.list_requests()[:2]] == [None, None]
    store.add_request(request(4), timestamp=104, position=0)
    assert [each.is_removed for each in store.list_requests()] == [False] * 4 + [True]


def test_pruning_keeps_what_is_open(store: WorkerStore) -> None:
    keys = [each.key for each in store.list_requests()]
    mined = {"mined_hash": b"h", "mined_number": 2, "mined_block": b"b", "succeeded": True}
    for nonce in range(3):
        slot = Slot(nonce=nonce, kind="answer", key=keys[nonce])
        store.add_attempt(slot, attempt(nonce, nonce + 1))
        store.set_mined(replace(slot, **mined))  # type: ignore[arg-type]
    store.set_settled(keys[:1], 2)
    store.prune(4)
    assert [slot.nonce for slot in store.list_slots()] == [1, 2]
    assert [each.key for each in store.list_requests()] == keys[1:]
    assert [number for number, _ in store.list_blocks()] == [5, 4, 3]

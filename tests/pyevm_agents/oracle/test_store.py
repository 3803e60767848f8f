"""A worker's store: what it is for, who may open it, and that a commit is whole."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.client.sqlite_store import StoreInUseError, StoreWriteError
from pyevm_agents.client.transaction_store import Attempt, Slot
from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.messages import (
    AgentRequest,
    Answer,
    Commitment,
    ComputedAnswer,
    Evidence,
)
from pyevm_agents.oracle.store import WorkerStore
from pyevm_agents.workers.identity import StoreIdentity
from tests.pyevm_agents.oracle.working import KilledError

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY = StoreIdentity(
    chain_id=1, genesis_hash=b"\x01" * 32, contract=b"\x02" * 20, account=b"\x03" * 20
)
ATTEMPT = Attempt(hash=b"\x09" * 32, nonce=4, raw=b"\x02raw", fee=2**70, tip=1, signed_at=5)
HOLD = """
import sys
from pathlib import Path
from pyevm_agents.oracle.store import WorkerStore
from pyevm_agents.workers.identity import StoreIdentity
WorkerStore(Path(sys.argv[1]), StoreIdentity(chain_id=1, genesis_hash=b"\\x01" * 32,
            contract=b"\\x02" * 20, account=b"\\x03" * 20))
print("open", flush=True)
sys.stdin.read()
"""

words = st.binary(min_size=32, max_size=32)
requests = st.builds(
    AgentRequest,
    oracle=st.just(IDENTITY.contract),
    commitment=st.builds(
        Commitment,
        request_id=st.integers(0, 2**256 - 1),
        client=st.binary(min_size=20, max_size=20),
        budget_id=st.integers(0, 2**256 - 1),
        arguments_hash=words,
        callback_gas_limit=st.integers(0, 2**32 - 1),
        fee=st.integers(0, 2**128 - 1),
        block_number=st.integers(0, 2**62),
        deadline=st.integers(0, 2**62),
    ),
    arguments=st.binary(max_size=100),
    block_hash=words,
)
answers = st.builds(
    ComputedAnswer,
    answer=st.builds(Answer, refused=st.booleans(), output=st.binary(max_size=100)),
    evidence=st.builds(
        Evidence,
        block_hash=words,
        model_digest=words,
        profile_fingerprint=words,
        prompt_hash=words,
        output_hash=words,
    ),
)


def build_request(number: int, block: int) -> AgentRequest:
    return AgentRequest(
        oracle=IDENTITY.contract,
        commitment=Commitment(
            request_id=number,
            client=bytes(20),
            budget_id=1,
            arguments_hash=bytes(32),
            callback_gas_limit=1,
            fee=1,
            block_number=block,
            deadline=9,
        ),
        arguments=b"",
        block_hash=keccak(text=str(block)),
    )


@given(request=requests, computed=answers, timestamp=st.integers(0, 2**40))
def test_a_request_and_its_answer_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    request: AgentRequest,
    computed: ComputedAnswer,
    timestamp: int,
) -> None:
    path = tmp_path_factory.mktemp("store") / "store"
    with WorkerStore(path, IDENTITY) as store:
        with store.commit():
            store.add_request(request, timestamp=timestamp, position=0)
        [stored] = store.list_requests()
        store.set_answer(stored.key, computed)
    with WorkerStore(path, IDENTITY) as store:
        [stored] = store.list_requests()
    assert (stored.request, stored.timestamp, stored.computed) == (request, timestamp, computed)
    assert not stored.is_removed
    assert stored.settled_at is None


@pytest.mark.parametrize(
    "other",
    [
        {"chain_id": 2},
        {"genesis_hash": bytes(32)},
        {"contract": bytes(20)},
        {"account": bytes(20)},
    ],
)
def test_a_store_is_for_one_worker_of_one_oracle(tmp_path: Path, other: dict[str, object]) -> None:
    WorkerStore(tmp_path / "store", IDENTITY).close()
    with pytest.raises(ConfigError, match="pass another file with --store"):
        WorkerStore(tmp_path / "store", replace(IDENTITY, **other))  # type: ignore[arg-type]


def test_another_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but long enough to be read as one" * 20)
    with pytest.raises(ConfigError, match="pass another file"):
        WorkerStore(tmp_path / "text", IDENTITY)


def test_one_process_has_it_open_and_a_kill_frees_it(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(StoreInUseError, match="another process has it open"):
            WorkerStore(path, IDENTITY)
        holder.kill()
    WorkerStore(path, IDENTITY).close()


def add(store: WorkerStore, request: AgentRequest) -> None:
    with store.commit():
        store.add_request(request, timestamp=1, position=0)


def add_and_die(store: WorkerStore) -> None:
    with store.commit():
        store.add_block(1, bytes(32))
        store.add_request(build_request(1, 1), timestamp=1, position=0)
        raise KilledError


def test_half_a_commit_leaves_nothing(tmp_path: Path) -> None:
    with WorkerStore(tmp_path / "store", IDENTITY) as store:
        with pytest.raises(KilledError):
            add_and_die(store)
        assert store.get_scanned() is None
        assert store.list_requests() == []


def test_a_full_disk_loses_nothing_and_work_goes_on(tmp_path: Path) -> None:
    big = replace(build_request(1, 1), arguments=bytes(65_536))
    with WorkerStore(tmp_path / "store", IDENTITY) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]  # noqa: SLF001 - the disk
        store._connection.execute(f"PRAGMA max_page_count = {pages}")  # noqa: SLF001
        with pytest.raises(StoreWriteError, match="disk is full; free some space"):
            add(store, big)
        assert store.list_requests() == []
        store._connection.execute("PRAGMA max_page_count = 100000")  # noqa: SLF001
        add(store, big)
        assert [each.request for each in store.list_requests()] == [big]


def test_a_nonce_keeps_every_hash_ever_signed_for_it(tmp_path: Path) -> None:
    key = ((1).to_bytes(32), keccak(text="1"))
    with WorkerStore(tmp_path / "store", IDENTITY) as store:
        store.add_attempt(Slot(nonce=4, kind="answer", key=key), ATTEMPT)
        later = replace(ATTEMPT, hash=b"\x0a" * 32, fee=2**71)
        store.add_attempt(Slot(nonce=4, kind="filler", key=None), later)
    with WorkerStore(tmp_path / "store", IDENTITY) as store:
        assert store.list_attempts(4) == [ATTEMPT, later]
        assert store.list_slots() == [Slot(nonce=4, kind="filler", key=None)]


def test_a_reorganisation_takes_back_what_is_above(tmp_path: Path) -> None:
    with WorkerStore(tmp_path / "store", IDENTITY) as store:
        with store.commit():
            for block in (1, 2, 3):
                store.add_block(block, keccak(text=str(block)))
                store.add_request(build_request(block, block), timestamp=block, position=0)
        store.set_settled([each.key for each in store.list_requests()[:2]], 3)
        removed = store.rewind(2)
        assert [each.request.commitment.block_number for each in removed] == [3]
        assert [each.is_removed for each in store.list_requests()] == [False, False, True]
        assert [each.settled_at for each in store.list_requests()] == [None, None, None]
        assert store.get_scanned() == 2
        # Its block may come back.
        with store.commit():
            store.add_request(build_request(3, 3), timestamp=3, position=0)
        assert not any(each.is_removed for each in store.list_requests())


def test_what_is_final_is_forgotten(tmp_path: Path) -> None:
    with WorkerStore(tmp_path / "store", IDENTITY) as store:
        with store.commit():
            for block in range(1, 6):
                store.add_block(block, keccak(text=str(block)))
                store.add_request(build_request(block, block), timestamp=block, position=0)
        first, second, *_ = store.list_requests()
        store.set_settled([first.key, second.key], 2)
        for nonce, stored in enumerate((first, second)):
            slot = Slot(nonce=nonce, kind="answer", key=stored.key)
            store.add_attempt(slot, replace(ATTEMPT, nonce=nonce, hash=bytes([nonce]) * 32))
            store.set_mined(
                replace(slot, mined_hash=bytes(32), mined_number=2, mined_block=bytes(32))
            )
        store.prune(4)
        assert [slot.nonce for slot in store.list_slots()] == [1]  # The last one is kept.
        assert first.key not in {each.key for each in store.list_requests()}
        assert second.key in {each.key for each in store.list_requests()}
        assert [number for number, _ in store.list_blocks()] == [5, 4, 3]

"""Requests are found once in each block that the chain has, whatever it does between two looks."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.client.chain_client import RemoteHeader
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.errors import RemoteFault
from pyevm_agents.oracle.oracle_client import OracleClient
from pyevm_agents.oracle.request_log import FIRST_RANGE, MAX_LAGS, MAX_SEARCHES, RequestScanner
from pyevm_agents.oracle.store import WorkerStore
from tests.pyevm_agents.oracle.test_store import IDENTITY, build_request
from tests.pyevm_agents.oracle.working import Events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyevm_agents.oracle.messages import AgentRequest

BLOCK_SECONDS = 12
WEEK = 7 * 24 * 3_600


class ListedChain(OracleClient):
    """A chain of blocks with or without a request, without a node."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1", IDENTITY.contract)
        self.blocks: list[tuple[bytes, bool]] = [(keccak(text="genesis"), False)]
        """Hash of each block, and whether it has a request."""

        self.widest: int | None = None
        """The most blocks that a search may have."""

        self.searches: list[tuple[int, int]] = []
        self.faults = 0
        self._count = 0

    def mine(self, count: int = 1, *, has_request: bool = False) -> None:
        for _ in range(count):
            self._count += 1
            self.blocks.append(
                (keccak(self.blocks[-1][0] + bytes([self._count % 256])), has_request)
            )

    def reorganize(self, depth: int) -> None:
        del self.blocks[max(len(self.blocks) - depth, 1) :]

    def list_requests(self) -> list[tuple[int, bytes]]:
        return [(number, each) for number, (each, is_one) in enumerate(self.blocks) if is_one]

    def read_head(self) -> RemoteHeader:
        [head] = self.read_headers([len(self.blocks) - 1])
        assert head is not None
        return head

    def read_headers(self, numbers: Sequence[int | str]) -> list[RemoteHeader | None]:
        return [self._build_header(int(each)) for each in numbers]

    def _build_header(self, number: int) -> RemoteHeader | None:
        if number >= len(self.blocks):
            return None
        return RemoteHeader(
            number=number,
            hash=self.blocks[number][0],
            parent_hash=b"",
            timestamp=number * BLOCK_SECONDS,
            gas_limit=1,
            base_fee=None,
        )

    def read_requests(self, first: int, last: int) -> list[AgentRequest]:
        if self.faults:
            self.faults -= 1
            raise RemoteFault("the node is away")
        if self.widest is not None and last - first >= self.widest:
            raise RemoteError(-32005, "query exceeds max block range")
        self.searches.append((first, last))
        return [
            replace(
                build_request(number, number),
                block_hash=block_hash,
                commitment=replace(
                    build_request(number, number).commitment, arguments_hash=keccak(b"")
                ),
            )
            for number, block_hash in self.list_requests()
            if first <= number <= last
        ]


class Reader:
    """A scanner, its chain and its store."""

    def __init__(self, store: WorkerStore) -> None:
        self.chain, self.store, self.events = ListedChain(), store, Events()
        self.scanner = RequestScanner(self.chain, store, self.events)

    def look(self) -> bool:
        return self.scanner.follow(self.chain.read_head())

    def list_known(self) -> list[tuple[int, bytes]]:
        return [
            (each.request.commitment.block_number, each.request.block_hash)
            for each in self.store.list_requests()
            if not each.is_removed
        ]


@contextmanager
def open_reader(path: Path) -> Iterator[Reader]:
    with WorkerStore(path, IDENTITY) as store:
        yield Reader(store)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with open_reader(tmp_path / "store") as reader:
        yield reader


moves = st.lists(
    st.one_of(
        st.tuples(st.just("mine"), st.integers(1, 5)),
        st.tuples(st.just("ask"), st.just(1)),
        st.tuples(st.just("reorganize"), st.integers(1, 6)),
        st.tuples(st.just("look"), st.just(1)),
        st.tuples(st.just("fault"), st.just(1)),
    ),
    max_size=25,
)


@given(moves=moves)
def test_after_any_moves_the_requests_are_the_chain_s(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, int]]
) -> None:
    with open_reader(tmp_path_factory.mktemp("log") / "store") as reader:
        chain = reader.chain
        for move, count in moves:
            match move:
                case "mine":
                    chain.mine(count)
                case "ask":
                    chain.mine(has_request=True)
                case "reorganize":
                    chain.reorganize(count)
                case "fault":
                    chain.faults = 1
                case _:
                    with suppress(RemoteFault):
                        reader.look()
        chain.faults = 0
        looks = [reader.look() for _ in range(MAX_LAGS + 2)]
        assert looks[-1]
        assert reader.list_known() == chain.list_requests()


def test_a_search_that_is_refused_is_halved_until_it_is_taken(reader: Reader) -> None:
    reader.chain.mine(300, has_request=True)
    reader.chain.widest = 70
    while not reader.look():
        pass
    assert len(reader.list_known()) == 300
    assert max(last - first + 1 for first, last in reader.chain.searches) <= 70
    assert reader.chain.searches == sorted(reader.chain.searches)


def test_a_long_chain_is_read_in_parts_and_goes_on_after_a_fault(reader: Reader) -> None:
    reader.chain.mine(60, has_request=True)
    reader.chain.widest = 1
    reader.scanner._range = 1  # noqa: SLF001 - a node that refused before
    assert not reader.look()
    first = len(reader.list_known())
    assert 0 < first < MAX_SEARCHES < 60
    reader.chain.faults = 1
    with pytest.raises(RemoteFault):
        reader.look()
    assert len(reader.list_known()) == first
    while not reader.look():
        pass
    assert reader.list_known() == reader.chain.list_requests()


def test_a_new_store_begins_a_week_ago(reader: Reader) -> None:
    week = WEEK // BLOCK_SECONDS
    reader.chain.mine(week + 500)
    reader.look()
    assert reader.chain.searches[0][0] == len(reader.chain.blocks) - 1 - week
    assert max(last - first + 1 for first, last in reader.chain.searches) >= FIRST_RANGE


def test_a_node_that_lags_removes_nothing(reader: Reader) -> None:
    reader.chain.mine(3)
    reader.look()
    reader.chain.mine(has_request=True)
    reader.look()
    whole = list(reader.chain.blocks)
    reader.chain.reorganize(1)
    assert not reader.look()
    reader.chain.blocks = whole
    assert reader.look()
    assert reader.events.counts["reorganized"] == 0
    assert reader.events.counts["found"] == 1


def test_a_chain_that_stays_shorter_has_lost_its_end(reader: Reader) -> None:
    reader.chain.mine(3)
    reader.look()
    reader.chain.mine(has_request=True)
    reader.look()
    reader.chain.reorganize(1)
    assert not any(reader.look() for _ in range(MAX_LAGS))
    assert reader.look()
    assert reader.list_known() == []

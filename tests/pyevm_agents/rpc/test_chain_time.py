"""The chain's time behind the requests that move it: time goes on from the head."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from eth_utils import to_hex
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pyevm_agents.chain import Chain
from pyevm_agents.chain.database import MemoryRows
from pyevm_agents.config import ChainConfig
from tests.pyevm_agents.node.senders_of_tests import NOBODY
from tests.pyevm_agents.rpc.served import RefusedError, Served
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.samples import Sample

DAY = 86_400
START = ChainConfig().genesis_timestamp_seconds
TIMESTAMP = asm("TIMESTAMP PUSH0 MSTORE 0x20 PUSH0 RETURN")
TIMESTAMP_CALL = {"to": to_hex(NOBODY)}


class Timed:
    """A node in a world whose time a test moves."""

    def __init__(self, *, begun: int = START, wall: float = START + 5_000.25) -> None:
        self.wall = wall
        self.open(begun)

    def open(self, begun: int, rows: MemoryRows | None = None) -> None:
        """Start a node on a new chain, or on a stored one."""
        self.rows = MemoryRows() if rows is None else rows
        chain = Chain(ChainConfig(genesis_timestamp_seconds=begun), rows=self.rows)
        self.served = Served(chain=chain, now=lambda: self.wall)
        self.ask = self.served.ask

    def restart(self, stopped_seconds: int = 0) -> object:
        """Stop the node, and start another one on its stored chain."""
        self.wall += stopped_seconds
        begun = self.served.node.chain.config.genesis_timestamp_seconds
        self.close()
        self.open(begun, self.rows)
        return self

    @property
    def head(self) -> int:
        """The latest block's timestamp."""
        return int(self.served.node.chain.head.timestamp)

    @property
    def pending(self) -> int:
        """The pending block's timestamp."""
        is_full = False
        return int(self.ask("eth_getBlockByNumber", "pending", is_full)["timestamp"], 16)

    def load(self) -> object:
        """Load the chain's dump into a new one, which began long before."""
        dump = self.ask("anvil_dumpState")
        self.close()
        self.open(1_000)
        return self.ask("anvil_loadState", dump)

    def close(self) -> None:
        self.served.close()


def mine_late(it: Timed) -> object:
    """Mine a block that is a day after the head."""
    return it.ask("evm_mine", it.head + DAY)


HISTORIES: dict[str, Callable[[Timed], object]] = {
    "a start": Timed.restart,
    "a burst": lambda it: [it.ask("evm_mine") for _ in range(50)],
    "anvil_mine": lambda it: it.ask("anvil_mine", 100),
    "evm_mine": mine_late,
    "evm_mine, with options": lambda it: it.ask("evm_mine", {"timestamp": it.head + DAY}),
    "evm_mine_detailed": lambda it: it.ask("evm_mine_detailed", {"timestamp": it.head + DAY}),
    "evm_mine, behind the clock": lambda it: [
        it.ask("evm_increaseTime", DAY),
        it.ask("evm_mine", it.head + 100),
    ],
    "hardhat_mine": lambda it: it.ask("hardhat_mine", 2, DAY),
    "evm_setNextBlockTimestamp": lambda it: [
        it.ask("evm_setNextBlockTimestamp", it.head + 10),
        it.ask("anvil_mine", 20),
    ],
    "evm_setTime, before the head": lambda it: it.ask("evm_setTime", 900),
    "an interval and its end": lambda it: [
        it.ask("anvil_setBlockTimestampInterval", DAY),
        it.ask("anvil_mine", 3),
        it.ask("anvil_removeBlockTimestampInterval"),
    ],
    "anvil_reorg": lambda it: [mine_late(it), it.ask("anvil_reorg", 1, [])],
    "anvil_rollback": lambda it: [it.ask("evm_mine"), mine_late(it), it.ask("anvil_rollback", 1)],
    "anvil_rollback, after an increase": lambda it: [
        it.ask("evm_mine"),
        it.ask("evm_increaseTime", DAY),
        it.ask("anvil_rollback", 1),
    ],
    "anvil_reset": lambda it: [mine_late(it), it.ask("anvil_reset")],
    "evm_revert": lambda it: [
        number := it.ask("evm_snapshot"),
        mine_late(it),
        it.ask("evm_revert", number),
    ],
    "a restart": lambda it: [mine_late(it), it.restart(10 * DAY)],
    "a dump": lambda it: [mine_late(it), it.load()],
}


SET: dict[str, Callable[[Timed], object]] = {
    "nothing": lambda _: None,
    "a wait": lambda it: setattr(it, "wall", it.wall + 7),
    "an increase": lambda it: it.ask("evm_increaseTime", 50),
    "a next timestamp": lambda it: it.ask("evm_setNextBlockTimestamp", it.head + 100),
    "an interval": lambda it: it.ask("anvil_setBlockTimestampInterval", 7),
}


@pytest.mark.parametrize(
    ("method", "before", "first"),
    [
        ("anvil_mine", "nothing", DAY),
        ("anvil_mine", "a wait", 7 + DAY),
        ("anvil_mine", "an increase", 50 + DAY),
        ("anvil_mine", "a next timestamp", 100),
        ("hardhat_mine", "nothing", 1),
        ("hardhat_mine", "a wait", 7),
        ("hardhat_mine", "an increase", 50),
        ("hardhat_mine", "a next timestamp", 100),
        ("hardhat_mine", "an interval", 7),
    ],
)
def test_blocks_that_are_mined_with_an_interval_are_those_of_anvil_and_of_hardhat(
    method: str, before: str, first: int
) -> None:
    for count in (1, 2, 3):
        with closing(Timed()) as it:
            SET[before](it)
            start = it.head
            it.ask(method, count, DAY)
            assert it.head - start == first + (count - 1) * DAY
            before_wait, it.wall = it.head, it.wall + 3
            it.ask("evm_mine")
            assert it.head - before_wait == (7 if before == "an interval" else 3)


def test_an_interval_between_blocks_holds_in_anvil_mine() -> None:
    with closing(Timed()) as it:
        SET["an interval"](it)
        start = it.head
        it.ask("anvil_mine", 2, DAY)
        assert it.head - start == 2 * 7


@pytest.mark.parametrize("begun", [1_000, START, START + 100 * DAY], ids=["past", "now", "future"])
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_time_goes_on_from_the_head(history: Callable[[Timed], object], begun: int) -> None:
    """A wait and an increase move the next block by as much, whatever was before."""
    with closing(Timed(begun=begun)) as it:
        history(it)
        for wait, increase in [(3, 0), (0, 3_600), (2, 60)]:
            before = it.head
            it.wall += wait
            if increase:
                it.ask("evm_increaseTime", increase)
            assert it.pending == before + wait + increase
            it.ask("evm_mine")
            assert it.head == before + wait + increase


def test_calls_at_pending_see_the_time_of_the_next_block() -> None:
    now = [START + 100.0]
    with closing(Served(codes={NOBODY: TIMESTAMP}, now=lambda: now[0])) as it:
        it.ask("anvil_mine", 30)
        for seconds in (600, 0):
            it.ask("evm_increaseTime", seconds)
            now[0] += 5
            shown = int(it.ask("eth_call", TIMESTAMP_CALL, "pending"), 16)
            assert shown == it.node.chain.head.timestamp + seconds + 5
            it.ask("evm_mine")
            assert it.node.chain.head.timestamp == shown


def test_a_snapshot_keeps_what_was_increased() -> None:
    with closing(Timed()) as it:
        it.ask("evm_increaseTime", 500)
        number, before = it.ask("evm_snapshot"), it.head
        it.wall += DAY
        it.ask("evm_mine")
        it.ask("evm_revert", number)
        it.ask("evm_mine")
        assert it.head == before + 500


def test_a_dump_moves_the_time_of_a_longer_chain() -> None:
    with closing(Timed()) as it:
        it.ask("evm_mine", START + DAY)
        dump = it.ask("anvil_dumpState")
        it.ask("anvil_reset")
        it.ask("anvil_mine", 3)
        it.ask("anvil_loadState", dump)
        it.wall += 9
        assert it.pending == START + DAY + 9


def test_a_reorg_keeps_the_timestamps_and_the_clock() -> None:
    with closing(Timed()) as it:
        it.ask("evm_mine", it.head + 7)
        it.ask("evm_mine", it.head + DAY)
        it.ask("evm_setNextBlockTimestamp", it.head + 50)
        chain = it.served.node.chain
        before = [chain.header(number) for number in (1, 2)]
        it.ask("anvil_reorg", 2, [])
        after = [chain.header(number) for number in (1, 2)]
        assert [each.timestamp for each in after] == [each.timestamp for each in before]
        assert {each.hash for each in after}.isdisjoint(each.hash for each in before)
        assert it.pending == it.head + 50


class TimeMachine(RuleBasedStateMachine):
    """All requests that touch time, against a model: a time, and the wall-clock time it is of."""

    def __init__(self) -> None:
        super().__init__()
        self.it = Timed()
        self.timestamps = [START]
        self.time, self.since = START, int(self.it.wall)
        self.earliest = 0
        self.fixed: int | None = None
        self.interval: int | None = None
        self.snapshots: list[tuple[str, list[int], int, int, int | None, int | None]] = []

    def teardown(self) -> None:
        self.it.close()

    # -- the model -- #

    @property
    def shown(self) -> int:
        """The clock's time."""
        passed = int(self.it.wall) - self.since
        return max(self.time + passed, self.earliest, self.timestamps[-1])

    @property
    def next(self) -> int:
        """The timestamp of the next block."""
        if self.fixed is not None:
            return self.fixed
        shown = self.shown
        if self.interval is not None:
            shown = max(self.timestamps[-1] + self.interval, self.earliest)
        return max(shown, self.timestamps[-1] + 1)

    def set_time(self, seconds: int) -> None:
        self.time, self.since = seconds, int(self.it.wall)

    def add_block(self, at: int | None = None) -> None:
        """Add a block, by default at the clock's time; time goes on from it."""
        self.timestamps.append(self.next if at is None else at)
        self.set_time(self.timestamps[-1])
        self.earliest, self.fixed = 0, None

    # -- requests -- #

    @initialize(seconds=st.integers(-DAY, DAY))
    def begin(self, seconds: int) -> None:
        self.it.wall += seconds
        self.it.restart()
        self.set_time(START)

    @rule(seconds=st.floats(0, 1_000))
    def wait(self, seconds: float) -> None:
        self.it.wall += seconds

    @rule(count=st.integers(1, 5))
    def burst(self, count: int) -> None:
        for _ in range(count):
            self.add_block()
            self.it.ask("evm_mine")

    @rule(count=st.integers(1, 3), seconds=st.integers(0, 1_000))
    def mine_apart(self, count: int, seconds: int) -> None:
        self.it.ask("hardhat_mine", count, seconds)
        for index in range(count):
            self.add_block(self.timestamps[-1] + max(seconds, 1) if index else None)

    @rule(
        seconds=st.integers(1, 1_000),
        method=st.sampled_from(["evm_mine", "evm_mine_detailed"]),
        is_option=st.booleans(),
    )
    def mine_at(self, seconds: int, method: str, *, is_option: bool) -> None:
        at = self.timestamps[-1] + seconds
        self.it.ask(method, {"timestamp": at} if is_option else at)
        self.add_block(at)

    @rule(seconds=st.integers(-1_000, 0), method=st.sampled_from(["evm_mine", "set_next"]))
    def go_back(self, seconds: int, method: str) -> None:
        name = "evm_setNextBlockTimestamp" if method == "set_next" else method
        with pytest.raises(RefusedError, match="is lower than or equal to"):
            self.it.ask(name, self.timestamps[-1] + seconds)

    @rule(seconds=st.integers(0, 10_000))
    def increase(self, seconds: int) -> None:
        head = self.timestamps[-1]
        stands = self.interval is not None
        after = (max(head, self.earliest) if stands else self.shown) + seconds
        assert self.it.ask("evm_increaseTime", seconds) == after - int(self.it.wall)
        self.set_time(after)
        self.earliest = after
        if self.fixed is None:
            assert self.next >= head + seconds

    @rule(seconds=st.integers(-1_000, 10_000))
    def set_now(self, seconds: int) -> None:
        self.it.ask("evm_setTime", self.timestamps[-1] + seconds)
        self.set_time(self.timestamps[-1] + max(seconds, 0))
        self.earliest = 0

    @rule(seconds=st.integers(1, 1_000))
    def set_next(self, seconds: int) -> None:
        self.fixed = self.timestamps[-1] + seconds
        self.it.ask("evm_setNextBlockTimestamp", self.fixed)

    @rule(seconds=st.integers(0, 1_000) | st.none())
    def set_interval(self, seconds: int | None) -> None:
        if seconds is None:
            was_set = self.it.ask("anvil_removeBlockTimestampInterval")
            assert was_set is (self.interval is not None)
        else:
            self.it.ask("anvil_setBlockTimestampInterval", seconds)
        self.interval = seconds

    # -- going back -- #

    @rule()
    def snapshot(self) -> None:
        shown = self.time + int(self.it.wall) - self.since
        kept = (shown, self.earliest, self.fixed, self.interval)
        self.snapshots.append((self.it.ask("evm_snapshot"), [*self.timestamps], *kept))

    @precondition(lambda self: self.snapshots)
    @rule()
    def revert(self) -> None:
        number, self.timestamps, seconds, *_ = kept = self.snapshots.pop()
        self.earliest, self.fixed, self.interval = kept[3:]
        assert self.it.ask("evm_revert", number)
        self.set_time(seconds)

    @precondition(lambda self: len(self.timestamps) > 1 and not self.snapshots)
    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        depth = data.draw(st.integers(1, len(self.timestamps) - 1))
        self.it.ask("anvil_rollback", depth)
        del self.timestamps[-depth:]
        self.set_time(self.timestamps[-1])
        self.earliest = 0

    @precondition(lambda self: len(self.timestamps) > 1 and not self.snapshots)
    @rule()
    def reorganize(self) -> None:
        self.it.ask("anvil_reorg", 1, [])

    @rule()
    def reset(self) -> None:
        self.it.ask("anvil_reset")
        self.timestamps, self.snapshots = [START], []
        self.set_time(START)
        self.earliest, self.fixed, self.interval = 0, None, None

    @rule()
    def restart(self) -> None:
        self.it.restart()
        self.snapshots = []
        self.set_time(self.timestamps[-1])
        self.earliest, self.fixed, self.interval = 0, None, None

    @invariant()
    def has_the_models_time(self) -> None:
        assert self.it.head == self.timestamps[-1]
        assert self.it.pending == self.next


@pytest.mark.sample(count=15, seed=0)
def test_every_request_keeps_the_rule(sample: Sample) -> None:
    run_state_machine_as_test(
        TimeMachine, settings=settings(max_examples=sample.count, stateful_step_count=25)
    )

"""A store compared with a dict: put, get, limits, eviction, clearing, reopening."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyevm_agents.models import Store
from pyevm_agents.models.store.statistics import compute_statistics
from pyevm_agents.models.store.store import MIN_MAX_BYTES
from tests.stored_generations import generation, question

if TYPE_CHECKING:
    from precompiles.language_model import Generation


class StoreMachine(RuleBasedStateMachine):
    """A store behaves like a dict, except that least recently used entries may be evicted."""

    numbers = st.integers(0, 30)

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "store.sqlite3"
        self.known: dict[int, Generation] = {}
        self.open()

    def open(self) -> None:
        self.store = Store(self.path, max_bytes=MIN_MAX_BYTES)

    @rule(
        number=numbers,
        length=st.sampled_from([1, 2, 39, 40]),
        text_bytes=st.sampled_from([8, 30_000]),
    )
    def put(self, number: int, length: int, text_bytes: int) -> None:
        said = replace(generation(number, length=length), text="x" * text_bytes)
        self.store.put(question(number), said)
        known = self.store.get(question(number).compute_key())
        assert known is not None
        before = self.known.get(number)
        if before is not None and len(before.tokens) >= length and known != said:
            assert known == before
        else:
            assert known == said
        self.known[number] = known

    @rule(number=numbers)
    def get(self, number: int) -> None:
        found = self.store.get(question(number).compute_key())
        if found is None and number in self.known:
            assert compute_statistics(self.store).counts["evicted"] > 0
            del self.known[number]
        assert found == self.known.get(number)
        if found is not None:
            self.store.record_use(question(number).compute_key())

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.open()

    @rule()
    def clear(self) -> None:
        self.store.clear()
        self.known.clear()

    @invariant()
    def keeps_its_bound(self) -> None:
        assert compute_statistics(self.store).file_bytes <= MIN_MAX_BYTES
        assert self.store.trouble is None

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


StoreMachine.TestCase.settings = settings(max_examples=15, stateful_step_count=30)
TestStoreMachine = StoreMachine.TestCase

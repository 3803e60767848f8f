"""Writers killed at any moment leave an intact file with correct rows."""

from __future__ import annotations

import multiprocessing
import random
import time
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.models import Store
from pyevm_agents.models.store.statistics import compute_statistics
from pyevm_agents.models.store.store import MIN_MAX_BYTES
from tests import stored_generations
from tests.stored_generations import generation, question, sound

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerProcess
    from pathlib import Path

    from tests.samples import Sample


def kill_writers(path: Path, sample: Sample, max_bytes: int) -> None:
    """Run four writing processes, and kill them one after the other."""
    chance = random.Random(sample.seed)  # noqa: S311 - moments to kill at

    # The processes have the modules from the beginning: each starts in milliseconds.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([stored_generations.__name__])

    def start() -> tuple[ForkServerProcess, Connection]:
        reader, said = processes.Pipe(duplex=False)
        given = (path, chance.randrange(10**9), max_bytes, said)
        writer = processes.Process(target=stored_generations.write_until_killed, args=given)
        writer.start()
        said.close()
        return writer, reader

    writers = [start() for _ in range(4)]
    for _ in range(sample.count):
        writer, reader = writers.pop(0)
        with reader:
            assert reader.recv() == "ready"
        time.sleep(chance.random() * 0.2)
        assert writer.is_alive(), "a writer failed"
        writer.kill()
        writer.join()
        writers.append(start())
    for writer, reader in writers:
        writer.kill()
        writer.join()
        reader.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "max_bytes",
    [
        pytest.param(MIN_MAX_BYTES, id="evicting", marks=pytest.mark.sample(count=6, seed=7)),
        pytest.param(1 << 28, id="roomy", marks=pytest.mark.sample(count=6, seed=7)),
    ],
)
def test_killed_writers_leave_a_sound_store(tmp_path: Path, sample: Sample, max_bytes: int) -> None:
    path = tmp_path / "store.sqlite3"
    kill_writers(path, sample, max_bytes)
    with Store(path, max_bytes=max_bytes) as store:
        assert sound(store)
        assert compute_statistics(store).complete > 0
        store.put(question(1), generation(1))
        assert store.get(question(1).compute_key()) == generation(1)
        assert store.trouble is None
    assert path.stat().st_size <= max_bytes
    sample.figures.update({"kills": sample.count})

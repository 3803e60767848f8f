"""Writers killed at any moment leave an intact file with correct rows."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.models import Store
from pyevm_agents.models.store.statistics import compute_statistics
from pyevm_agents.models.store.store import MIN_MAX_BYTES
from tests.stored_generations import generation, question, sound

if TYPE_CHECKING:
    from tests.samples import Sample

ROOT = Path(__file__).resolve().parents[4]


def kill_writers(path: Path, sample: Sample, max_bytes: int) -> None:
    """Run four writing processes, and kill them one after the other."""
    chance = random.Random(sample.seed)  # noqa: S311 - moments to kill at

    def start() -> subprocess.Popen[str]:
        seed = str(chance.randrange(10**9))
        command = [sys.executable, "-m", "tests.stored_generations", str(path), seed]
        return subprocess.Popen(
            [*command, str(max_bytes)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )

    writers = [start() for _ in range(4)]
    for _ in range(sample.count):
        writer = writers.pop(0)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(chance.random() * 0.2)
        assert writer.poll() is None, "a writer failed"
        writer.kill()
        writer.communicate()
        writers.append(start())
    for writer in writers:
        writer.kill()
        writer.communicate()


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

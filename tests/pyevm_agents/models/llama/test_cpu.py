"""The default number of threads, and rejection of invalid ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.llama import cpu as threads
from pyevm_agents.models.llama.cpu import count_physical_cores, resolve_threads

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("count", [1, 2, 512])
def test_what_is_asked_for_is_used(count: int) -> None:
    assert resolve_threads(count) == count


@pytest.mark.parametrize("count", [0, -1, 513, True, 1.0, "2"])
def test_what_is_no_number_of_threads_is_refused(count: object) -> None:
    with pytest.raises(
        ConfigError,
        match=f"invalid threads {count!r}: must be an integer from 1 to 512, or None for [1-4]",
    ):
        resolve_threads(count)  # type: ignore[arg-type]


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (3, 3), (64, 4)])
def test_the_default_is_the_cores_up_to_four(
    monkeypatch: pytest.MonkeyPatch, cores: int, expected: int
) -> None:
    monkeypatch.setattr(threads, "count_physical_cores", lambda: cores)
    assert resolve_threads(None) == expected


def test_two_threads_of_one_core_count_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        topology = tmp_path / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{siblings}\n")
    assert count_physical_cores(tmp_path) == 2
    assert count_physical_cores(tmp_path / "nothing") == 4


def test_a_system_that_does_not_tell_has_the_cpus_that_python_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert count_physical_cores() == os.cpu_count()

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from pyevm_agents.bench.inference.model_shapes import count_shape_parameters, count_tensor_bytes
from pyevm_agents.bench.measurement.results import Yardstick
from pyevm_agents.bench.measurement.rounds import BenchSettings
from pyevm_agents.bench.runs.model_sizes import (
    LONG_TOKENS,
    TERMS,
    get_model_path,
    measure_sizes,
    open_work_folder,
    require_room,
)
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel
from pyevm_agents.models.llama.prefix_cache import count_shared_tokens, to_token_array
from pyevm_agents.reports.number_format import Interval
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.bench.tiny_model import TINY, SilentObserver, tiny_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from precompiles.language_model import Generation, GenerationRequest

OTHER = replace(TINY, name="other-random", layers=3)
PER_GAS = Interval(middle=30.0, low=20.0, high=40.0)


class DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


def yardstick(name: str, per_gas: Interval = PER_GAS, *, vm: str = "pyevm-agents") -> Yardstick:
    return Yardstick(
        name=name,
        title=name,
        vm=vm,
        gas=1,
        seconds=(1.0,),
        ns_per_gas=per_gas,
        is_worst_case=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Iterator[LlamaModel]:
    with LlamaModel(tiny_model(folder), threads=1) as model:
        yield model


@pytest.mark.slow
def test_a_model_is_measured_beside_the_own_one(tiny: LlamaModel, folder: Path) -> None:
    observer = SilentObserver()
    setting = BenchSettings(model=tiny, observer=observer, is_quick=True)
    found = measure_sizes(setting, [yardstick("erc20")], shapes=(OTHER,), work=folder, rounds=2)
    assert [one.name for one in found] == ["tiny-random", "other-random"]
    assert [one.parameters for one in found] == [
        count_shape_parameters(TINY),
        count_shape_parameters(OTHER),
    ]
    assert [one.quantisation for one in found] == ["Q4_K", "Q4_K_M"]
    for one in found:
        ns = dict(one.ns)
        assert tuple(ns) == TERMS
        assert ns["sampled"].high > 0
        assert one.prompt_tokens == LONG_TOKENS
        gas = {reference: dict(terms) for reference, terms in one.parity_gas}
        assert gas["erc20"]["cold"].middle == pytest.approx(ns["cold"].middle / 30)
        assert gas["worst"] == gas["erc20"]
    assert len(observer.steps) == observer.parts[0][1]
    assert get_model_path(OTHER, folder).stat().st_size > count_tensor_bytes(OTHER)


class Metered:
    """The tiny model on a simulated clock: a fixed time per token, by its cost."""

    def __init__(self, model: LlamaModel, took: dict[str, float]) -> None:
        self._model, self._took = model, took
        self._kept: tuple[int, ...] = ()
        self.now = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def forget(self) -> None:
        self._kept = ()

    def generate(self, request: GenerationRequest) -> Generation:
        said = self._model.generate(request)
        prompt = request.prompt_tokens
        assert prompt is not None
        warm = count_shared_tokens(to_token_array(self._kept), to_token_array(prompt))
        counts = {
            "cold": len(prompt) - warm,
            "warm": warm,
            "sampled": len(said.tokens) - said.forced_tokens,
            "forced": said.forced_tokens,
        }
        self.now += sum(self._took[term] * count for term, count in counts.items())
        self._kept = prompt + said.tokens
        return said

    def clocked(self, work: Callable[[], Generation]) -> tuple[float, Generation]:
        before = self.now
        said = work()
        return self.now - before, said


def test_a_term_is_what_a_token_of_its_kind_takes(
    tiny: LlamaModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    took = {"cold": 2.0, "warm": 0.01, "sampled": 7.0, "forced": 5.0}
    metered = Metered(tiny, took)
    monkeypatch.setattr("pyevm_agents.bench.runs.model_sizes.time_with_result", metered.clocked)
    setting = BenchSettings(
        model=cast("LlamaModel", metered), observer=SilentObserver(), is_quick=True
    )
    (found,) = measure_sizes(setting, [yardstick("erc20")], shapes=(), work=folder, rounds=2)
    assert {term: ns.middle / 1e9 for term, ns in found.ns} == pytest.approx(took)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_temporary_folder_is_gone_after_an_error(
    temporary: Path, tiny: LlamaModel, error: type[BaseException]
) -> None:
    seen: list[int] = []

    class Failing(SilentObserver):
        def finish_step(self, detail: str) -> None:
            seen.append(sum(1 for one in temporary.rglob("*.gguf")))
            raise error(detail)

    setting = BenchSettings(model=tiny, observer=Failing(), is_quick=True)
    with pytest.raises(error):
        measure_sizes(setting, [], shapes=(OTHER,))
    assert seen == [1]
    assert not [*temporary.iterdir()]


INTERRUPTED = """
import sys
from pyevm_agents.bench.measurement.rounds import BenchSettings
from pyevm_agents.bench.runs.model_sizes import measure_sizes
from pyevm_agents.models import LlamaModel
from pyevm_agents.models.llama.prefix_cache import count_shared_tokens, to_token_array
from tests.pyevm_agents.bench.tiny_model import TINY, SilentObserver

class Telling(SilentObserver):
    def finish_step(self, detail):
        print(detail, flush=True)

if __name__ == "__main__":
    with LlamaModel(sys.argv[1], threads=1) as model:
        setting = BenchSettings(model=model, observer=Telling(), is_quick=True)
        measure_sizes(setting, [], shapes=(TINY,), rounds=1_000)
"""


@pytest.mark.slow
def test_ctrl_c_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tiny_model(folder))],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "tiny-random is written\n"
    assert [*tmp_path.rglob("*.gguf")]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == -signal.SIGINT
    assert not [*tmp_path.rglob("*.gguf")]


def test_a_disk_without_room_is_refused_before_anything_is_written(
    temporary: Path, tiny: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: DiskUsage(10**9, 10**9, 1_000))
    setting = BenchSettings(model=tiny, observer=SilentObserver(), is_quick=True)
    with pytest.raises(ConfigError, match="1,000 free: make room, or set TMPDIR"):
        measure_sizes(setting, [], shapes=(OTHER,))
    assert not [*temporary.iterdir()]


def test_files_that_are_there_need_no_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_model(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: DiskUsage(10**9, 10**9, 0))
    with open_work_folder([TINY], folder) as same:
        assert same == folder
    with pytest.raises(ConfigError, match="make room"):
        require_room([TINY], folder)


def test_a_folder_that_can_not_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ConfigError, match="can't be made: File exists"),
        open_work_folder([TINY], tmp_path / "file"),
    ):
        pass


def test_without_the_package_nothing_is_measured(
    tiny: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    observer = SilentObserver()
    with pytest.raises(ConfigError, match="pip install"):
        measure_sizes(BenchSettings(model=tiny, observer=observer, is_quick=True), [])
    assert not observer.parts

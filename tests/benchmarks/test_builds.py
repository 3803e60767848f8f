"""Builds: the pinned flags and others; builds that cannot run here are reported."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from benchmarks import builds
from benchmarks.builds import OURS, SWITCHES, V3, VARIANTS, BuildError, Variant, libraries

ROOT = Path(__file__).parents[2]


def test_the_switches_of_ours_are_those_of_the_pinned_flags() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    flags = project["tool"]["uv"]["extra-build-variables"]["llama-cpp-python"]["CMAKE_ARGS"]
    on = {name for name in re.findall(r"-D(GGML_\w+)=ON", flags) if name in SWITCHES}
    assert on == {*V3, "GGML_CPU_REPACK"}


def test_each_build_says_each_switch() -> None:
    assert all(set(variant.on) <= set(SWITCHES) for variant in VARIANTS.values())
    assert [name for name, variant in VARIANTS.items() if not variant.on] == [OURS]


def test_ours_is_the_installed_one(tmp_path: Path) -> None:
    assert (libraries(OURS, tmp_path) / builds.CPU_LIBRARY).is_file()


def test_a_build_that_this_processor_cannot_run_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    future = Variant(name="future", says="of 2040", on=V3, needs=("avx9000",))
    monkeypatch.setitem(builds.VARIANTS, "future", future)
    with pytest.raises(BuildError, match="not run here: processor lacks AVX9000"):
        libraries("future", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_build_that_is_there_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tmp_path / "compiled.so"
    compiled.write_bytes(b"library")
    calls: list[str] = []

    def compile_cpu(variant: Variant, _source: Path, _work: Path) -> Path:
        calls.append(variant.name)
        return compiled

    monkeypatch.setattr(builds, "compile_cpu", compile_cpu)
    monkeypatch.setattr(builds, "source_of", lambda work: work)
    folder = libraries("avx2-both", tmp_path)
    assert libraries("avx2-both", tmp_path) == folder
    assert (folder / builds.CPU_LIBRARY).read_bytes() == b"library"
    assert calls == ["avx2-both"]

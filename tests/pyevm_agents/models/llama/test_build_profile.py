"""Builds that compute other bits are rejected."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.llama.build_profile import (
    build_engine_name,
    check_build,
    check_processor,
    find_profile,
    parse_build,
)

if TYPE_CHECKING:
    from pathlib import Path

PINNED = (
    "CPU : SSE3 = 1 | SSSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | BMI2 = 1 | "
    "OPENMP = 1 | REPACK = 1 | "
)
ARM = "CPU : NEON = 1 | ARM_FMA = 1 | REPACK = 1 | "


def check(info: str, backends: tuple[str, ...] = ("CPU",), machine: str = "x86_64") -> None:
    check_build(parse_build(info, backends, machine))


@pytest.mark.parametrize(
    "info", [PINNED, PINNED.replace("OPENMP = 1 | ", ""), PINNED + "LLAMAFILE = 0 | "]
)
def test_the_pinned_build_is_fit(info: str) -> None:
    check(info)


def test_the_pinned_build_for_arm_is_fit() -> None:
    check(ARM, machine="arm64")
    assert find_profile("arm64") == find_profile("aarch64") == "aarch64"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("LLAMAFILE = 1 | ", r"LLAMAFILE is on: .*GGML_LLAMAFILE=OFF"),
        (
            "AVX512 = 1 | AVX512_VNNI = 1 | ",
            r"AVX512 is on: .*AVX512_VNNI is on: .*GGML_NATIVE=OFF",
        ),
        ("ACCELERATE = 1 | ", r"ACCELERATE is on: .*GGML_ACCELERATE=OFF"),
        ("CUDA : ARCHS = 890 | USE_GRAPHS = 1 | ", r"backend CUDA is compiled in: .*GGML_CUDA=OFF"),
    ],
)
def test_each_wrong_flag_is_named_with_what_to_do(extra: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        check(PINNED + extra)
    assert "make engine" in str(caught.value)
    assert "uv sync --reinstall-package llama-cpp-python" in str(caught.value)


def test_a_missing_instruction_set_is_named() -> None:
    with pytest.raises(ConfigError, match="AVX2 is missing; FMA is missing"):
        check("CPU : SSE3 = 1 | AVX = 1 | F16C = 1 | BMI2 = 1 | ")


@pytest.mark.parametrize(("info", "machine"), [(PINNED, "x86_64"), (ARM, "aarch64")])
def test_a_build_that_cannot_repack_is_refused(info: str, machine: str) -> None:
    with pytest.raises(ConfigError, match=r"REPACK is missing: .*GGML_CPU_REPACK=ON") as caught:
        check(info.replace("REPACK = 1 | ", ""), machine=machine)
    assert "make engine" in str(caught.value)


@pytest.mark.parametrize("backend", ["BLAS", "Metal", "Vulkan"])
def test_a_backend_that_says_nothing_of_itself_is_named(backend: str) -> None:
    with pytest.raises(ConfigError, match=f"backend {backend} is compiled in"):
        check(PINNED, ("CPU", backend))


def test_an_architecture_without_a_profile_is_refused() -> None:
    with pytest.raises(
        ConfigError,
        match=r"no pinned profile for the architecture riscv64; supported: x86-64-v3, aarch64",
    ):
        check("CPU : RISCV_V = 1 | ", machine="riscv64")


def test_only_what_decides_about_bits_is_numeric() -> None:
    build = parse_build(PINNED, ("CPU",), "x86_64")
    assert build.numeric_features == ("AVX", "AVX2", "BMI2", "F16C", "FMA", "REPACK")
    assert build.profile == "x86-64-v3"


@pytest.mark.parametrize("commit", ["0c1e570-dirty", "0c1e57098", "0c1e57098cf8de2", "unknown", ""])
def test_an_engine_is_named_with_its_commit_whether_or_not_git_was_there(commit: str) -> None:
    assert build_engine_name("0.3.36", commit) == "llama-cpp-python 0.3.36 (llama.cpp 0c1e57098)"


def test_a_version_that_nobody_wrote_down_is_named_by_its_build() -> None:
    assert (
        build_engine_name("9.9.9", "abc1234-dirty") == "llama-cpp-python 9.9.9 (llama.cpp abc1234)"
    )
    with pytest.raises(ConfigError, match=r"unknown llama.cpp in llama-cpp-python 9.9.9.*0.3.36"):
        build_engine_name("9.9.9", "unknown")


def test_a_build_of_another_commit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"requires llama.cpp 0c1e57098.*contains .*abc1234"):
        build_engine_name("0.3.36", "abc1234-dirty")


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="reads Linux' cpuinfo on x86-64",
)
def test_a_processor_that_lacks_an_instruction_is_named(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu sse avx f16c\n")
    with pytest.raises(ConfigError, match=r"lacks AVX2, FMA, BMI2.*ScriptedModel"):
        check_processor(cpuinfo)


def test_a_processor_that_nobody_describes_is_tried(tmp_path: Path) -> None:
    check_processor(tmp_path / "missing")
    (tmp_path / "empty").write_text("")
    check_processor(tmp_path / "empty")
    check_processor()

"""Build profile: whether an engine's build computes the bits that the consensus rules require.

The pinned profile is one instruction set, without code whose result depends on how a prompt is
split into batches. llama.cpp describes the build in one line, `llama_print_system_info()`.

Source: docs/architecture.md#bit-for-bit
"""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

HOW_TO_REBUILD = (
    "rebuild the engine with the pinned flags: `make engine`, or "
    "`uv sync --reinstall-package llama-cpp-python`"
)

DECODING_RULES = 1
"""Version of the decoding rules: the choice of the next token (`token_walk.py`) and the tokens of a
text (`tokenizer.py`). Part of the fingerprint; raise it with each change of these rules, so that
generations stored under the old ones are not used."""

BATCH_TOKENS = 512
"""Maximum tokens in one call of `llama_decode`; more would abort. Part of the fingerprint."""

LLAMA_CPP_COMMITS: Mapping[str, str] = MappingProxyType({"0.3.36": "0c1e57098"})
"""llama.cpp commit in the sdist of each version of llama-cpp-python. A build contains its commit
only if git was installed when it was compiled; a fingerprint must not depend on that."""

INSTRUCTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "x86-64-v3": ("AVX", "AVX2", "FMA", "F16C", "BMI2"),
        "aarch64": ("NEON",),
    }
)
"""Instruction sets that each profile's build must have."""

COMPILED_IN: Mapping[str, str] = MappingProxyType(
    {"REPACK": "some weights are repacked, see `models/llama/cpu.py` (GGML_CPU_REPACK=ON)"}
)
"""Features that every build must have: their purpose, and the flag that adds them."""

HARMLESS = frozenset({"SSE3", "SSSE3", "OPENMP", "ARM_FMA"})
"""Features that do not change results: threading, and those that a profile implies."""

WHY_UNFIT: Mapping[str, str] = MappingProxyType(
    {
        "LLAMAFILE": (
            "its matrix product gives different bits for a batch than for a single token "
            "(GGML_LLAMAFILE=OFF)"
        ),
        "BLAS": "matrix products depend on the BLAS library that is installed (GGML_BLAS=OFF)",
        "ACCELERATE": "matrix products depend on the version of macOS (GGML_ACCELERATE=OFF)",
        "METAL": "the GPU computes different bits than the CPU (GGML_METAL=OFF)",
        "CUDA": "the GPU computes different bits than the CPU (GGML_CUDA=OFF)",
    }
)
"""Features measured or known to change results, and the flag that removes them."""

NOT_IN_PROFILE = (
    "is not part of the pinned profile; other instructions give different bits (GGML_NATIVE=OFF)"
)

OTHER_BACKEND = "only the CPU computes the pinned bits"

CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBuild:
    """Features of an engine's build."""

    features: tuple[str, ...]
    """Names of all enabled features, in alphabetical order."""

    backends: tuple[str, ...]
    """Names of all compute backends compiled in; only `CPU` is allowed."""

    machine: str
    """CPU architecture as Python names it, such as `x86_64`."""

    @property
    def profile(self) -> str:
        """Name of the pinned profile for this machine."""
        return find_profile(self.machine)

    @property
    def numeric_features(self) -> tuple[str, ...]:
        """Features that affect results: those listed in a fingerprint."""
        return tuple(name for name in self.features if name not in HARMLESS)


def find_profile(machine: str) -> str:
    """Return the name of an architecture's pinned profile, such as `x86-64-v3` or `aarch64`."""
    aliases = {"x86_64": "x86-64-v3", "amd64": "x86-64-v3", "arm64": "aarch64"}
    return aliases.get(machine.lower(), machine.lower())


def build_engine_name(version: str, commit: str) -> str:
    """Return an engine's name as used in fingerprints, with the commit of llama.cpp.

    Input:
        version: version of llama-cpp-python.
        commit: result of `ggml_commit()`: a short hash, usually followed by `-dirty`, or `unknown`.

    Raises:
        ConfigError: the commit is not the one of this version, or unknown.
    """
    own = commit.removesuffix("-dirty")
    known = LLAMA_CPP_COMMITS.get(version)
    if own in {"", "unknown"}:
        own = ""
    if known is None and not own:
        raise ConfigError(
            f"unknown llama.cpp in llama-cpp-python {version}: its build contains no "
            f"commit, and only {', '.join(LLAMA_CPP_COMMITS)} is known here; install that version, "
            "or compile this one with git installed"
        )
    if known is not None and not (known.startswith(own) or own.startswith(known)):
        raise ConfigError(
            f"llama-cpp-python {version} requires llama.cpp {known}, but this build contains "
            f"llama.cpp {commit}: {HOW_TO_REBUILD}"
        )
    return f"llama-cpp-python {version} (llama.cpp {known or own})"


def parse_build(system_info: str, backends: tuple[str, ...], machine: str) -> EngineBuild:
    """Parse `llama_print_system_info()`, such as `CPU : SSE3 = 1 | AVX2 = 1 | LLAMAFILE = 1 | `.

    Features of other backends than the CPU are reported as the backend's name.
    """
    features: set[str] = set()
    backend_names = {*backends}
    backend = "CPU"
    for part in system_info.split("|"):
        entry = part.strip()
        if " : " in entry:
            backend, entry = (side.strip() for side in entry.split(" : ", 1))
            backend_names.add(backend)
        name, _, value = (side.strip() for side in entry.partition("="))
        if backend.upper() == "CPU" and name and value not in {"", "0"}:
            features.add(name)
    return EngineBuild(
        features=tuple(sorted(features)), backends=tuple(sorted(backend_names)), machine=machine
    )


def check_build(build: EngineBuild) -> None:
    """Check that an engine's build is the pinned profile.

    Raises:
        ConfigError: lists each wrong flag, the effect and how to rebuild.
    """
    required = INSTRUCTIONS.get(build.profile)
    if required is None:
        supported = ", ".join(INSTRUCTIONS)
        raise ConfigError(
            f"no pinned profile for the architecture {build.machine}; supported: {supported}"
        )
    wrong = [f"{name} is missing" for name in required if name not in build.features]
    wrong += [
        f"{name} is missing: it is required because {purpose}"
        for name, purpose in COMPILED_IN.items()
        if name not in build.features
    ]
    wrong += [
        f"{name} is on: {WHY_UNFIT[name]}"
        if name in WHY_UNFIT
        else f"{name} is on: it {NOT_IN_PROFILE}"
        for name in build.numeric_features
        if name not in required and name not in COMPILED_IN
    ]
    wrong += [
        f"the backend {name} is compiled in: {WHY_UNFIT.get(name.upper(), OTHER_BACKEND)}"
        for name in build.backends
        if name.upper() != "CPU"
    ]
    if wrong:
        raise ConfigError(
            f"llama-cpp-python is not built for the profile {build.profile}: "
            f"{'; '.join(wrong)}. "
            f"Blocks computed with it would be invalid on other hosts: {HOW_TO_REBUILD}"
        )


def check_processor(cpuinfo: Path = CPUINFO) -> None:
    """Check that the CPU has the engine's instructions (Linux on x86-64 only).

    Raises:
        ConfigError: lists the missing instructions.
    """
    if sys.platform != "linux" or find_profile(platform.machine()) != "x86-64-v3":
        return
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    flags = next(
        (line.partition(":")[2].split() for line in lines if line.startswith("flags")), None
    )
    if flags is None:
        return
    missing = [name for name in INSTRUCTIONS["x86-64-v3"] if name.lower() not in flags]
    if missing:
        raise ConfigError(
            f"this CPU lacks {', '.join(missing)}, which the pinned profile x86-64-v3 requires "
            "(Intel since 2013, AMD since "
            "2015; some virtual machines hide them): use another machine, or a ScriptedModel "
            "instead of a LlamaModel"
        )

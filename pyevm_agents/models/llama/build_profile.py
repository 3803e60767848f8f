"""Whether an engine's build computes the bits that the chain's rules rest on.

The pinned profile is one instruction set and no code whose result depends on how a prompt is cut
into batches. Everything llama.cpp says about its build is in one line, `llama_print_system_info()`.
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
"""Version of the decoding rules: the next token (`token_walk.py`), and those of a
text (`tokenizer.py`). A part of the fingerprint, to be raised with each change: stored
generations of other rules are not to be found."""

BATCH_TOKENS = 512
"""Tokens in one call of `llama_decode` at most; more would abort. A part of the fingerprint."""

LLAMA_CPP_COMMITS: Mapping[str, str] = MappingProxyType({"0.3.36": "0c1e57098"})
"""Version of llama-cpp-python to the commit of llama.cpp in its sdist. A build knows its commit
only where git was there when it was compiled; a fingerprint must not depend on that."""

INSTRUCTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "x86-64-v3": ("AVX", "AVX2", "FMA", "F16C", "BMI2"),
        "aarch64": ("NEON",),
    }
)
"""Profile to the instruction sets its build must have."""

COMPILED_IN: Mapping[str, str] = MappingProxyType(
    {"REPACK": "some weights are laid out anew, see `models/llama/cpu.py` (GGML_CPU_REPACK=ON)"}
)
"""Code that every build must have: what it is for, with the flag that adds it."""

HARMLESS = frozenset({"SSE3", "SSSE3", "OPENMP", "ARM_FMA"})
"""Features that change no bit of the result: how threads are made, and what a profile implies."""

WHY_UNFIT: Mapping[str, str] = MappingProxyType(
    {
        "LLAMAFILE": (
            "its matrix product gives other bits for a batch than for a single token "
            "(GGML_LLAMAFILE=OFF)"
        ),
        "BLAS": "matrix products depend on the BLAS library that is installed (GGML_BLAS=OFF)",
        "ACCELERATE": "matrix products depend on the version of macOS (GGML_ACCELERATE=OFF)",
        "METAL": "the GPU gives other bits than the processor (GGML_METAL=OFF)",
        "CUDA": "the GPU gives other bits than the processor (GGML_CUDA=OFF)",
    }
)
"""Features measured or known to change the result, with the flag that removes them."""

NOT_IN_PROFILE = (
    "is not part of the pinned profile, and other instructions give other bits (GGML_NATIVE=OFF)"
)

OTHER_BACKEND = "only the processor gives the pinned bits"

CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBuild:
    """What an engine says about itself."""

    features: tuple[str, ...]
    """Names of all features that are on, in alphabetical order."""

    backends: tuple[str, ...]
    """Names of all compute backends compiled in: `CPU` alone is fit."""

    machine: str
    """The processor's architecture as Python names it, such as `x86_64`."""

    @property
    def profile(self) -> str:
        """The name of the pinned profile for this machine."""
        return find_profile(self.machine)

    @property
    def numeric_features(self) -> tuple[str, ...]:
        """The features that decide about bits: what a fingerprint names."""
        return tuple(name for name in self.features if name not in HARMLESS)


def find_profile(machine: str) -> str:
    """Return the name of an architecture's pinned profile, such as `x86-64-v3` or `aarch64`."""
    aliases = {"x86_64": "x86-64-v3", "amd64": "x86-64-v3", "arm64": "aarch64"}
    return aliases.get(machine.lower(), machine.lower())


def build_engine_name(version: str, commit: str) -> str:
    """Return an engine's name as fingerprints have it, with the commit of llama.cpp.

    Input:
        version: of llama-cpp-python.
        commit: what `ggml_commit()` says: short, `-dirty` behind it as a rule, or `unknown`.

    Raises:
        ConfigError: the build is of another commit than its version says, or nothing says of which.
    """
    own = commit.removesuffix("-dirty")
    known = LLAMA_CPP_COMMITS.get(version)
    if own in {"", "unknown"}:
        own = ""
    if known is None and not own:
        raise ConfigError(
            f"Nothing says which llama.cpp is in llama-cpp-python {version}: its build names no "
            f"commit, and only {', '.join(LLAMA_CPP_COMMITS)} is known here; install that version, "
            "or compile this one where git is installed"
        )
    if known is not None and not (known.startswith(own) or own.startswith(known)):
        raise ConfigError(
            f"llama-cpp-python {version} comes with llama.cpp {known}, but this build is of "
            f"llama.cpp {commit}: {HOW_TO_REBUILD}"
        )
    return f"llama-cpp-python {version} (llama.cpp {known or own})"


def parse_build(system_info: str, backends: tuple[str, ...], machine: str) -> EngineBuild:
    """Read `llama_print_system_info()`, such as `CPU : SSE3 = 1 | AVX2 = 1 | LLAMAFILE = 1 | `.

    A feature of another backend than the processor's counts as the backend's name.
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
    """Refuse an engine whose build is not the pinned profile.

    Raises:
        ConfigError: names each wrong flag, why it matters and how to rebuild.
    """
    required = INSTRUCTIONS.get(build.profile)
    if required is None:
        supported = ", ".join(INSTRUCTIONS)
        raise ConfigError(
            f"There is no pinned profile for the architecture {build.machine}; supported are "
            f"{supported}"
        )
    wrong = [f"{name} is missing" for name in required if name not in build.features]
    wrong += [
        f"{name} is missing: with it {purpose}"
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
            f"llama-cpp-python is not built as the profile {build.profile} asks: "
            f"{'; '.join(wrong)}. "
            f"Blocks computed with it would not be valid elsewhere: {HOW_TO_REBUILD}"
        )


def check_processor(cpuinfo: Path = CPUINFO) -> None:
    """Refuse a processor that would stop at the engine's first instruction (Linux on x86-64 only).

    Raises:
        ConfigError: names the missing instructions.
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
            f"This processor lacks {', '.join(missing)}, which the pinned profile x86-64-v3 needs "
            "(Intel since 2013, AMD since "
            "2015; some virtual machines hide them): use another machine, or a ScriptedModel in "
            "place of a LlamaModel"
        )

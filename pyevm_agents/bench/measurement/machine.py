"""Facts of the machine and the model that decide speed, without any that identify the owner.

Reports contain no path, host name, user name or environment variable.
"""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.results import Machine, MeasuredModel
from pyevm_agents.models.gguf.header import read_header

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel

PACKAGES = (
    "pyevm-agents",
    "py-evm",
    "llama-cpp-python",
    "llguidance",
    "numpy",
    "py-ecc",
    "py-arkworks-bls12381",
    "zksnake",
    "coincurve",
    "ckzg",
    "blake2b-py",
    "eth-hash",
    "pycryptodome",
    "safe-pysha3",
)
"""Packages that decide speed: the EVM, its precompiles and hashes, the model and its grammar."""

PROCESSOR_FILE = Path("/proc/cpuinfo")
PROCESSOR_FIELDS = ("model name", "Model", "cpu model", "Processor", "uarch")
"""Names of the processor's field on Linux: x86, Raspberry Pi, MIPS, older ARM, RISC-V."""

SYSCTL = "/usr/sbin/sysctl"
SYSCTL_SECONDS = 5


def describe_machine() -> Machine:
    """Return the facts of this machine and the software."""
    return Machine(
        processor=_read_processor(),
        cores=_count_cores(),
        memory_bytes=_get_memory_bytes(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions=tuple(_list_versions()),
    )


def describe_model(model: LlamaModel) -> MeasuredModel:
    """Return the facts of a model; an adapter's file and parameters are included."""
    facts = model.profile_facts
    files = [path for path in (model.path, model.adapter) if path is not None]
    return MeasuredModel(
        name=facts.name,
        digest=facts.digest.hex(),
        parameters=sum(map(count_file_parameters, files)),
        file_bytes=sum(path.stat().st_size for path in files),
        context_tokens=facts.context_tokens,
        fingerprint=facts.fingerprint,
    )


def count_file_parameters(path: Path) -> int:
    """Return the number of parameters in the tensors of a GGUF file.

    Raises: ValueError, OSError: as `read_header`.
    """
    return sum(math.prod(tensor.shape) for tensor in read_header(path).tensors)


def parse_processor(text: str) -> str:
    """Return the processor's name from the text of /proc/cpuinfo, or an empty text."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and value.strip():
            fields.setdefault(name.strip(), value.strip())
    return next((fields[name] for name in PROCESSOR_FIELDS if name in fields), "")


def _read_processor() -> str:
    named = ""
    if PROCESSOR_FILE.is_file():
        named = parse_processor(PROCESSOR_FILE.read_text(encoding="utf-8", errors="replace"))
    elif sys.platform == "darwin":
        named = _read_sysctl("machdep.cpu.brand_string")
    return named or platform.processor() or platform.machine()


def _read_sysctl(name: str) -> str:
    """Return a sysctl value on macOS, or an empty text."""
    try:
        process = subprocess.run(
            [SYSCTL, "-n", name],
            capture_output=True,
            text=True,
            timeout=SYSCTL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.strip() if process.returncode == 0 else ""


def _count_cores() -> int:
    """Return the number of cores available to this process."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _get_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _list_versions() -> list[tuple[str, str]]:
    versions = []
    for package in PACKAGES:
        try:
            versions.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:  # Some are for some systems alone.
            continue
    return versions

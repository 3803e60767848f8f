"""Optional packages of the benchmark, which the extra `bench` declares."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from pyevm_agents.errors import ConfigError

DISTRIBUTION = "pyevm-agents"


def require_package(name: str, *, use: str, alternative: str = "") -> None:
    """Check that an optional package is installed.

    Input: the purpose, as the subject of "need"; an alternative.

    Raises: ConfigError: not installed; names the command that installs it.
    """
    if find_spec(name) is not None:
        return
    hint = f", or {alternative}" if alternative else ""
    raise ConfigError(
        f"{name} is not installed; {use} need it: pip install '{find_requirement(name)}'{hint}"
    )


def find_requirement(name: str) -> str:
    """Return the requirement that pyevm-agents declares for a package: "gguf<1,>=0.17".

    pip finds the requirement without help, with or without a checkout.
    """
    try:
        declared = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return name
    found = (line.partition(";")[0].strip() for line in declared)
    return next((line for line in found if re.match(rf"{name}\b(?!-)", line)), name)

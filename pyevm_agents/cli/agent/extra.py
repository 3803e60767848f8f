"""The extra `agents`: packages that manifests and the control plane need."""

from __future__ import annotations

from importlib.util import find_spec

from pyevm_agents.errors import ConfigError

PACKAGES = ("fastapi", "jsonschema", "mcp", "uvicorn")
"""Packages of the extra `agents` in pyproject.toml."""


def require_agents_extra() -> None:
    """Check that the packages of the extra `agents` are installed.

    Raises: ConfigError: one is missing; names the command that installs it.
    """
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise ConfigError(
            f"{', '.join(missing)} {are} not installed; `pyevm-agents agent` and `pyevm-agents "
            "run` need the extra `agents`: pip install 'pyevm-agents[agents]'"
        )

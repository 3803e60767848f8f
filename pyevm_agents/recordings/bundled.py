"""The fixtures bundled with this package: `chain_fixtures/` in the checkout or in the wheel."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.recordings.codec import read_fixture

if TYPE_CHECKING:
    from pyevm_agents.recordings.fixture import Fixture

FIXTURE_ALIASES = {"wallet_agent": "wallet"}
"""Alternative names of fixtures."""


def list_bundled_fixtures() -> tuple[str, ...]:
    """Return the names of the bundled fixtures, sorted."""
    names = {file.stem.replace("-", "_") for file in _find_folder().glob("*.json")}
    return tuple(
        sorted(names | {other for other, name in FIXTURE_ALIASES.items() if name in names})
    )


def normalize_fixture_name(name: str) -> str:
    """Return the name of a fixture's scenario and file: aliases resolved, with hyphens."""
    return FIXTURE_ALIASES.get(name.replace("-", "_"), name).replace("_", "-")


def load_bundled_fixture(name: str) -> Fixture:
    """Read a fixture by name, or from a file.

    Raises: ConfigError: the name is unknown; the message lists the known names.
            FixtureError: the file was altered.
    """
    shipped = _find_folder() / f"{normalize_fixture_name(name)}.json"
    if Path(name).name == name and shipped.is_file():
        return read_fixture(shipped)
    if Path(name).is_file():
        return read_fixture(Path(name))
    raise ConfigError(
        f"unknown fixture {name!r}: must be one of {', '.join(list_bundled_fixtures())}, or a "
        "file written by `pyevm-agents record`"
    )


def _find_folder() -> Path:
    """Return the folder of fixtures, in an installed wheel or in the checkout."""
    packaged = Path(str(resources.files("pyevm_agents"))) / "chain_fixtures"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "chain_fixtures"

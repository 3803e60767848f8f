"""The chains that come with this package: `chain_fixtures/` of a checkout, or of a wheel."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.recordings.codec import read_fixture

if TYPE_CHECKING:
    from pyevm_agents.recordings.fixture import Fixture

FIXTURE_ALIASES = {"wallet_agent": "wallet"}
"""Names by what a chain is for, to the names of files."""


def list_bundled_fixtures() -> tuple[str, ...]:
    """Return the names of the chains that there are, in order."""
    names = {file.stem.replace("-", "_") for file in _find_folder().glob("*.json")}
    return tuple(
        sorted(names | {other for other, name in FIXTURE_ALIASES.items() if name in names})
    )


def load_bundled_fixture(name: str) -> Fixture:
    """Return the chain of a name, or of a file.

    Raises: ConfigError: there is none of that name; the message lists those there are.
            FixtureError: the file was altered.
    """
    wanted = FIXTURE_ALIASES.get(name, name).replace("_", "-")
    shipped = _find_folder() / f"{wanted}.json"
    if Path(name).name == name and shipped.is_file():
        return read_fixture(shipped)
    if Path(name).is_file():
        return read_fixture(Path(name))
    raise ConfigError(
        f"no chain {name!r}: name one of {', '.join(list_bundled_fixtures())}, or a file that "
        "`pyevm-agents record` wrote"
    )


def _find_folder() -> Path:
    """Return the folder of fixtures: inside an installed wheel, or in the checkout."""
    packaged = Path(str(resources.files("pyevm_agents"))) / "chain_fixtures"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "chain_fixtures"

"""`make golden`: write all golden files anew, for a change that is meant."""

from __future__ import annotations

from pyevm_agents.models import Vocabulary
from tests.golden.golden_files import COLLECTORS, path_of, write


def main() -> None:
    """Collect and write each file."""
    with Vocabulary() as vocabulary:
        for name, collect in COLLECTORS.items():
            write(name, collect(vocabulary))
            print(path_of(name))  # noqa: T201 - a command's output


if __name__ == "__main__":
    main()

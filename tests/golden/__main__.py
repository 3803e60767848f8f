"""`make golden`: write all golden files anew, for a change that is meant.

python -m tests.golden                        the files that test_golden.py compares
python -m tests.golden --requests [WORLD ...] those that test_requests.py compares
"""

from __future__ import annotations

import argparse

from pyevm_agents.models import Vocabulary
from tests.golden.golden_files import COLLECTORS, path_of, write
from tests.golden.requests import list_worlds, record_world, write_world


def main() -> None:
    """Collect and write each file."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--requests", nargs="*", metavar="WORLD", help="all by default")
    worlds = parser.parse_args().requests
    with Vocabulary() as vocabulary:
        if worlds is None:
            for name, collect in COLLECTORS.items():
                write(name, collect(vocabulary))
                print(path_of(name))  # noqa: T201 - a command's output
            return
        for name in worlds or list_worlds():
            print(write_world(name, record_world(name, vocabulary)))  # noqa: T201 - likewise


if __name__ == "__main__":
    main()

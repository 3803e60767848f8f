"""Pause a training run, and let it go on.

    python -m training.pause FOLDER          # returns at once; the run saves and waits
    python -m training.pause FOLDER --end

FOLDER is the run's `--out`. The run looks between two steps. It can be stopped while it is paused.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PAUSE = "pause"


def is_paused(folder: Path) -> bool:
    """Tell whether the run of a folder is to wait."""
    return (folder / PAUSE).exists()


def main(arguments: list[str] | None = None) -> int:
    """Pause a run or end its pause; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m training.pause", description="Pause a training run."
    )
    parser.add_argument("folder", type=Path, help="the run's --out")
    parser.add_argument("--end", action="store_true", help="let the run go on")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        sys.stderr.write(f"no folder {options.folder}; pass the --out of a training run\n")
        return 1
    if options.end:
        (options.folder / PAUSE).unlink(missing_ok=True)
    else:
        (options.folder / PAUSE).touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())

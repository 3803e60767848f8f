"""What does inference cost in gas? `pyevm-agents bench`, from a checkout.

    python -m benchmarks.gas_vs_inference [--quick] [--json FILE] [--html FILE] …

An installed wheel has the same as a command; `pyevm_agents/bench/` measures.
"""

from __future__ import annotations

import sys

from pyevm_agents.cli.app import main as command_line


def main() -> None:
    """Run `pyevm-agents bench`."""
    command_line(["bench", *sys.argv[1:]], prog_name="pyevm-agents")


if __name__ == "__main__":
    main()

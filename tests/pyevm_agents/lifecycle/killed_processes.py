"""Runs in processes that kill themselves at given moments, on a chain and a store on disk.

    python -m tests.pyevm_agents.lifecycle.killed_processes FOLDER SCENARIO < kills

Each line of the input is a list of moments, as JSON: the run is killed at the first one, continued
in another process and killed at the second one there, and so on; the last process ends the run. For
each line, a line of the output is what the run left. Moments are counted from the process' own
beginning. A process of its own is a fork of this one, which has loaded everything and opened
nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.pyevm_agents.lifecycle import killed_run, killed_treasury_run

NEVER = killed_run.NEVER
SCENARIOS: dict[str, Any] = {"plain": killed_run, "treasury": killed_treasury_run}
"""Modules with `prepare(folder)` and `continue_run(folder, prepared, at)`."""


def run_killed(
    scenario: str, folder: Path, prepared: dict[str, str], kills: list[int]
) -> dict[str, object]:
    """Run with kills at these moments; return what is left, or how it went wrong."""
    for number, at in enumerate([*kills, NEVER]):
        output = folder / f"result-{number}"
        process = os.fork()
        if process == 0:
            try:
                result = SCENARIOS[scenario].continue_run(folder, prepared, at)
                output.write_text(json.dumps(result))
            except BaseException as error:  # noqa: BLE001 - written for the test
                output.write_text(json.dumps({"left": f"{type(error).__name__}: {error}"}))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if os.WIFEXITED(status):  # It ended before the moment of its kill, or is the last one.
            return {**json.loads(output.read_text()), "kills": number}
    return {"left": "the last process was killed"}


def main() -> None:
    """Run each line of the input."""
    folder, scenario = Path(sys.argv[1]), sys.argv[2]
    template = folder / "template"
    process = os.fork()  # LMDB must not be open in a process that forks.
    if process == 0:
        prepared = SCENARIOS[scenario].prepare(template)
        (folder / "prepared").write_text(json.dumps(prepared))
        os._exit(0)
    os.waitpid(process, 0)
    prepared = json.loads((folder / "prepared").read_text())
    for number, line in enumerate(sys.stdin):
        case = folder / f"case-{number}"
        shutil.copytree(template, case)
        result = run_killed(scenario, case, prepared, json.loads(line))
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()
        shutil.rmtree(case)


if __name__ == "__main__":
    main()

"""The golden files: content, comparison and writing."""

from __future__ import annotations

import json
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tests.golden.chains import collect_chains
from tests.golden.command_line import collect_command_line
from tests.golden.consensus import collect_consensus
from tests.golden.contracts import collect_contracts
from tests.golden.control_plane import collect_control_plane
from tests.golden.databases import collect_databases
from tests.golden.formats import collect_formats
from tests.golden.json_values import to_text
from tests.golden.numeric import collect_numeric
from tests.golden.openapi import collect_openapi
from tests.golden.plugin import collect_plugin
from tests.golden.prompts import collect_prompts
from tests.golden.rpc import collect_rpc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.golden.json_values import Collect, Json

FOLDER = Path(__file__).parent

COLLECTORS: Mapping[str, Collect] = {
    "chains": collect_chains,
    "command_line": collect_command_line,
    "consensus": collect_consensus,
    "contracts": collect_contracts,
    "control_plane": collect_control_plane,
    "databases": collect_databases,
    "formats": collect_formats,
    "numeric": collect_numeric,
    "openapi": collect_openapi,
    "plugin": collect_plugin,
    "prompts": collect_prompts,
    "rpc": collect_rpc,
}
"""What is collected for each file, by the file's name."""

MAX_DIFF_LINES = 200


def path_of(name: str) -> Path:
    """Return the path of a golden file."""
    return FOLDER / f"{name}.json"


def difference(name: str, collected: Mapping[str, object]) -> str:
    """Return a unified diff from the committed file to the collected values; empty where equal."""
    path = path_of(name)
    committed = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = unified_diff(
        committed.splitlines(),
        to_text(collected).splitlines(),
        f"{path.name} (committed)",
        f"{path.name} (now)",
        lineterm="",
    )
    shown = list(islice(lines, MAX_DIFF_LINES + 1))
    more = ["… and more"] if len(shown) > MAX_DIFF_LINES else []
    return "\n".join([*shown[:MAX_DIFF_LINES], *more])


def write(name: str, collected: Mapping[str, object]) -> None:
    """Write a golden file."""
    path_of(name).write_text(to_text(collected), encoding="utf-8")


def read(name: str) -> Json:
    """Return the content of a committed file."""
    return json.loads(path_of(name).read_text(encoding="utf-8"))

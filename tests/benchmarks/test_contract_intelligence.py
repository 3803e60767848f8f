"""Reports of the benchmark of contract intelligence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.contract_intelligence import format_command, read_options, write_report

if TYPE_CHECKING:
    from pathlib import Path


def test_a_report_keeps_the_parts_that_were_not_measured(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text('{"access": {"old": 1}, "scenarios": {"right": []}}')
    words = ["--only", "access", "--whatsabi", "/x/node_modules", "--json", str(file)]
    command = format_command(read_options(words), words)
    assert command == "--only access --whatsabi NODE_MODULES --json FILE"
    write_report(file, {"access": {"new": 1}}, {"command": command, "commit": "1234"})
    assert json.loads(file.read_text()) == {
        "runs": {"access": {"command": command, "commit": "1234"}},
        "access": {"new": 1},
        "scenarios": {"right": []},
    }

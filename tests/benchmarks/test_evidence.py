"""Reports of evidence: an entry passes if its test passed and counted something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.evidence import Entry, run_entry

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

COUNTS = """
import json, os
def test_entry():
    asked = json.loads(os.environ["PYEVM_AGENTS_EVIDENCE"])
    open(asked["result"], "w").write(json.dumps({"tries": asked["count"]}))
"""
SKIPS = """
import pytest
def test_entry():
    pytest.skip("no program")
"""
FAILS = f"{COUNTS}    raise ValueError"


@pytest.mark.parametrize(
    ("source", "result", "figures"),
    [(COUNTS, "passed", {"tries": 3}), (SKIPS, "failed", {}), (FAILS, "failed", {"tries": 3})],
)
def test_an_entry_that_counts_nothing_has_failed(
    tmp_path: Path, source: str, result: str, figures: dict[str, int]
) -> None:
    file = tmp_path / "test_entry.py"
    file.write_text(source)
    report = run_entry("entry", Entry(shows="", count=3, seed=1, test=str(file)), 3, 1)
    assert (report["result"], report["figures"]) == (result, figures)

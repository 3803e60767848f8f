"""The page's build: committed, small, and what its sources give."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.checkout import ROOT
from tests.clients.packages import installed
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

BUILT = ROOT / "pyevm_agents" / "server" / "page"
SOURCES = ROOT / "page"
FILES = ("app.css", "app.js", "index.html")
MAX_COMPRESSED_BYTES = 300_000


def test_the_compressed_page_is_small() -> None:
    assert {file.name for file in BUILT.iterdir()} == {*FILES}
    sizes = {name: len(gzip.compress((BUILT / name).read_bytes())) for name in FILES}
    assert sum(sizes.values()) < MAX_COMPRESSED_BYTES, sizes


def test_the_page_is_written_without_html_from_texts() -> None:
    sources = {file: file.read_text() for file in (SOURCES / "src").rglob("*.ts*")}
    assert len(sources) > len(FILES)
    for name in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
    ):
        assert [file for file, text in sources.items() if name in text] == []


@pytest.mark.slow
def test_the_committed_build_is_that_of_the_sources(tmp_path: Path) -> None:
    project = tmp_path / "page"
    shutil.copytree(SOURCES, project, ignore=shutil.ignore_patterns("node_modules"))
    (project / "node_modules").symlink_to(installed("page-sources", SOURCES))
    built = tmp_path / "built"
    ended = subprocess.run(
        ["npm", "run", "build", "--silent", "--", "--outDir", str(built), "--logLevel", "error"],
        cwd=project,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    differing = [
        name for name in FILES if (built / name).read_bytes() != (BUILT / name).read_bytes()
    ]
    assert differing == [], "run `make page` and commit what it writes"

"""The properties that the default suite samples, with more examples."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.checkout import ROOT


@pytest.mark.slow
def test_properties_hold_for_more_examples() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "hypothesis and not slow", "--hypothesis-profile", "thorough"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5_000:]

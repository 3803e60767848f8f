"""The deadline of every wait in the tests."""

from __future__ import annotations

HANG_SECONDS = 240
"""Only a hang takes this long; pytest ends a test after 300 seconds."""

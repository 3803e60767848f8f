"""Waits in the tests end at an event: only a hang reaches their deadline."""

from __future__ import annotations

import ast

import pytest

from tests.checkout import ROOT
from tests.deadlines import HANG_SECONDS

WAITS = {"acquire", "alarm", "join", "receive", "result", "timeout", "wait", "wait_for"}
MAY_EXPIRE_SECONDS = 1
"""A deadline that a test expects to expire is at most this."""


def find_short_deadlines(text: str) -> list[str]:
    """Return the calls that would fail on a slow machine."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [ast.unparse(call) for call in calls if any(map(is_short, list_deadlines(call)))]


def list_deadlines(call: ast.Call) -> list[ast.expr]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return [
        *(keyword.value for keyword in call.keywords if keyword.arg == "timeout"),
        *(call.args if name in WAITS else ()),
    ]


def is_short(value: ast.expr) -> bool:
    if not isinstance(value, ast.Constant) or not isinstance(value.value, int | float):
        return False
    return MAY_EXPIRE_SECONDS < value.value < HANG_SECONDS


def test_no_wait_ends_before_a_hang_is_certain() -> None:
    files = [*(ROOT / "tests").rglob("*.py")]
    short = {
        str(file.relative_to(ROOT)): found
        for file in files
        if "node_modules" not in file.parts and (found := find_short_deadlines(file.read_text()))
    }
    assert short == {}


@pytest.mark.parametrize(
    "planted",
    ["run(command, timeout=60)", "begun.wait(10)", "thread.join(2.5)", "asyncio.wait_for(it, 30)"],
)
def test_a_short_deadline_is_found(planted: str) -> None:
    assert find_short_deadlines(planted) == [planted]
    longer = (
        planted.replace("60", "240").replace("10", "240").replace("2.5", "1").replace("30", "H")
    )
    assert find_short_deadlines(longer) == []

"""A tool that reads one entry of a knowledge base."""

from __future__ import annotations

import pytest

from tests.contracts.plain_evm import OWNER, ZERO, plain_evm, reverts, text_input


@pytest.mark.parametrize(
    ("passage", "entry"),
    [
        ("Log of the bridge: open", "open"),
        ("Log of the bridge: at 10:30: open", "at 10:30: open"),
        ("Bridge at 10:30 open", "Bridge at 10:30 open"),
        ("Bridge: ", ""),
        ("Bridge:", "Bridge:"),
    ],
)
def test_the_entry_is_what_follows_the_first_colon(passage: str, entry: str) -> None:
    evm = plain_evm()
    base = evm.deploy("KnowledgeBase", OWNER.address, "a of the", 1_200, 750)
    base("add", ["Log of the harbour: shut", passage], True)  # noqa: FBT003
    tool = evm.deploy("RecordTool", base.address, "check", "Checks", "bridge")
    assert tool("run", text_input(""), ZERO) == (-1, entry)
    assert tool("inputDescription") == ((),)


def test_what_is_not_recorded_is_an_error() -> None:
    evm = plain_evm()
    base = evm.deploy("KnowledgeBase", OWNER.address, "a of the", 1_200, 750)
    base("add", ["Log of the harbour: shut"], True)  # noqa: FBT003
    tool = evm.deploy("RecordTool", base.address, "check", "Checks", "bridge")
    with reverts("NotRecorded", "bridge"):
        tool("run", text_input(""), ZERO)
    base("add", ["Log of the bridge: open"], False)  # noqa: FBT003
    with reverts("TextMissing", 2):
        tool("run", text_input(""), ZERO)

"""Each option of anvil is one of the node's, is accepted without an effect, or is refused."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import click
import pytest

from pyevm_agents.cli.node.anvil_options import REFUSALS
from pyevm_agents.cli.node.command import node
from tests.clients.packages import foundry_program, without_colours

if TYPE_CHECKING:
    from collections.abc import Mapping

OPTION = re.compile(r"^ {2,6}(?:(-\w), )?(--[a-z0-9-]+)(.*)$", re.MULTILINE)
ALIASES = re.compile(r"\[aliases: ([^\]]+)\]")


@pytest.fixture(scope="module")
def anvils() -> Mapping[str, bool]:
    """Whether an option of `anvil --help` may have a value, by name; aliases have names too."""
    shown = subprocess.run(
        [str(foundry_program("anvil", "anvil")), "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=without_colours(),
    ).stdout
    found: dict[str, bool] = {}
    starts = [*OPTION.finditer(shown)]
    for match, following in zip(starts, [*starts[1:], None], strict=True):
        short, name, rest = match.groups()
        text = shown[match.end() : None if following is None else following.start()]
        aliases = [one.strip() for group in ALIASES.findall(text) for one in group.split(",")]
        for each in filter(None, (short, name, *aliases)):
            found[each] = "<" in rest
    return found


def test_each_option_is_known_and_takes_a_value_where_anvils_does(
    anvils: Mapping[str, bool],
) -> None:
    assert len(anvils) > 80
    context = click.Context(node)
    ours = {
        name: not option.is_flag and not option.count
        for option in node.get_params(context)
        if isinstance(option, click.Option)
        for name in option.opts
    }
    assert anvils.keys() - ours.keys() - REFUSALS.keys() - {"-h"} == set()  # The group has -h.
    assert {name for name in anvils.keys() & ours.keys() if anvils[name] != ours[name]} == set()
    assert not ours.keys() & REFUSALS.keys()

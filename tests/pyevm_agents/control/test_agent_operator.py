"""A registration names the operator of the control plane, and leaves nothing if it fails."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.control.agent_operator import find_operator, name_operator
from pyevm_agents.errors import AgentsError
from tests.pyevm_agents.control.agents_of_tests import make_agent

if TYPE_CHECKING:
    from pathlib import Path

OPERATOR, OTHER = b"\x11" * 20, "0x" + "22" * 20


def test_an_operator_is_named_where_none_was(tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    assert find_operator(folder) is None
    with name_operator(folder, OPERATOR):
        pass
    assert find_operator(folder) == OPERATOR


def test_an_operator_that_is_named_stays(tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    folder.write_manifest(replace(folder.read_manifest(), operator_wallet=OTHER))
    with name_operator(folder, OPERATOR):
        pass
    assert folder.read_manifest().operator_wallet == OTHER


def test_a_registration_that_fails_leaves_the_manifest_as_it_was(tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    before = folder.read_manifest()
    with pytest.raises(AgentsError, match="refused"), name_operator(folder, OPERATOR):
        raise AgentsError("refused")
    assert folder.read_manifest() == before

"""Hardhat 3, with the node as an external network: hardhat-ethers and the network helpers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.clients.hardhat_project import Project
from tests.clients.packages import installed
from tests.clients.stories import require_agent_run, require_local_chain, require_reverts

if TYPE_CHECKING:
    from tests.clients.running_node import RunningNode


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("hardhat"), installed("hardhat"))
    assert "Compiled" in made.hardhat("build")
    return made


@pytest.mark.slow
def test_an_agent_is_deployed_run_and_traced(node: RunningNode, project: Project) -> None:
    require_agent_run(project.run(node, "agent.mjs"), "scripted")


@pytest.mark.slow
def test_every_kind_of_revert_has_its_reason(node: RunningNode, project: Project) -> None:
    require_reverts(project.run(node, "reverts.mjs"))


@pytest.mark.slow
def test_a_test_can_do_with_the_chain_what_it_likes(node: RunningNode, project: Project) -> None:
    told = project.run(node, "local_chain.mjs")
    require_local_chain(told)
    assert told["loaded"] == "3"
    assert told["set"] == ["0x6001", 9, 42]

"""Deployed agents of a control plane: their manifests, and their folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from eth_utils import to_checksum_address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.control.deployed_agents import (
    build_loader,
    open_deployed_folder,
    read_deployed_manifest,
)
from pyevm_agents.control.plane_config import DeployedAgent
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.onchain_agent import OnchainAgent
from pyevm_agents.manifests.agent_folder import AgentFolder, validate_folder
from pyevm_agents.manifests.documents import DocumentKind, read_document
from pyevm_agents.manifests.validation import validate_document
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.lifecycle.run_bench import RUNNER_KEY, create_chain, deploy

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def port() -> LocalChainPort:
    return LocalChainPort(create_chain(), RUNNER_KEY)


def deploy_agent(
    port: LocalChainPort,
    *tools: Address,
    name: str = "Counting Agent",
    description: str = "Counts",
) -> DeployedAgent:
    texts = (name, description, "what to count", "You count.")
    address = deploy(
        port.chain, "SimpleAgent", EXECUTOR_ADDRESS, "llama_model_3", *texts, [*tools], 4
    )
    return DeployedAgent(slug="counter", address=address)


def test_a_manifest_has_what_the_contract_says(port: LocalChainPort) -> None:
    agent = deploy_agent(port, deploy(port.chain, "CounterTool"))
    manifest = read_deployed_manifest(agent, port)
    assert (manifest.name, manifest.slug, manifest.version) == (
        "Counting Agent", "counter", "1.0.0",
    )  # fmt: skip
    assert manifest.description == "Counts"
    assert [(each.name, each.description) for each in manifest.tools] == [
        ("CounterTool", "Adds to the counter")
    ]


def test_any_texts_of_a_contract_make_valid_documents(port: LocalChainPort, tmp_path: Path) -> None:
    unnamed = Address(deploy_agent(port, name="", description="").address)
    twice = deploy(port.chain, "CounterTool")
    agent = deploy_agent(port, unnamed, twice, twice, name="A\x1b[2J\n\u202e" * 500, description="")
    folder = open_deployed_folder(agent, port, tmp_path)
    for kind in DocumentKind:
        assert validate_document(read_document(folder.locate(kind)), kind) == ()
    manifest = folder.read_manifest()
    assert manifest.name.isprintable()
    assert len(manifest.name) < 2_000
    assert manifest.description == "counter"
    names = [
        to_checksum_address(unnamed),
        "CounterTool",
        f"CounterTool {to_checksum_address(twice)}",
    ]
    assert [each.name for each in manifest.tools] == names


def test_a_folder_is_loaded_as_the_agent_of_its_address(
    port: LocalChainPort, tmp_path: Path
) -> None:
    agent, other = deploy_agent(port), make_agent(tmp_path)
    folder = open_deployed_folder(agent, port, tmp_path)
    load = build_loader({folder: agent.address}, runner=None)
    module = load(folder)
    assert isinstance(module, OnchainAgent)
    assert (module.slug, module.address) == ("counter", agent.address)
    assert not isinstance(load(other), OnchainAgent)


def test_a_killed_start_leaves_nothing_in_the_way(port: LocalChainPort, tmp_path: Path) -> None:
    partial = tmp_path / "agents" / ".counter.partial"
    partial.mkdir(parents=True)
    (partial / "agent.json").write_text("{", "utf-8")
    folder = open_deployed_folder(deploy_agent(port), port, tmp_path)
    assert folder.read_manifest().slug == "counter"
    assert not partial.exists()


def test_a_folder_of_somebody_else_stays_as_it_is(port: LocalChainPort, tmp_path: Path) -> None:
    agent = deploy_agent(port)
    made = make_agent(tmp_path / "agents", "counter")
    before = made.read_manifest()
    with pytest.raises(ConfigError, match="must be the folder of agent counter or not be there"):
        open_deployed_folder(agent, port, tmp_path)
    assert AgentFolder(made.path).read_manifest() == before


def test_a_folder_without_a_module_is_valid(port: LocalChainPort, tmp_path: Path) -> None:
    agent = deploy_agent(port)
    folder = open_deployed_folder(agent, port, tmp_path)
    assert validate_folder(folder) == ()
    assert folder.read_address() == to_checksum_address(agent.address)
    folder.address_path.write_text(f"0x{agent.address.hex()[:-1]}", "utf-8")
    with pytest.raises(ConfigError, match=r"address: '0x.*': must be an address with its checksum"):
        validate_folder(folder)


def test_a_changed_slug_is_refused(port: LocalChainPort, tmp_path: Path) -> None:
    agent = deploy_agent(port)
    folder = open_deployed_folder(agent, port, tmp_path)
    path = folder.locate(DocumentKind.MANIFEST)
    path.write_text(path.read_text("utf-8").replace('"counter"', '"other"'), "utf-8")
    with pytest.raises(ConfigError, match=r"slug other in agent\.json: must be counter"):
        open_deployed_folder(agent, port, tmp_path)


def test_contracts_that_are_no_agents_of_this_version_are_refused(
    port: LocalChainPort, tmp_path: Path
) -> None:
    tool = deploy(port.chain, "CounterTool")
    texts = ("Counting Agent", "Counts", "what to count")
    version_1 = deploy(
        port.chain, "SimpleAgentV1", EXECUTOR_ADDRESS, "llama_model_3", *texts, [], 4
    )
    settings = (bytes(20), 1_000_000, 60, 600)
    callback = deploy(
        port.chain, "SimpleCallbackAgent", settings, "llama_model_3", *texts, "You count.", [], 4
    )
    for address, function in (
        (tool, "agentExecutorContract"),
        (callback, "agentExecutorContract"),
        (version_1, "basePrompt"),
    ):
        with pytest.raises(ConfigError, match=rf"no IERCAgent: {function}\(\) gives nothing"):
            open_deployed_folder(DeployedAgent(slug="x", address=address), port, tmp_path)
    broken = deploy_agent(port, deploy(port.chain, "Counter"))
    with pytest.raises(ConfigError, match=r"no tool: name\(\) gives nothing of its type"):
        open_deployed_folder(broken, port, tmp_path)
    assert not (tmp_path / "agents").exists()

"""Deployed agents in a control plane: a folder for each, from the contract's own description."""

from __future__ import annotations

import shutil
from itertools import islice
from typing import TYPE_CHECKING, Any

from eth_abi.exceptions import DecodingError
from eth_utils import to_checksum_address

from precompiles.spec import MAX_TOOLS
from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.control.agent_loader import build_module_manifest, load_agent
from pyevm_agents.control.agent_template import require_slug
from pyevm_agents.display import sanitize
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.onchain_agent import OnchainAgent
from pyevm_agents.lifecycle.registry_trust import read
from pyevm_agents.manifests.agent_folder import AgentFolder
from pyevm_agents.manifests.agent_manifest import PackageManifest, PackageTool
from pyevm_agents.private_files import make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyevm_agents.control.plane_config import DeployedAgent
    from pyevm_agents.lifecycle.local_chain import LocalChainPort
    from pyevm_agents.lifecycle.module import AgentModule

CONTRACT = "SimpleAgent"
"""A bundled contract with the functions of every `IERCAgent`."""

AGENT_FUNCTIONS = ("agentExecutorContract", "modelId", "basePrompt", "agentMaxIterations")
"""View functions that an `IERCAgent` has beside its name, its description and its tools.

The ERC gives agents no ERC-165 identifier. An agent of version 1 lacks `basePrompt`, and one whose
model runs by callback `agentExecutorContract`.
"""

FOLDERS = "agents"
"""The folder of the agents' folders, in that of the runs."""

VERSION = "1.0.0"
"""Of every deployed agent: its code does not change."""


def open_deployed_folder(agent: DeployedAgent, port: LocalChainPort, parent: Path) -> AgentFolder:
    """Return the folder of a deployed agent; write a missing one.

    A folder of an earlier start stays unchanged: the manifest may have been registered or changed.

    Input:
        agent: slug and address, which has code.
        port: the chain.
        parent: the folder of the runs.

    Raises: ConfigError: no `IERCAgent` is at the address, the slug is none, or the folder is that
            of another agent or can't be read or written.
    """
    require_slug(agent.slug)
    folder = AgentFolder(parent / FOLDERS / agent.slug)
    manifest, address = read_deployed_manifest(agent, port), to_checksum_address(agent.address)
    try:
        if not folder.path.exists():
            _write_folder(folder, manifest, address)
            return folder
        kept = folder.address_path.read_bytes().decode("utf-8", "replace").strip()
    except OSError as error:
        raise ConfigError(
            f"{error.filename}: {error.strerror}; must be the folder of agent {agent.slug} or not "
            "be there: move it, or choose another name or --data"
        ) from error
    if kept != address:
        raise ConfigError(
            f"agent {agent.slug}: {folder.path} is that of {kept:.80}, not of {address}; give the "
            f"new one another name: NAME={address}"
        )
    slug = folder.read_manifest().slug
    if slug != agent.slug:
        raise ConfigError(
            f"{folder.path}: slug {slug} in agent.json: must be {agent.slug}; change it back"
        )
    return folder


def _write_folder(folder: AgentFolder, manifest: PackageManifest, address: str) -> None:
    """Write a folder that is complete as soon as present."""
    partial = AgentFolder(folder.path.with_name(f".{folder.path.name}.partial"))
    if partial.path.exists():  # Of a start that was killed.
        shutil.rmtree(partial.path)
    partial.path.mkdir(parents=True)
    partial.write_manifest(manifest)
    partial.write_empty_log(manifest)
    write_atomically(partial.address_path, f"{address}\n".encode())
    for file in partial.path.iterdir():
        make_private(file)
    partial.path.rename(folder.path)


def read_deployed_manifest(agent: DeployedAgent, port: LocalChainPort) -> PackageManifest:
    """Return the manifest of a deployed agent, from the contract's own description.

    Raises: ConfigError: a function of an `IERCAgent` fails there, or a tool has no name.
    """
    place = to_checksum_address(agent.address)
    for function in AGENT_FUNCTIONS:
        _read(port, agent.address, function, f"{place}: no IERCAgent")
    name, description = (
        str(_read(port, agent.address, function, f"{place}: no IERCAgent"))
        for function in ("name", "description")
    )
    addresses = _read(port, agent.address, "getTools", f"{place}: no IERCAgent")
    return PackageManifest(
        name=sanitize(name) or agent.slug,
        slug=agent.slug,
        version=VERSION,
        description=sanitize(description) or agent.slug,
        tools=_read_tools(port, [str(each) for each in islice(addresses, MAX_TOOLS)], place),
        supported_trust=("reputation",),
    )


def _read_tools(port: LocalChainPort, addresses: list[str], agent: str) -> tuple[PackageTool, ...]:
    tools: dict[str, PackageTool] = {}
    for each in addresses:
        address = bytes.fromhex(each[2:])
        place = to_checksum_address(each)
        texts = [
            sanitize(str(_read(port, address, function, f"tool {place} of {agent}: no tool")))
            for function in ("name", "description")
        ]
        name = texts[0] or place
        if name in tools:  # A manifest has each name once.
            name = f"{name} {place}"
        tools[name] = PackageTool(name=name, description=texts[1] or name)
    return tuple(tools.values())


def _read(port: LocalChainPort, address: bytes, function: str, what: str) -> Any:  # noqa: ANN401 - what Solidity returns
    try:
        return read(port, CONTRACT, address, function)
    except (AgentsError, DecodingError, UnicodeDecodeError, OverflowError) as error:
        raise ConfigError(
            f"{what}: {function}() gives nothing of its type; pass the address of an agent of the "
            "ERC's version 2 whose model runs in the same transaction"
        ) from error


def build_loader(
    addresses: Mapping[AgentFolder, bytes], runner: bytes | None
) -> Callable[[AgentFolder], AgentModule]:
    """Return a function that loads the agent of a folder: a deployed one, or the Python module.

    Input:
        addresses: the contracts of deployed agents, by folder.
        runner: caller of a deployed agent, such as the treasury; None for the run's own account.
    """

    def load(folder: AgentFolder) -> AgentModule:
        address = addresses.get(folder)
        if address is None:
            return load_agent(folder)
        manifest = build_module_manifest(folder.read_manifest())
        return OnchainAgent(manifest, address, runner=runner)

    return load

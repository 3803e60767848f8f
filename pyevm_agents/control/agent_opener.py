"""The agents of a control plane: folders, and deployed agents of the opened chain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_checksum_address

from pyevm_agents.control.agent_template import require_slug
from pyevm_agents.control.deployed_agents import open_deployed_folder
from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.agent_folder import AgentFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.chain import Chain
    from pyevm_agents.control.plane_config import DeployedAgent
    from pyevm_agents.lifecycle.local_chain import LocalChainPort


def require_agents(chosen: Sequence[Path | DeployedAgent]) -> None:
    """Check agents without their chain.

    Raises: ConfigError: a folder has no valid manifest, a name is no slug, or a deployed agent has
            the name of another agent.
    """
    slugs: set[str] = set()
    # Folders first: their slugs are in their files, and a deployed agent takes any other name.
    for each in sorted(chosen, key=lambda one: not isinstance(one, Path)):
        if isinstance(each, Path):
            slugs.add(_read_slug(AgentFolder(each)))
            continue
        require_slug(each.slug)
        if each.slug in slugs:
            raise ConfigError(
                f"agent {each.slug}: is there twice; give {to_checksum_address(each.address)} "
                f"another name: NAME={to_checksum_address(each.address)}"
            )
        slugs.add(each.slug)


def _read_slug(folder: AgentFolder) -> str:
    slug, address = folder.read_manifest().slug, folder.read_address()
    if address is not None:
        raise ConfigError(
            f"{folder.path}: is the folder of a deployed agent; pass {slug}={address}, with the "
            "--data or --fixture of its chain"
        )
    return slug


def open_agents(
    chosen: Sequence[Path | DeployedAgent], chain: Chain, port: LocalChainPort, data: Path
) -> tuple[list[AgentFolder], dict[AgentFolder, bytes]]:
    """Return the folders of agents, and the contracts of the deployed ones.

    Input: the agents; the chain and its port; the folder of the runs.

    Raises: ConfigError: no `IERCAgent` is at an address of the chain, or the folder is that of
        another agent.
    """
    folders, addresses = [], {}
    for each in chosen:
        if isinstance(each, Path):
            folders.append(AgentFolder(each))
            continue
        _require_code(chain, each.address)
        folder = open_deployed_folder(each, port, data)
        folders.append(folder)
        addresses[folder] = each.address
    return folders, addresses


def _require_code(chain: Chain, address: bytes) -> None:
    if chain.code(Address(address)):
        return
    raise ConfigError(
        f"{to_checksum_address(address)}: no contract on this chain, whose last block is "
        f"{chain.head.block_number:,}; pass the chain that has it: a recording by --fixture, or "
        "--data FOLDER, whose chain is that of `pyevm-agents node --registries --state-dir "
        "FOLDER/chain`"
    )

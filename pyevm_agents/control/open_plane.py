"""A control plane in one call, with the node of a development chain."""

from __future__ import annotations

import logging
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.contract_intelligence.abi_files import read_abis
from pyevm_agents.control.agent_opener import open_agents, require_agents
from pyevm_agents.control.agent_operator import find_operator
from pyevm_agents.control.deployed_agents import build_loader
from pyevm_agents.control.host_tools import HOST_TOOLS
from pyevm_agents.control.owners_validator import OwnersValidator
from pyevm_agents.control.plane import ControlPlane, PlaneOptions
from pyevm_agents.control.treasury import describe_treasury
from pyevm_agents.control.treasury_approvals import warn_of_approvals
from pyevm_agents.control.treasury_opener import open_treasury
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.envelopes import PlainRunEnvelope
from pyevm_agents.lifecycle.host import ignore_event
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.registry_trust import RegistryTrust
from pyevm_agents.lifecycle.treasury_envelope import TreasuryEnvelope
from pyevm_agents.local_node import open_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.abi.registries import RegistryAddresses
    from pyevm_agents.control.plane_config import PlaneConfig
    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.local_node import OpenNode
    from pyevm_agents.manifests.agent_folder import AgentFolder
    from pyevm_agents.models import Progress
    from pyevm_agents.node import Node

log = logging.getLogger(__name__)

STORE_FILE = "runs.sqlite3"
CHAIN_FOLDER = "chain"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPlane:
    """A control plane with the node of the chain."""

    plane: ControlPlane
    node: Node
    notes: tuple[str, ...]
    signers: Mapping[bytes, PrivateKey]
    """Keys that can confirm, by address."""

    treasury: bytes | None
    """The treasury that runs write through; None without one."""

    @property
    def treasury_address(self) -> str | None:
        """The treasury's address as text."""
        return None if self.treasury is None else to_checksum_address(self.treasury)


@contextmanager
def open_plane(
    config: PlaneConfig,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    on_warning: Callable[[str], None] = log.warning,
    listener: Callable[[RunEvent], None] = ignore_event,
) -> Iterator[OpenedPlane]:
    """Open a development chain with the registries of ERC-8004, and run agents on it.

    Input:
        config: the agents, the chain and the terms of runs.
        on_progress: called while a model is loaded.
        on_warning: called with the generation store's first failure.
        listener: called at the phases of runs.

    Raises: ConfigError: an agent, a model, the folder or the config is invalid.
    """
    require_agents(config.agents)  # Before a model is loaded, which takes seconds.
    operator_key = config.operator_key or DEVELOPMENT_KEY
    with ExitStack() as stack:
        data = config.data_folder
        if data is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pyevm-agents-")))
        opened = stack.enter_context(_open_node(config, data, on_progress, on_warning))
        node, notes = opened.node, opened.notes
        named = [abi.description for file in config.abi_files for abi in read_abis(file)]
        node.chain.known_contracts.add(*named)
        port = LocalChainPort.from_node(node, DEVELOPMENT_KEY)
        agents, addresses = open_agents(config.agents, node.chain, port, data)
        registries = None if config.node.fixture is not None else REGISTRY_ADDRESSES[TESTNET]
        if registries is None and config.is_registration_needed:
            name = "--require-identity" if config.validator is None else "--validator"
            raise ConfigError(f"{name}: a fixture's chain has no registries; omit it")
        options = PlaneOptions(
            port=port,
            store_path=data / STORE_FILE,
            now=time.time,
            operator_wallet=operator_key.public_key.to_canonical_address(),
            threshold=config.threshold,
            sources=config.sources,
            tools=HOST_TOOLS,
            endpoints=config.endpoints,
            listener=listener,
        )
        if registries is not None:
            options = replace(
                options,
                trust=RegistryTrust(port, registries, config.sources),
                identity_account=LocalAccount(node.chain, DEVELOPMENT_KEY, mine=node.mine_signed),
                identity_registry=registries.identity,
            )
        signers = {bytes(each): node.keys.require_key(each) for each in node.keys.addresses}
        signers[options.operator_wallet] = operator_key
        if registries is not None and config.validator is not None:
            options = _add_validator(options, node, signers, config.validator, registries, agents)
        address = open_treasury(
            config.treasury,
            node,
            port,
            signers,
            [find_operator(each) or options.operator_wallet for each in agents],
            config.data_folder,
            options.trust.contracts,
        )
        options = replace(options, load=build_loader(addresses, runner=address))
        if address is not None:
            notes = (*notes, f"treasury {to_checksum_address(address)}")
            deployed = {each.read_manifest().slug: place for each, place in addresses.items()}
            notes += warn_of_approvals(node, port, address, deployed)
            options = _add_treasury(options, node, port, address, confirms=config.confirms)
        elif config.confirms:
            options = replace(
                options,
                open_envelope=lambda terms: PlainRunEnvelope(
                    terms, port.chain_id, requires_confirmation=True
                ),
            )
        plane = stack.enter_context(ControlPlane(agents, options, resumes=config.resumes))
        yield OpenedPlane(plane=plane, node=node, notes=notes, signers=signers, treasury=address)


def _add_validator(  # noqa: PLR0913, PLR0917 - what a validator needs, once
    options: PlaneOptions,
    node: Node,
    signers: Mapping[bytes, PrivateKey],
    address: bytes,
    registries: RegistryAddresses,
    agents: Sequence[AgentFolder],
) -> PlaneOptions:
    ports = {owner: LocalChainPort.from_node(node, key) for owner, key in signers.items()}
    if address not in ports:
        raise ConfigError(
            f"--validator {to_checksum_address(address)}: its key is not one of this chain's; "
            f"name one of its accounts, such as {to_checksum_address(node.keys.addresses[-1])}"
        )
    validator = OwnersValidator(ports, ports[address], registries)
    for each in agents:
        manifest = each.read_manifest()
        if manifest.owner_wallet is not None:  # Else the one who registers it is its owner.
            validator.require_owner(manifest.slug, to_canonical_address(manifest.owner_wallet))
    return replace(options, validator=validator, read_response=validator.read_response)


def _add_treasury(
    options: PlaneOptions, node: Node, port: LocalChainPort, address: bytes, *, confirms: bool
) -> PlaneOptions:
    return replace(
        options,
        open_envelope=lambda terms: TreasuryEnvelope(
            terms, port, address, always_confirms=confirms
        ),
        describe_treasury=lambda: describe_treasury(
            port, address, node.chain.balance(Address(address))
        ),
    )


def _open_node(
    config: PlaneConfig,
    data: Path,
    on_progress: Callable[[Progress], None] | None,
    on_warning: Callable[[str], None],
) -> AbstractContextManager[OpenNode]:
    """Return the context of the node, with ERC-8004's registries unless a fixture has others."""
    node = replace(
        config.node,
        state_dir=data / CHAIN_FOLDER,
        registries=None if config.node.fixture is not None else TESTNET,
        artifacts=(),
    )
    return open_node(node, serve=False, on_progress=on_progress, on_warning=on_warning)

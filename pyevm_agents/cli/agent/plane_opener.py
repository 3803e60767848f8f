"""The control plane of the commands that run agents: a development chain with its node."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.cli.agent.agent_opener import open_agents, require_agents
from pyevm_agents.cli.agent.treasury_opener import open_treasury
from pyevm_agents.cli.known_abis import add_known_abis
from pyevm_agents.cli.options.models import is_given
from pyevm_agents.cli.store import warn_run
from pyevm_agents.control.agent_operator import find_operator
from pyevm_agents.control.deployed_agents import build_loader
from pyevm_agents.control.host_tools import build_host_tools
from pyevm_agents.control.owners_validator import OwnersValidator
from pyevm_agents.control.plane import ControlPlane, PlaneOptions
from pyevm_agents.control.treasury import describe_treasury
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.frames import PlainRunFrame
from pyevm_agents.lifecycle.host import ignore_event
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.registry_trust import RegistryTrust
from pyevm_agents.lifecycle.treasury_frame import TreasuryFrame
from pyevm_agents.local_node import NodeConfig, open_node
from pyevm_agents.models.store.store import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.abi.registries import RegistryAddresses
    from pyevm_agents.cli.agent.agent_type import DeployedChoice
    from pyevm_agents.cli.agent.plane_options import PlaneChoices
    from pyevm_agents.cli.agent.treasury_options import TreasuryChoices
    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.manifests.agent_folder import AgentFolder
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Progress
    from pyevm_agents.node import Node

ACCOUNTS = 10
"""Funded accounts, as a node has them."""

STORE_FILE = "runs.sqlite3"
CHAIN_FOLDER = "chain"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPlane:
    """A control plane with the node of its chain."""

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
def open_plane(  # noqa: PLR0913 - keyword arguments
    chosen: Sequence[Path | DeployedChoice],
    choices: PlaneChoices,
    treasury_choices: TreasuryChoices,
    *,
    on_progress: Callable[[Progress], None],
    listener: Callable[[RunEvent], None] = ignore_event,
    resumes: bool = True,
    confirms: bool = False,
) -> Iterator[OpenedPlane]:
    """Open a development chain with the registries of ERC-8004, and run agents on it.

    Input:
        chosen, choices, treasury_choices: the agents and the options.
        on_progress, listener: who is told of the model's opening, and of phases.
        resumes: whether runs that had not ended go on by themselves.
        confirms: whether the operator must sign every dry run; without a treasury too.

    Raises: ConfigError: an agent, a model, the folder or the options are invalid.
    """
    require_agents(chosen)  # Before a model is loaded, which takes seconds.
    operator_key = treasury_choices.open_operator() or DEVELOPMENT_KEY
    with ExitStack() as stack:
        data = choices.data_folder
        if data is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pyevm-agents-")))
        opened = stack.enter_context(
            open_node(
                _build_node_config(choices, data),
                serve=False,
                on_progress=on_progress,
                on_warning=warn_run,
            )
        )
        node, notes = opened.node, opened.notes
        add_known_abis(node.chain.known_contracts, choices.abi_files)
        port = LocalChainPort.from_node(node, DEVELOPMENT_KEY)
        agents, addresses = open_agents(chosen, node.chain, port, data)
        registries = None if choices.fixture is not None else REGISTRY_ADDRESSES[TESTNET]
        if registries is None and choices.is_registration_needed:
            name = "--require-identity" if choices.validator is None else "--validator"
            raise ConfigError(f"{name}: a fixture's chain has no registries; omit it")
        options = PlaneOptions(
            port=port,
            store_path=data / STORE_FILE,
            now=time.time,
            operator_wallet=operator_key.public_key.to_canonical_address(),
            threshold=choices.threshold,
            sources=choices.sources,
            tools=build_host_tools(node.chain),
            listener=listener,
        )
        if registries is not None:
            options = replace(
                options,
                trust=RegistryTrust(port, registries, choices.sources),
                identity_account=LocalAccount(node.chain, DEVELOPMENT_KEY, mine=node.mine_signed),
                identity_registry=registries.identity,
            )
        signers = {bytes(each): node.keys.require_key(each) for each in node.keys.addresses}
        signers[options.operator_wallet] = operator_key
        if registries is not None and choices.validator is not None:
            options = _add_validator(options, node, signers, choices.validator, registries, agents)
        address = open_treasury(
            treasury_choices,
            node,
            port,
            signers,
            [find_operator(each) or options.operator_wallet for each in agents],
            choices.data_folder,
            options.trust.contracts,
        )
        options = replace(options, load=build_loader(addresses, port, runner=address))
        if address is not None:
            notes = (*notes, f"treasury {to_checksum_address(address)}")
            options = _add_treasury(options, node, port, address, confirms=confirms)
        elif confirms:
            options = replace(
                options,
                open_frame=lambda terms: PlainRunFrame(
                    terms, port.chain_id, requires_confirmation=True
                ),
            )
        plane = stack.enter_context(ControlPlane(agents, options, resumes=resumes))
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
        open_frame=lambda terms: TreasuryFrame(terms, port, address, always_confirms=confirms),
        describe_treasury=lambda: describe_treasury(
            port, address, node.chain.balance(Address(address))
        ),
    )


def _build_node_config(choices: PlaneChoices, data: Path) -> NodeConfig:
    context = click.get_current_context()
    models: Sequence[ModelChoice] | None = None
    if choices.no_model:
        models = ()
    elif is_given(context, "models") or is_given(context, "adapter"):
        models = [each.with_adapter(choices.adapter) for each in choices.models]
    return NodeConfig(
        state_dir=data / CHAIN_FOLDER,
        models=models,
        threads=choices.threads,
        store_path=MEMORY if choices.no_store else choices.store_path,
        fixture=choices.fixture,
        registries=None if choices.fixture is not None else TESTNET,
        artifacts=(),
    )

"""`pyevm-agents tools inspect`: an account's capabilities at contracts of a chain."""

from __future__ import annotations

import json
import os
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.cache_folder import get_abis_folder
from pyevm_agents.chain import Chain
from pyevm_agents.chain.fork_setup import build_fork_config
from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.output import StatusLine
from pyevm_agents.cli.tools.inspection_text import print_contracts
from pyevm_agents.config import ChainConfig
from pyevm_agents.contract_intelligence.abi_files import read_abi_file, read_project
from pyevm_agents.contract_intelligence.abi_services import (
    AbiCache,
    EtherscanService,
    SourcifyService,
)
from pyevm_agents.contract_intelligence.access import analyse_functions
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.inspection import (
    InspectedContract,
    InterfaceFinder,
    inspect_contracts,
    inspect_tools,
)
from pyevm_agents.contract_intelligence.serialization import build_context, serialize_inspection
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from pyevm_agents.forking.options import ForkOptions
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from pyevm_agents.oracle.node_models import read_node_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from pyevm_agents.contract_intelligence.abi_services import AbiService
    from pyevm_agents.contract_intelligence.capabilities import ContractIntelligence
    from pyevm_agents.contract_intelligence.function_abi import ContractInterface
    from pyevm_agents.contract_intelligence.metadata_stability import MetadataStability

API_KEY = "ETHERSCAN_API_KEY"
"""Environment variable with the API key of `--explorer-url`."""

QUIET_SECONDS = 2.0
"""A command prints no progress for this long."""

EXAMPLES = """\b
Examples:
  pyevm-agents tools inspect --rpc-url http://127.0.0.1:8545 --address TOKEN
  pyevm-agents tools inspect --rpc-url URL --address ROUTER --address TOKEN --account ACCOUNT
  pyevm-agents tools inspect --rpc-url URL --address TOKEN --project . --contract Token
  pyevm-agents tools inspect --rpc-url URL --address TOKEN --explorer-url https://HOST/v2/api
  pyevm-agents tools inspect --rpc-url URL --address TOKEN --json
"""


class SlowStatus(StatusLine):
    """A status line that appears when a command takes long."""

    def __enter__(self) -> Self:
        """Start the clock."""
        self._start = time.monotonic()
        return super().__enter__()

    def report(self, text: str) -> None:
        """Show a status, unless the command has only begun."""
        if time.monotonic() - self._start >= QUIET_SECONDS:
            self.show_status(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractOptions:
    """The contracts of a command, and where their ABIs come from."""

    addresses: Sequence[bytes]
    abi_files: Sequence[Path]
    project: Path | None
    contracts: Sequence[str]
    explorer_url: str | None
    sourcify_url: str | None
    lists_only: bool
    """Whether the contracts' functions are listed without executions, which show access."""


def add_contract_options(account_help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the contracts' options, as `chosen`, and `--account`."""
    options = (
        click.option(
            "--address", "addresses", multiple=True, required=True, type=ADDRESS_TYPE,
            metavar="ADDRESS",
            help="A contract. Repeatable: the relationships of several are shown.",
        ),
        click.option("--account", type=ADDRESS_TYPE, metavar="ADDRESS", help=account_help),
        click.option(
            "--abi", "abi_files", multiple=True, metavar="FILE",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="JSON file with the ABI, or an artifact. Repeatable: the first file is for the "
            "first --address, and so on.",
        ),
        click.option(
            "--project", metavar="DIR",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="Folder of a compiled Foundry or Hardhat project that has the ABIs.",
        ),
        click.option(
            "--contract", "contracts", multiple=True, metavar="NAME",
            help="Name of the contract in the project or the file. Repeatable, in the order of "
            "--address. File.sol:NAME where several files have one.",
        ),
        click.option(
            "--explorer-url", metavar="URL",
            help=f"API like Etherscan's, version 2, that has the ABIs. Its key is read from "
            f"{API_KEY}.",
        ),
        click.option(
            "--sourcify-url", metavar="URL", help="Sourcify server that has the ABIs."
        ),
        click.option(
            "--no-execute", "lists_only", is_flag=True,
            help="List the functions without executing them: quick, and access stays unknown.",
        ),
    )  # fmt: skip
    return partial(add_option_group, parameter="chosen", build=ContractOptions, options=options)


@click.command(epilog=EXAMPLES)
@click.option(
    "--rpc-url", required=True, metavar="URL", envvar="ETH_RPC_URL", show_envvar=True,
    help="Node of the chain, over HTTP. URL@BLOCK names a block, else it is the latest.",
)  # fmt: skip
@add_contract_options(
    "The account that would call the contracts.  [default: the first development account]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--context", "as_context", is_flag=True, help="Print the lines for an agent's base prompt."
)
def inspect(
    *,
    rpc_url: str,
    chosen: ContractOptions,
    account: bytes | None,
    as_json: bool,
    as_context: bool,
) -> None:
    """Show an account's capabilities at contracts of a chain.

    The chain is a fork in this process. Nothing is sent to the chain. The functions come from the
    ABI: of a file, of a project, of a server, or else from the bytecode.
    """
    if as_json and as_context:
        raise click.UsageError("--json and --context: must be only one of them")
    with open_inspection(rpc_url, chosen, account or DEVELOPMENT_ADDRESS) as (chain, found):
        stability = {} if chosen.lists_only or as_context else inspect_tools(chain, found)
    _print(found, stability, as_json=as_json, as_context=as_context)


@contextmanager
def open_inspection(
    rpc_url: str, chosen: ContractOptions, account: bytes
) -> Iterator[tuple[Chain, tuple[ContractIntelligence, ...]]]:
    """Inspect contracts on a fork, and yield the fork and the findings.

    Raises: click.UsageError: the options do not fit together. AgentsError: a contract, a file, a
        server or the node is not as in the options.
    """
    interfaces = _read_interfaces(
        chosen.addresses, chosen.abi_files, chosen.project, chosen.contracts
    )
    services = _open_services(chosen.explorer_url, chosen.sourcify_url)
    with ExitStack() as stack:
        status = stack.enter_context(SlowStatus())
        block = ForkOptions.from_text(rpc_url).open()
        stack.callback(block.close)
        numeric = read_node_models(block)
        config = ChainConfig(numeric_models=build_numeric_profiles(numeric))
        chain = Chain(build_fork_config(config, block), numeric_models=numeric, fork=block)
        stack.callback(chain.close)
        found = inspect_contracts(
            chain,
            [
                InspectedContract(address=to_checksum_address(address), interface=interface)
                for address, interface in zip(chosen.addresses, interfaces, strict=True)
            ],
            to_checksum_address(account),
            finder=InterfaceFinder(services=services, cache=AbiCache(get_abis_folder())),
            analyse=None if chosen.lists_only else analyse_functions,
            report=status.report,
        )
        yield chain, found


def _print(
    contracts: Sequence[ContractIntelligence],
    stability: Mapping[str, MetadataStability],
    *,
    as_json: bool,
    as_context: bool,
) -> None:
    chain = get_chain_metadata(contracts[0].chain_id)
    if as_json:
        # In ASCII: values of contracts may hold what steers a terminal.
        click.echo(json.dumps(serialize_inspection(contracts, chain, stability), indent=2))
    elif as_context:
        click.echo(build_context(contracts, chain))
    else:
        print_contracts(contracts, chain, stability)


def _read_interfaces(
    addresses: Sequence[bytes],
    files: Sequence[Path],
    project: Path | None,
    names: Sequence[str],
) -> list[ContractInterface | None]:
    """Return the interface of each address from files or the project; None without one.

    Raises: click.UsageError: the options do not fit together. ConfigError: a file has no ABI.
    """
    if files and project is not None:
        raise click.UsageError("--abi and --project: must be only one of them")
    if len(set(addresses)) < len(addresses):
        raise click.UsageError("--address: each contract must be given once")
    for option, values in (("--abi", files), ("--contract", names)):
        if len(values) > len(addresses):
            raise click.UsageError(f"{option}: must not be given more often than --address")
    if project is not None and not names:
        raise click.UsageError("--project: needs --contract NAME for each --address")
    if names and project is None and not files:
        raise click.UsageError("--contract: needs --project DIR or --abi FILE")
    interfaces: list[ContractInterface | None]
    if project is not None:
        interfaces = [read_project(project, name) for name in names]
    else:
        padded = [*names, *[None] * (len(files) - len(names))]
        interfaces = [read_abi_file(file, name) for file, name in zip(files, padded, strict=False)]
    return interfaces + [None] * (len(addresses) - len(interfaces))


def _open_services(explorer_url: str | None, sourcify_url: str | None) -> tuple[AbiService, ...]:
    services: list[AbiService] = []
    if explorer_url is not None:
        services.append(EtherscanService(explorer_url, key=os.environ.get(API_KEY, "")))
    if sourcify_url is not None:
        services.append(SourcifyService(sourcify_url))
    return tuple(services)

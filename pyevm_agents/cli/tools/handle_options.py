"""Names of people on the command line: `--handle`, `--handles`, `--ens`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.contract_intelligence.contract_reader import ContractReader
from pyevm_agents.contract_intelligence.ens import resolve_name
from pyevm_agents.contract_intelligence.people import parse_handle, read_handles, resolve_people

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.chain import Chain
    from pyevm_agents.contract_intelligence.people import NamedAddress, Person


ENS_REGISTRY = "0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e"
"""The registry on Ethereum and its testnets. Source: docs.ens.domains, deployments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandleChoices:
    """Names of people, and the registry of ENS."""

    handles: tuple[str, ...]
    handles_file: Path | None
    ens_registry: bytes

    def read(self) -> list[NamedAddress]:
        """Return the names as written, those of the file first.

        Raises: ConfigError: one is malformed, or the file can't be read.
        """
        listed = [] if self.handles_file is None else read_handles(self.handles_file)
        return [*listed, *map(parse_handle, self.handles)]

    def resolve(self, named: list[NamedAddress], chain: Chain) -> tuple[Person, ...]:
        """Return the names with their addresses on a chain.

        Raises: ConfigError: a name of ENS has no address there.
        """
        reader, registry = ContractReader(chain), str(to_checksum_address(self.ens_registry))
        return resolve_people(named, lambda name: resolve_name(reader, name, registry))


def add_handle_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, as the parameter `handle_choices`."""
    return add_option_group(
        command,
        "handle_choices",
        HandleChoices,
        [
            click.option(
                "--handle", "handles", multiple=True, metavar="NAME=0x…",
                help="A name that the agent knows for an address. Repeatable. NAME=bob.eth, and "
                "bob.eth alone, take the address from ENS.",
            ),
            click.option(
                "--handles", "handles_file", metavar="FILE",
                type=click.Path(exists=True, dir_okay=False, path_type=Path),
                help="File with such names: lines NAME = 0x…, or TOML.",
            ),
            click.option(
                "--ens", "ens_registry", type=ADDRESS_TYPE, metavar="ADDRESS", default=ENS_REGISTRY,
                help="Registry of ENS.  [default: that of Ethereum]",
            ),
        ],
    )  # fmt: skip

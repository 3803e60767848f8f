"""ABIs of a user's contracts, which name the contracts' errors in the output of commands.

A deployment keeps no ABI on the chain. `--abi FILE` gives the ABI to a command again, and the
command to a node that takes ABIs: then the node's traces name the errors, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyevm_agents.abi.known_contracts import KnownContracts
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.contract_intelligence.abi_files import read_abis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyevm_agents.cli.options.sender import Sender
    from pyevm_agents.contract_intelligence.abi_files import ContractAbi

ADD_ABI = "agent_addAbi"
"""Method of this package's nodes."""

abi_option: Callable[..., Any] = click.option(
    "--abi",
    "abi_files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON file with an ABI, or an artifact, whose errors are named. Repeatable.",
)


def read_known_abis(files: Iterable[Path]) -> tuple[ContractAbi, ...]:
    """Return the contracts of files.

    Raises: ConfigError: a file has no ABI.
    """
    return tuple(abi for file in files for abi in read_abis(file))


def learn_abis(sender: Sender, files: Iterable[Path]) -> None:
    """Name the errors of files' contracts for a sender, and in the traces of the sender's node.

    Raises: ConfigError: a file has no ABI. RemoteFault: the node does not answer.
    """
    abis = read_known_abis(files)
    if not abis:
        return
    sender.known = KnownContracts()
    sender.known.add(*(each.description for each in abis))
    for each in abis:
        code = "0x" + each.description.runtime_code.hex()
        try:
            sender.client.request(ADD_ABI, [each.name, [*each.entries], code])
        except RemoteError:
            return  # Another node, or one that has enough: only this command's texts name them.

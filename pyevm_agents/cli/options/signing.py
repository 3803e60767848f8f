"""Options of commands that sign: the chain, and the most that a transaction may cost.

A keystore signs for the chain that `--chain-id` names. Without it, the node's chain is shown; for
another one than a development chain a person must agree, and without a terminal nothing is signed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.output import err
from pyevm_agents.client.signing import GWEI, FeeBounds
from pyevm_agents.display import format_amount
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pyevm_agents.client.json_rpc import RemoteClient
    from pyevm_agents.client.signing import Fees

DEVELOPMENT_CHAINS = {31_337: "anvil, Hardhat and this package", 1_337: "ganache and geth --dev"}
"""Chains without value, with the nodes that have them by default."""

MAX_GWEI = 10**9
"""One ether for one gas."""


def _read_bounds(
    _context: click.Context, _option: click.Parameter, gwei: float | None
) -> FeeBounds | None:
    return None if gwei is None else FeeBounds.from_fee(max(1, int(gwei * GWEI)))


chain_id_option = click.option(
    "--chain-id",
    type=click.IntRange(1),
    metavar="ID",
    help="Chain ID that the node must have. A keystore signs for no other one.",
)
max_fee_option = click.option(
    "--max-fee",
    type=click.FloatRange(0, MAX_GWEI, min_open=True),
    callback=_read_bounds,
    metavar="GWEI",
    help="The most that one gas may cost.  [default: 500, of it 50 as priority fee; and 1 ether "
    "for the gas of a transaction]",
)


def choose_chain(client: RemoteClient, expected: int | None, address: bytes) -> int:
    """Return the ID of the chain for which a key of this machine signs, and show it.

    Input:  the node; the ID that the user named, None for none; the key's address.
    Raises: ConfigError: the node has another chain, or nobody can agree to sign for it.
    """
    chain_id = require_chain(client, expected)
    name = describe_chain(chain_id)
    account = to_checksum_address(address)
    err.print(f"Signs for {name} as {account}.", soft_wrap=True, markup=False)
    if expected is None and chain_id not in DEVELOPMENT_CHAINS:
        if not sys.stdin.isatty():
            raise ConfigError(
                f"{name} at {client.host}: must be named before a keystore signs for it; pass "
                f"--chain-id {chain_id}"
            )
        click.confirm("Is this the chain?", abort=True, err=True)
    return chain_id


def describe_chain(chain_id: int) -> str:
    """Return a chain's ID and name."""
    if chain_id in DEVELOPMENT_CHAINS:
        return f"chain {chain_id} (development)"
    from pyevm_agents.contract_intelligence.chain_metadata import (  # noqa: PLC0415 - slow to import
        get_chain_metadata,
    )

    chain = get_chain_metadata(chain_id)
    return f"chain {chain_id} ({chain.name if chain.is_known else 'unknown'})"


def tell_cost(value_wei: int, gas: int, fees: Fees) -> None:
    """Show what a transaction sends, and what its gas may cost, before it is signed."""
    sent = f"{format_amount(value_wei)}, and " if value_wei else ""
    err.print(
        f"Pays {sent}at most {format_amount(gas * fees.fee)} for {gas:,} gas.",
        soft_wrap=True,
        markup=False,
    )


def require_chain(client: RemoteClient, expected: int | None) -> int:
    """Return the node's chain ID.

    Raises: ConfigError: another one is expected.
    """
    chain_id = client.request_quantity("eth_chainId")
    if expected not in {None, chain_id}:
        raise ConfigError(
            f"chain ID {chain_id} at {client.host}: must be {expected}; pass the URL of a node of "
            "that chain, or another --chain-id"
        )
    return chain_id

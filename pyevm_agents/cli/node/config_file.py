"""The file of `--config-out`: accounts, keys and parameters of a node, in anvil's format.

Source: anvil 1.7.1, `--config-out`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.cli.node.state_file import write_json
from pyevm_agents.node.transaction_defaults import suggest_gas_price

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.node import Node


def write_config(path: Path, node: Node, mnemonic: str, derivation_path: str) -> None:
    """Write the file, readable by its owner alone: it has private keys.

    Input:
        mnemonic: the words that the node's keys are derived from.
        derivation_path: without the index.

    Raises: AgentsError: the file can't be written.
    """
    base_fee = int(node.next_block.build_header().base_fee_per_gas or 0)
    addresses = node.keys.addresses
    form = {
        "available_accounts": ["0x" + address.hex() for address in addresses],
        "private_keys": [str(node.keys.get_key(address)) for address in addresses],
        "wallet": {"mnemonic": mnemonic, "derivation_path": f"{derivation_path}/"},
        "base_fee": str(base_fee),
        "gas_price": str(suggest_gas_price(node)),
        "gas_limit": str(node.chain.config.block_gas_limit),
        "genesis_timestamp": str(node.chain.config.genesis_timestamp_seconds),
    }
    write_json(path, form, "config file")

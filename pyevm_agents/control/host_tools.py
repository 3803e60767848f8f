"""Tools of the host for agents: reads of the chain, without changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.chain import Chain
    from pyevm_agents.recordings.canonical_json import Json

    HostTool = Callable[[Mapping[str, Json]], Json]

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


def build_host_tools(chain: Chain) -> Mapping[str, HostTool]:
    """Return the tools by name."""

    def read_balance(arguments: Mapping[str, Json]) -> Json:
        """Return the wei of an address as a decimal text."""
        return str(chain.state().get_balance(_parse_address(arguments)))

    def read_block(_arguments: Mapping[str, Json]) -> Json:
        """Return number, timestamp and base fee of the last block."""
        head = chain.head
        return {
            "number": head.block_number,
            "timestamp": head.timestamp,
            "baseFeeWei": str(head.base_fee_per_gas or 0),
        }

    return {"read_balance": read_balance, "read_block": read_block}


def _parse_address(arguments: Mapping[str, Json]) -> Address:
    text = arguments.get("address")
    if not isinstance(text, str) or ADDRESS.fullmatch(text) is None:
        raise ConfigError(f"address {text!r:.80}: must be 0x and 40 hexadecimal digits")
    return Address(bytes.fromhex(text[2:]))

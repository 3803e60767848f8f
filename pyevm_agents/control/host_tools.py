"""Tools of the host for agents: reads of the run's draft, without changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.chain_tools import ChainTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.lifecycle.chain_tools import DraftReader
    from pyevm_agents.recordings.canonical_json import Json

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


def read_balance(draft: DraftReader, arguments: Mapping[str, Json]) -> Json:
    """Return the wei of an address as a decimal text, after the run's writes so far."""
    return str(draft.get_balance(_parse_address(arguments)))


def read_block(draft: DraftReader, _arguments: Mapping[str, Json]) -> Json:
    """Return number, timestamp and base fee of the block that the run becomes."""
    return {
        "number": draft.number,
        "timestamp": draft.timestamp,
        "baseFeeWei": str(draft.base_fee_wei),
    }


HOST_TOOLS: Mapping[str, ChainTool] = {
    "read_balance": ChainTool(read_balance),
    "read_block": ChainTool(read_block),
}
"""The tools by name."""


def _parse_address(arguments: Mapping[str, Json]) -> bytes:
    text = arguments.get("address")
    if not isinstance(text, str) or ADDRESS.fullmatch(text) is None:
        raise ConfigError(f"address {text!r:.80}: must be 0x and 40 hexadecimal digits")
    return bytes.fromhex(text[2:])

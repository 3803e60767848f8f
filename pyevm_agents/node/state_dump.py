"""All of a node's state as one object of JSON, and back.

    {"format": "pyevm-agents-state-1", "block": {"number": "0x2", "timestamp": "0x6b01cab6"},
     "accounts": {…}}

`state/dump.py` has the accounts. What is loaded is such an object, or a dump of anvil's, of
which the accounts and the head's number and time are taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pyevm_agents.node.node import Node

DUMP_FORMAT = "pyevm-agents-state-1"

MAX_FILLED_BLOCKS = 10_000
"""Empty blocks that are made at most to reach the number of a dump's head."""

MAX_TIME = 2**64 - 1


def dump(node: Node) -> dict[str, object]:
    """Return all accounts and the head's number and time. Only the thread that writes calls it."""
    chain = node.chain
    return {
        "format": DUMP_FORMAT,
        "block": {"number": hex(chain.head.block_number), "timestamp": hex(chain.head.timestamp)},
        "accounts": chain.dump_accounts(),
    }


def load(node: Node, form: object) -> None:
    """Put a dump's accounts into the latest state, and mine up to its head's number and time.

    Only the thread that writes calls it.

    Raises: ConfigError: it is no dump, or too far ahead of the chain.
    """
    if not isinstance(form, dict):
        raise ConfigError("a state dump is an object of JSON: load what anvil_dumpState returned")
    block = form.get("block")
    kind = form.get("format")
    is_anvils = "format" not in form and isinstance(block, dict) and "accounts" in form
    if kind != DUMP_FORMAT and not is_anvils:
        raise ConfigError(
            f"its format is {kind!r}, this node loads {DUMP_FORMAT!r} and anvil's own: load what "
            "one of them dumped"
        )
    number, timestamp = _parse_quantity(block, "number"), _parse_quantity(block, "timestamp")
    missing = number - node.chain.head.block_number
    if missing > MAX_FILLED_BLOCKS:
        raise ConfigError(
            f"the dump's head is block {number}, {missing} after this chain's; at most "
            f"{MAX_FILLED_BLOCKS} are made to reach it: start nearer"
        )
    node.chain.load_accounts(form.get("accounts"))
    for left in range(missing, 0, -1):
        after = node.chain.head.timestamp + 1
        node.mine_transactions(
            (), node.next_block.build_settings(after if left > 1 else max(after, timestamp))
        )


def _parse_quantity(block: object, name: str) -> int:
    """Read a number of the dump's head."""
    value = block.get(name) if isinstance(block, dict) else None
    try:
        number = int(value, 16) if isinstance(value, str) else -1
    except ValueError:
        number = -1
    if not 0 <= number <= MAX_TIME:
        raise ConfigError(
            f'the dump\'s block.{name} is {value!r}: it must be a quantity such as "0x1f"'
        )
    return number

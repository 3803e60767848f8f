"""Logs of a live chain before a fork block: grants of roles, and a contract's last events.

A node may refuse a long range of blocks, so shorter ones follow. Logs that the node does not return
are missing, without an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.abi.values import compute_topic
from pyevm_agents.chain import Chain
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.errors import RemoteFault
from pyevm_agents.forking import RemoteFork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from pyevm_agents.chain import ChainSimulator

ROLE_EVENTS = (
    # OpenZeppelin: AccessControl, AccessManager, Ownable, and the roles of its versions 2 and 3.
    "RoleGranted(bytes32,address,address)",
    "RoleRevoked(bytes32,address,address)",
    "RoleGranted(uint64,address,uint32,uint48,bool)",
    "RoleRevoked(uint64,address)",
    "OwnershipTransferred(address,address)",
    "MinterAdded(address)",
    "PauserAdded(address)",
    "SignerAdded(address)",
    "WhitelistAdminAdded(address)",
    "WhitelistedAdded(address)",
    # MakerDAO: wards.
    "Rely(address)",
)
"""Events by which contracts tell who has a role."""

ROLE_RANGES = (None, 10_000, 1_000)
"""Blocks whose logs are asked for, until the node answers; None for all."""

LATEST_RANGES = (1_000, 100)
MAX_LOGS = 2_000
"""Logs of an answer that are read, the latest."""

Log = tuple[tuple[int, ...], bytes]
"""Topics and data of a log."""


def read_remote_logs(chain: ChainSimulator, contract: Address) -> list[Log]:
    """Return logs of a contract before the fork block, those of roles first, the latest first.

    Output: nothing for a chain that is no fork of a live one.
    """
    fork = chain.fork_block if isinstance(chain, Chain) else None
    if not isinstance(fork, RemoteFork):
        return []
    topics = ["0x" + compute_topic(each).hex() for each in ROLE_EVENTS]
    roles = _ask(fork, contract, ROLE_RANGES, [topics])
    return [*roles, *_ask(fork, contract, LATEST_RANGES, [])]


def _ask(
    fork: RemoteFork, contract: Address, ranges: tuple[int | None, ...], topics: list[list[str]]
) -> list[Log]:
    last = fork.origin.block_number
    for blocks in ranges:
        first = 0 if blocks is None else max(0, last - blocks + 1)
        form = {
            "address": "0x" + contract.hex(),
            "fromBlock": hex(first),
            "toBlock": hex(last),
            "topics": topics,
        }
        try:
            found = fork.request_lasting("eth_getLogs", [form])
        except (RemoteError, RemoteFault):
            continue
        return [*_iter_logs(found)]
    return []


def _iter_logs(found: object) -> Iterator[Log]:
    """Yield the logs of a response, the latest first; malformed ones are left out."""
    for entry in reversed(found[-MAX_LOGS:] if isinstance(found, list) else []):
        try:
            topics = tuple(int(each, 16) for each in entry["topics"])
            yield topics, bytes.fromhex(entry["data"].removeprefix("0x"))
        except (AttributeError, KeyError, TypeError, ValueError):
            continue

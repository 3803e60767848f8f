"""Agents that anybody may run, beside approvals of a treasury.

A treasury's caps and confirmations hold for its runs. A contract that the treasury's owner approved
pulls tokens in other transactions as well: a stranger's, if anybody may run an agent that reaches
that contract.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.constants import ZERO_ADDRESS
from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from precompiles.spec import ADDRESS_BYTES, WORD_BYTES
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.chain import Call
from pyevm_agents.errors import AgentsError
from pyevm_agents.lifecycle.registry_trust import read
from pyevm_agents.lifecycle.treasury_refusals import NATIVE_ASSET
from pyevm_agents.rpc.logs import LogCriteria, find_logs
from pyevm_agents.rpc.params import BlockId

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.lifecycle.local_chain import LocalChainPort
    from pyevm_agents.node import Node

STRANGER = Address(b"\x5f" * 20)
"""An account that no contract knows."""

PROBE_GAS = 1_000_000
SPENDER_TOPIC = 2
"""Place of the spender in a log of `Approval`."""

APPROVAL = int.from_bytes(compute_topic("Approval(address,address,uint256)"))


def warn_of_approvals(
    node: Node, port: LocalChainPort, treasury: bytes, agents: Mapping[str, bytes]
) -> tuple[str, ...]:
    """Return a warning for each agent that anybody may run, if the treasury approved a contract.

    Input: the node; the chain's port; the treasury; deployed agents by slug.
    """
    loose = [slug for slug, address in agents.items() if _is_for_anybody(node, address, treasury)]
    spenders = sorted(set(_iter_spenders(node, port, treasury))) if loose else []
    if not spenders:
        return ()
    names = ", ".join(map(to_checksum_address, spenders))
    return tuple(
        f"Warning: anybody may run agent {slug}, and the treasury has approved {names}: what that "
        "takes for strangers is held to no cap, and needs no confirmation. Use an agent whose "
        "owner is the treasury, or take the approval back"
        for slug in loose
    )


def _is_for_anybody(node: Node, agent: bytes, treasury: bytes) -> bool:
    """Return whether an agent treats a stranger's run as the treasury's.

    A run without a prompt ends before any inference, and a check of the caller ends it earlier.
    """
    data = load_artifact("IERCAgent").encode_call("run", ([], b""), ZERO_ADDRESS)
    ends = []
    for sender in (STRANGER, Address(treasury)):
        call = Call(to=Address(agent), sender=sender, data=data, gas=PROBE_GAS)
        result = node.chain.call(call)
        ends.append((result.error is None, result.output))
    return ends[0] == ends[1]


def _iter_spenders(node: Node, port: LocalChainPort, treasury: bytes) -> Iterator[bytes]:
    """Yield the contracts that may take tokens of the treasury's assets."""
    for asset in read(port, "RunTreasury", treasury, "getAssets"):
        token = to_canonical_address(asset)
        if token == NATIVE_ASSET:
            continue
        owner = frozenset({int.from_bytes(treasury)})
        criteria = LogCriteria(
            addresses=frozenset({Address(token)}),
            topics=(frozenset({APPROVAL}), owner),
            first=BlockId(number=0),
            last=BlockId(tag="latest"),
        )
        for spender in sorted(set(_iter_approved(node, criteria))):
            if _read_allowance(port, token, treasury, spender):
                yield spender


def _iter_approved(node: Node, criteria: LogCriteria) -> Iterator[bytes]:
    """Yield the spenders of logged approvals, also of those that were taken back."""
    for log in find_logs(node, criteria):
        topics: Any = log["topics"]
        if len(topics) > SPENDER_TOPIC:
            yield bytes.fromhex(str(topics[SPENDER_TOPIC])[2:])[-ADDRESS_BYTES:]


def _read_allowance(port: LocalChainPort, token: bytes, owner: bytes, spender: bytes) -> int:
    data = load_artifact("IERC20").encode_call("allowance", owner, spender)
    try:
        output = port.call(token, data)
    except AgentsError:
        return 0
    return int.from_bytes(output) if len(output) == WORD_BYTES else 0

"""Evidence of executions about addresses: recipients of moved amounts, and tokens of amounts.

Each is decided by execution of the example call with another address.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address

from pyevm_agents.abi.values import compute_topic
from pyevm_agents.contract_intelligence.argument_derivation import MARKER
from pyevm_agents.contract_intelligence.asset_movements import list_movements
from pyevm_agents.contract_intelligence.calldata_layout import get_at, list_leaves
from pyevm_agents.contract_intelligence.item_transfers import give_amounts
from pyevm_agents.contract_intelligence.parameter_leaves import name_path, replace_leaf
from pyevm_agents.contract_intelligence.probe import to_hex_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.contract_intelligence.asset_movements import Movement
    from pyevm_agents.contract_intelligence.call_search import CallAttempt, CallSearch
    from pyevm_agents.contract_intelligence.calldata_layout import CalldataLeaf, Path
    from pyevm_agents.contract_intelligence.capabilities import Parameter
    from pyevm_agents.contract_intelligence.probe import ProbeResult

MAX_ADDRESSES = 8
"""Addresses of one function that are exchanged."""

MAX_TOKENS = 16
"""Contracts that are tried as the token of an amount."""

RECIPIENT_TOPICS = {
    int.from_bytes(compute_topic("TransferSingle(address,address,address,uint256,uint256)")): 3,
    int.from_bytes(compute_topic("TransferBatch(address,address,address,uint256[],uint256[])")): 3,
}
"""Topics of ERC-1155's transfers, and the topic with the recipient."""

_ADDRESS = "address"


def show_recipients(
    search: CallSearch,
    attempt: CallAttempt,
    result: ProbeResult,
    parameters: Sequence[Parameter],
) -> tuple[Parameter, ...]:
    """Return parameters; recipients are those where another address receives the moved amount."""
    marker = to_canonical_address(MARKER)
    for leaf in _list_addresses(search, result):
        changed = search.probe(attempt.with_value(leaf.path, MARKER))
        if changed is not None and marker in _find_recipients(changed):
            parameters = replace_leaf(parameters, leaf.path, is_recipient=True)
    return tuple(parameters)


def _list_addresses(search: CallSearch, result: ProbeResult) -> list[CalldataLeaf]:
    leaves = list_leaves(search.types, result.probe.data)
    return [each for each in leaves if each.abi_type == _ADDRESS][:MAX_ADDRESSES]


def _find_recipients(result: ProbeResult) -> set[bytes]:
    """Return the accounts that receive tokens, items or ether in a call that succeeded."""
    found = {bytes(each.recipient) for each in result.list_transfers()}
    for _, topics, _ in result.logs if result.is_success else ():
        place = RECIPIENT_TOPICS.get(topics[0], 0) if topics else 0
        if place and len(topics) > place:
            found.add(topics[place].to_bytes(32, "big")[-20:])
    return found


def name_token(
    search: CallSearch, attempt: CallAttempt, result: ProbeResult, moved: Movement
) -> tuple[str, Path]:
    """Return the parameter that chooses the token of an amount, such as `asset` or `path[0]`.

    Input: moved: an amount that the call moved.
    Output: name and path of the parameter; the token itself and no path without such a parameter.
    """
    own = to_hex_address(result.probe.sender)
    for leaf in _list_addresses(search, result):
        if str(get_at(attempt.values, leaf.path)) != moved.token:
            continue
        changed = search.probe(attempt.with_value(leaf.path, own))
        if changed is None or not _does_move(search, changed, moved):
            name = name_path(search.function.parameters, leaf.path)
            return name + _name_item(attempt, leaf.path), leaf.path
    return moved.token, ()


def _name_item(attempt: CallAttempt, path: Path) -> str:
    """Return which item of a list of tokens an address is."""
    items = get_at(attempt.values, path[:-1]) if len(path) > 1 else None
    if not isinstance(items, tuple) or not all(isinstance(each, str) for each in items):
        return ""
    is_last = path[-1] == len(items) - 1
    return "[-1]" if is_last and path[-1] else "[0]"


def list_tokens(
    search: CallSearch, attempt: CallAttempt, result: ProbeResult, moved: Movement, path: Path
) -> tuple[str, ...]:
    """Return the tokens that a parameter may choose: those of which a call moves the amount.

    The account is given each token, and the contract may take the token.
    """
    found = [moved.token]
    for place in search.known_contracts[:MAX_TOKENS]:
        other = to_hex_address(bytes(place))
        if other == moved.token:
            continue
        given, allowed = give_amounts(search.prober, result.probe.sender, place, result.probe.to)
        richer = replace(attempt, needs=(*attempt.needs, *given, *allowed))
        changed = search.probe(richer.with_value(path, other))
        if changed is not None and _does_move(search, changed, replace(moved, token=other)):
            found.append(other)
    return tuple(found)


def _does_move(search: CallSearch, result: ProbeResult, moved: Movement) -> bool:
    return result.is_success and any(
        (each.token, each.amount) == (moved.token, moved.amount)
        for each in list_movements(search.prober, result)
    )

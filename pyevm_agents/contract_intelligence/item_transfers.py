"""Transfers of an account's items by other contracts, and the slots that let a transfer go on.

An ERC-721 or ERC-1155 token moves an item if the account owns the item and has approved the
spender. The token's own getters show the slots: the slot counts whose other value the getter
returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth.vm import opcode_values as op
from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError

from precompiles.spec import SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.contract_intelligence.probe import CallProbe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from pyevm_agents.contract_intelligence.caller_taint import TracedCall
    from pyevm_agents.contract_intelligence.probe import Overrides, Prober, ProbeResult

TRANSFER_FROM = bytes.fromhex("23b872dd")
"""`transferFrom(address,address,uint256)` of ERC-20 and ERC-721."""

SAFE_TRANSFERS_FROM = frozenset({bytes.fromhex("42842e0e"), bytes.fromhex("b88d4fde")})
"""`safeTransferFrom` of ERC-721, without and with data."""

SAFE_TRANSFER_FROM = bytes.fromhex("f242432a")
"""`safeTransferFrom(address,address,uint256,uint256,bytes)` of ERC-1155."""

SAFE_BATCH_TRANSFER_FROM = bytes.fromhex("2eb2c2d6")
"""`safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)` of ERC-1155."""

MULTI_TRANSFERS_FROM = frozenset({SAFE_TRANSFER_FROM, SAFE_BATCH_TRANSFER_FROM})
ITEM_TRANSFERS = SAFE_TRANSFERS_FROM | MULTI_TRANSFERS_FROM
OWNER_OF = bytes.fromhex("6352211e")
GET_APPROVED = bytes.fromhex("081812fc")
"""`getApproved(uint256)` of ERC-721: who may move an item in place of its owner."""

BALANCE_OF_ITEM = bytes.fromhex("00fdd58e")
"""`balanceOf(address,uint256)` of ERC-1155."""

BALANCE_OF = bytes.fromhex("70a08231")
ALLOWANCE = bytes.fromhex("dd62ed3e")
"""`balanceOf(address)` and `allowance(address,address)` of ERC-20."""

IS_APPROVED_FOR_ALL = bytes.fromhex("e985e9c5")
MAX_NUMBERS = 12
"""Words of calls that may be the ID of an item."""

MAX_IDS = 4
"""Items of a transfer of several that the account is given."""

MAX_SLOTS = 4
"""Slots of a getter that are tried, the last one first: a proxy reads its own before."""

ITEM_AMOUNT = 10**30
"""Items of one ID, or base units, that the account is given: more than an example asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTransfer:
    """A transfer of items from the account, called by another contract."""

    token: Address
    spender: Address
    ids: tuple[int, ...]
    is_multi: bool
    """Whether the token is an ERC-1155: it has amounts of each ID, and approvals for all alone."""


def find_failed_transfers(result: ProbeResult, account: Address) -> list[ItemTransfer]:
    """Return the transfers of the account's items that failed.

    An ERC-20's transfer looks like an ERC-721's: that token has no `ownerOf`, so `give_items` finds
    no slot.
    """
    found = (
        _read_transfer(call)
        for call in result.list_calls()
        if call.is_error and is_transfer_of(call, account)
    )
    return [transfer for transfer in found if transfer is not None]


def is_transfer_of(call: TracedCall, account: Address) -> bool:
    """Return whether a contract calls another one to transfer tokens of an account."""
    if call.parent is None or call.kind not in {op.CALL, op.STATICCALL} or call.sender == account:
        return False
    return call.data[:4] in {TRANSFER_FROM, *ITEM_TRANSFERS} and call.data[4:36] == bytes(
        account
    ).rjust(WORD_BYTES, b"\0")


def give_items(
    prober: Prober, account: Address, transfer: ItemTransfer
) -> tuple[Overrides, Overrides]:
    """Return slots with which the account has the items, and has approved the spender.

    A slot that has the right value, or that is not found, is left out.
    """
    own = bytes(account)
    true = encode(["bool"], [True])
    holdings: list[tuple[Address, int, int]] = []
    for item in transfer.ids[:MAX_IDS]:
        if transfer.is_multi:
            data = BALANCE_OF_ITEM + encode(["address", "uint256"], [own, item])
            wanted = encode(["uint256"], [ITEM_AMOUNT])
        else:
            data = OWNER_OF + encode(["uint256"], [item])
            wanted = encode(["address"], [own])
        holdings += _find_setting(prober, account, transfer.token, data, wanted)
    asked = IS_APPROVED_FOR_ALL + encode(["address", "address"], [own, bytes(transfer.spender)])
    return tuple(holdings), tuple(_find_setting(prober, account, transfer.token, asked, true))


def give_amounts(
    prober: Prober, account: Address, token: Address, spender: Address
) -> tuple[Overrides, Overrides]:
    """Return slots with which the account has much of a token, and allows the spender to take it.

    A slot that is not found is left out.
    """
    own, wanted = bytes(account), encode(["uint256"], [ITEM_AMOUNT])
    balance = BALANCE_OF + encode(["address"], [own])
    allowed = ALLOWANCE + encode(["address", "address"], [own, bytes(spender)])
    return (
        tuple(_find_setting(prober, account, token, balance, wanted)),
        tuple(_find_setting(prober, account, token, allowed, wanted)),
    )


def is_token_item(
    prober: Prober, account: Address, slot: tuple[Address, int], result: ProbeResult
) -> bool:
    """Whether a slot has owner, count or approved mover of a token's item that a call names.

    Input: the slot's contract and its number; a call that ran with the account in the slot.
    """
    token, own = slot[0], bytes(account)
    for item in [*_list_numbers(result)][:MAX_NUMBERS]:
        for data in (
            OWNER_OF + encode(["uint256"], [item]),
            GET_APPROVED + encode(["uint256"], [item]),
            BALANCE_OF_ITEM + encode(["address", "uint256"], [own, item]),
        ):
            reads = prober.read(token, data, account).tape.reads
            if slot in {(each.account, each.slot) for each in reads}:
                return True
    return False


def _list_numbers(result: ProbeResult) -> dict[int, None]:
    """Return the words of a call, and of calls that move items, each once."""
    data = [result.probe.data, *(call.data for call in result.list_calls() if _is_move(call))]
    starts = range(SELECTOR_BYTES, SELECTOR_BYTES + MAX_NUMBERS * WORD_BYTES, WORD_BYTES)
    return {
        int.from_bytes(each[start : start + WORD_BYTES], "big"): None
        for each in data
        for start in starts
        if start + WORD_BYTES <= len(each)
    }


def _is_move(call: TracedCall) -> bool:
    """Return whether a call of a token is a transfer, or reads an item's owner."""
    return call.data[:SELECTOR_BYTES] in {TRANSFER_FROM, OWNER_OF, *ITEM_TRANSFERS}


def _find_setting(
    prober: Prober, account: Address, token: Address, data: bytes, wanted: bytes
) -> Iterator[tuple[Address, int, int]]:
    """Yield the slot with which a getter returns a word, unless the getter does already."""
    before = prober.read(token, data, account)
    if before.is_success and before.output[:WORD_BYTES] == wanted:
        return
    value = int.from_bytes(wanted, "big")
    slots = dict.fromkeys((each.account, each.slot) for each in reversed(before.tape.reads))
    for holder, slot in [*slots][:MAX_SLOTS]:
        entry = (holder, slot, value)
        after = prober.run(CallProbe(sender=account, to=token, data=data, storage=(entry,)))
        if after.is_success and after.output[:WORD_BYTES] == wanted:
            yield entry
            return


def _read_transfer(call: TracedCall) -> ItemTransfer | None:
    """Return the transfer in a call's arguments; None for other arguments."""
    is_multi = call.data[:4] in MULTI_TRANSFERS_FROM
    is_batch = call.data[:4] == SAFE_BATCH_TRANSFER_FROM
    types = ["address", "address", "uint256[]" if is_batch else "uint256"]
    try:
        ids = decode(types, call.data[4:])[2]
    except (DecodingError, OverflowError):
        return None
    return ItemTransfer(
        token=call.account,
        spender=call.sender,
        ids=tuple(ids) if is_batch else (ids,),
        is_multi=is_multi,
    )

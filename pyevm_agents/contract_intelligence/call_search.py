"""Search for a call that succeeds, and for the checks that stop an account.

A call that reverts shows, by the conditions on its way, what would let it go on: another argument,
another value, a balance or an allowance of the account, another state, or another caller. Each is
tried. What the conditions propose is decided by execution alone.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from eth.vm import opcode_values as op
from eth_abi.exceptions import EncodingError
from eth_typing import Address
from eth_utils import to_canonical_address

from pyevm_agents.contract_intelligence.calldata_layout import (
    Candidates,
    Leaf,
    Path,
    build_value,
    encode_arguments,
    fit_number,
    get_at,
    list_leaves,
    replace_at,
    resize,
)
from pyevm_agents.contract_intelligence.caller_taint import (
    CALLDATA_FLAG,
    KEYED_FLAG,
    STORAGE_FLAG,
    VALUE_FLAG,
    Expression,
)
from pyevm_agents.contract_intelligence.conditions import (
    ADDRESS_MASK,
    MAX_WORD,
    Comparison,
    Relation,
    find_field,
    find_keyed,
    find_slots,
    find_words,
    get_flags,
    get_value,
    is_account,
    is_amount,
    list_comparisons,
    strip,
)
from pyevm_agents.contract_intelligence.probe import Probe, to_hex_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.contract_intelligence.caller_taint import Decision
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability
    from pyevm_agents.contract_intelligence.probe import Overrides, Prober, ProbeResult

MAX_PROBES = 28
"""Probes of one function, without those of other callers."""

MAX_DECISIONS_READ = 10
"""Conditions before a revert that are read, the last first."""

MAX_COST = 12
"""The most that a call may differ from the first one."""

MAX_ITEMS = 4
"""Items of an array that a condition asks for."""

PAID_WEI = 10**12
"""What the first call of a payable function pays."""

PLENTY = 10**30
"""A balance or an allowance that lets every example go on, and adds up in 112 bits."""

ARGUMENT_COST, NEED_COST, STATE_COST = 2, 1, 3


class CheckKind(Enum):
    """How a contract decides who may call."""

    IDENTITY = "identity"
    """The caller is compared with an address."""

    MEMBERSHIP = "membership"
    """A value of the caller in storage is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessCheck:
    """A check of the caller on the way to a revert."""

    kind: CheckKind
    place: tuple[bytes, int]
    """Of the JUMPI: whose code, and the position in it."""

    is_taken: bool
    holder: int = 0
    """The address that the caller is compared with."""

    slot: tuple[Address, int] | None = None
    """The slot of that address, or of the caller's membership; None for a constant."""

    settings: tuple[int, ...] = ()
    """Values of the slot that may let the account pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A call of the function, and what it assumes."""

    values: tuple[object, ...]
    value_wei: int = 0
    needs: Overrides = ()
    """Balances and allowances that the account is given."""

    holdings: Overrides = ()
    """Items that the account is given, such as a token's owner."""

    state: Overrides = ()
    """What else is changed: a call with it is no example."""

    cost: int = 0


@dataclass(slots=True, kw_only=True)
class SearchResult:
    """What a search found."""

    success: tuple[Attempt, ProbeResult] | None = None
    """A call that ran, with `needs` and `holdings` at most."""

    hypothetical: tuple[Attempt, ProbeResult] | None = None
    """A call that ran in another state."""

    failures: list[tuple[Attempt, ProbeResult]] = field(default_factory=list)
    checks: list[tuple[AccessCheck, Attempt, ProbeResult]] = field(default_factory=list)
    amounts: set[tuple[Address, int]] = field(default_factory=set)
    """Slots of the caller that are balances or allowances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAddresses:
    """Addresses from which arguments are built."""

    accounts: tuple[Address, ...] = ()
    contracts: tuple[Address, ...] = ()


class CallSearch:
    """Searches the calls of one function for one account."""

    def __init__(
        self,
        prober: Prober,
        contract: Address,
        function: FunctionCapability,
        account: Address,
        known: KnownAddresses,
    ) -> None:
        """Search the calls of a function of a contract that an account can make."""
        self._prober, self._contract, self._function = prober, contract, function
        self._account, self._known = account, known
        self.types = tuple(parameter.abi_type for parameter in function.parameters)
        self.result = SearchResult()
        self._queue: list[tuple[int, int, Attempt]] = []
        self._seen: set[object] = set()
        self._order = 0
        self._checked: set[object] = set()

    def run(self) -> SearchResult:
        """Search until a call succeeds, nothing is left to try, or `MAX_PROBES` were made."""
        for attempt in self._build_first_attempts():
            self._push(attempt)
        left = MAX_PROBES
        while self._queue and left:
            left -= 1
            attempt = heapq.heappop(self._queue)[2]
            result = self.probe(attempt)
            if result is None:
                continue
            if result.is_success:
                if not attempt.state:
                    self.result.success = attempt, result
                    break
                if self.result.hypothetical is None:
                    self.result.hypothetical = attempt, result
                continue
            self.result.failures.append((attempt, result))
            if result.halt is not None and result.gas_used >= self._prober.gas:
                if len(self.result.failures) > 1:
                    break
                continue
            self._extend(attempt, result)
        return self.result

    def probe(
        self, attempt: Attempt, *, sender: Address | None = None, more: Overrides = ()
    ) -> ProbeResult | None:
        """Simulate an attempt; None if its values can't be encoded."""
        try:
            data = encode_arguments(self._function.selector, self.types, attempt.values)
        except (EncodingError, OverflowError, TypeError, ValueError):
            return None
        return self._prober.run(
            Probe(
                sender=self._account if sender is None else sender,
                to=self._contract,
                data=data,
                value_wei=attempt.value_wei,
                storage=(*attempt.needs, *attempt.holdings, *attempt.state, *more),
            )
        )

    # -- candidates -- #

    def _build_first_attempts(self) -> Iterator[Attempt]:
        own = to_hex_address(self._account)
        contracts = tuple(map(to_hex_address, self._known.contracts))
        others = [to_hex_address(each) for each in self._known.accounts if each != self._account]
        value_wei = PAID_WEI if self._function.is_payable else 0
        first = [Candidates(address=own, number=1, contracts=contracts[:1])]
        if any("[" in text for text in self.types) and len(contracts) > 1:
            first += [
                Candidates(address=own, number=1, contracts=pair, array_items=2)
                for pair in (contracts[:2], contracts[1::-1])
            ]
        first.append(Candidates(address=own, number=1_000_000, contracts=contracts[:1]))
        if others:
            first.append(Candidates(address=others[0], number=1, contracts=contracts[:1]))
        for cost, candidates in enumerate(first):
            values = tuple(build_value(text, candidates) for text in self.types)
            yield Attempt(values=values, value_wei=value_wei, cost=cost)

    def _push(self, attempt: Attempt) -> None:
        key = (attempt.values, attempt.value_wei, attempt.needs, attempt.holdings, attempt.state)
        if key in self._seen or attempt.cost > MAX_COST:
            return
        self._seen.add(key)
        self._order += 1
        heapq.heappush(self._queue, (attempt.cost, self._order, attempt))

    # -- what a revert proposes -- #

    def _extend(self, attempt: Attempt, result: ProbeResult) -> None:
        """Add the attempts that a revert proposes."""
        leaves = {leaf.offset: leaf for leaf in list_leaves(self.types, result.probe.data)}
        read: set[tuple[bytes, int]] = set()
        rank = 0
        for decision in reversed(result.tape.decisions):
            if decision.place in read:
                continue
            read.add(decision.place)
            for comparison in list_comparisons(decision.condition):
                self._note_check(decision, comparison, attempt, result)
                if rank < MAX_DECISIONS_READ:
                    for changed in self._change(attempt, comparison, leaves):
                        self._push(replace(changed, cost=changed.cost + rank // 2))
            rank += 1
        if any(call.value_wei for call in result.list_calls()) or attempt.value_wei:
            self._push(replace(attempt, value_wei=0, cost=attempt.cost + ARGUMENT_COST))

    def _change(
        self, attempt: Attempt, comparison: Comparison, leaves: dict[int, Leaf]
    ) -> Iterator[Attempt]:
        """Yield attempts in which a comparison may have another result."""
        if comparison.flags & CALLDATA_FLAG:
            yield from self._change_arguments(attempt, comparison, leaves)
        if comparison.flags & VALUE_FLAG:
            yield from self._change_value(attempt, comparison)
        if comparison.flags & STORAGE_FLAG:
            yield from self._change_storage(attempt, comparison)

    def _change_arguments(
        self, attempt: Attempt, comparison: Comparison, leaves: dict[int, Leaf]
    ) -> Iterator[Attempt]:
        for side, other in comparison.list_sides():
            for word in find_words(side):
                leaf = leaves.get(word.offset)
                if leaf is None:
                    continue
                for value in self._list_values(attempt, leaf, comparison, other):
                    try:
                        values = replace_at(attempt.values, leaf.path, value)
                    except (AssertionError, IndexError):
                        continue
                    yield replace(attempt, values=values, cost=attempt.cost + ARGUMENT_COST)

    def _list_values(
        self,
        attempt: Attempt,
        leaf: Leaf,
        comparison: Comparison,
        other: Expression | int,
    ) -> Iterator[object]:
        """Yield values of an argument that may change a comparison with another value."""
        bound = get_value(other)
        if leaf.is_length:
            yield from self._list_sized(attempt, leaf, comparison, bound)
        elif leaf.abi_type == "address":
            yield from self._list_addresses(other)
        elif leaf.abi_type == "bool":
            yield not get_at(attempt.values, leaf.path)
        elif leaf.abi_type.startswith(("uint", "int")):
            signed = bound - 2**256 if leaf.abi_type[0] == "i" and bound >> 255 else bound
            numbers = (signed, signed + 1, signed - 1, 0)
            if comparison.relation is Relation.TRUTH:
                numbers = (1, 0, 2, 100)
            yield from dict.fromkeys(fit_number(leaf.abi_type, number) for number in numbers)
        elif leaf.abi_type.startswith("bytes"):
            size = int(leaf.abi_type.removeprefix("bytes"))
            yield bound.to_bytes(32, "big")[:size]

    def _list_addresses(self, other: Expression | int) -> Iterator[str]:
        compared = get_value(other) & ADDRESS_MASK
        if compared:
            yield to_hex_address(compared)
        yield to_hex_address(self._account)
        for known in (*self._known.contracts, *self._known.accounts)[:MAX_ITEMS]:
            yield to_hex_address(known)

    def _list_sized(
        self, attempt: Attempt, leaf: Leaf, comparison: Comparison, bound: int
    ) -> Iterator[object]:
        """Yield arrays, bytes and texts of the lengths that a comparison may ask for."""
        value = get_at(attempt.values, leaf.path)
        for count in dict.fromkeys((bound, bound + 1, max(bound - 1, 0))):
            if count > (MAX_ITEMS if "[" in leaf.abi_type else 1_024):
                continue
            if isinstance(value, bytes):
                yield value[:count].ljust(count, b"\0")
            elif isinstance(value, str):
                yield value[:count].ljust(count, "a")
            elif leaf.abi_type == "address[]" and comparison.relation is not Relation.TRUTH:
                contracts = [*map(to_hex_address, self._known.contracts)]
                for turn in range(min(len(contracts), MAX_ITEMS)):
                    yield tuple((contracts[turn:] + contracts[:turn])[:count])
            else:
                item = leaf.abi_type[: leaf.abi_type.rindex("[")]
                filler = build_value(
                    item, Candidates(address=to_hex_address(self._account), number=1)
                )
                yield resize(value, count, filler)

    def _change_value(self, attempt: Attempt, comparison: Comparison) -> Iterator[Attempt]:
        if not self._function.is_payable:
            return
        bounds = [get_value(other) for _, other in comparison.list_sides()]
        for value_wei in dict.fromkeys((*bounds, *(each + 1 for each in bounds), PAID_WEI)):
            if value_wei <= PLENTY:
                cost = attempt.cost + ARGUMENT_COST
                yield replace(attempt, value_wei=min(value_wei, 10**23), cost=cost)

    def _change_storage(self, attempt: Attempt, comparison: Comparison) -> Iterator[Attempt]:
        for side, other in comparison.list_sides():
            keyed = find_keyed(side)
            if keyed is not None:
                if keyed.slot is not None and is_amount(comparison, keyed):
                    self.result.amounts.add(keyed.slot)
                    yield self._give(attempt, keyed.slot, side)
                continue
            stored = find_field(side)
            if stored is None:
                yield from self._raise_stored(attempt, comparison, side)
                continue
            if is_account(other):
                owned = stored.replace(int.from_bytes(self._account, "big"))
                entry = (stored.account, stored.slot, owned)
                if side.flags & CALLDATA_FLAG:
                    yield replace(
                        attempt,
                        holdings=_put(attempt.holdings, entry),
                        cost=attempt.cost + NEED_COST,
                    )
                continue
            for value in _list_flipped(comparison, stored.mask, stored.shift, stored.word, other):
                entry = (stored.account, stored.slot, stored.replace(value))
                yield replace(
                    attempt,
                    state=_put(attempt.state, entry),
                    cost=attempt.cost + STATE_COST,
                )

    def _give(self, attempt: Attempt, slot: tuple[Address, int], side: Expression) -> Attempt:
        """Return an attempt with plenty in a slot of the account."""
        stored = find_field(side)
        value = PLENTY
        if stored is not None and stored.mask != MAX_WORD:
            value = stored.replace(min(PLENTY, stored.mask >> 1))
        needs = _put(attempt.needs, (*slot, value))
        return replace(attempt, needs=needs, cost=attempt.cost + NEED_COST)

    def _raise_stored(
        self, attempt: Attempt, comparison: Comparison, side: Expression
    ) -> Iterator[Attempt]:
        """Yield attempts with other values of slots that a side was computed from."""
        if comparison.relation is not Relation.ORDER:
            return
        for stored in find_slots(side)[:1]:
            if stored.slot is not None and not stored.flags & KEYED_FLAG:
                entry = (*stored.slot, PLENTY)
                yield replace(
                    attempt,
                    state=_put(attempt.state, entry),
                    cost=attempt.cost + STATE_COST,
                )

    # -- checks of the caller -- #

    def _note_check(
        self, decision: Decision, comparison: Comparison, attempt: Attempt, result: ProbeResult
    ) -> None:
        check = find_check(decision, comparison)
        if check is None:
            return
        key = (check.kind, check.place, check.holder, check.slot)
        if key not in self._checked:
            self._checked.add(key)
            self.result.checks.append((check, attempt, result))


def find_check(decision: Decision, comparison: Comparison) -> AccessCheck | None:
    """Return the check of the caller that a comparison is; None if it is none."""
    for side, other in comparison.list_sides():
        if is_account(side) and comparison.relation is Relation.EQUAL:
            return _find_identity(decision, other)
        keyed = find_keyed(side)
        if keyed is not None and keyed.slot is not None and not is_amount(comparison, keyed):
            return AccessCheck(
                kind=CheckKind.MEMBERSHIP,
                place=decision.place,
                is_taken=decision.is_taken,
                slot=keyed.slot,
                settings=_list_settings(comparison, side, other, keyed),
            )
    return None


def _find_identity(decision: Decision, other: Expression | int) -> AccessCheck | None:
    """Return the comparison of the caller with an address that no argument chooses."""
    if get_flags(other) & CALLDATA_FLAG or is_account(other):
        return None
    stored = find_field(other)
    bare = strip(other)
    slot = None if stored is None else (stored.account, stored.slot)
    if slot is None and isinstance(bare, Expression) and bare.op == op.SLOAD:
        slot = bare.slot
    if slot is None and not get_value(other) & ADDRESS_MASK:
        return None  # A constant zero: no account is it.
    return AccessCheck(
        kind=CheckKind.IDENTITY,
        place=decision.place,
        is_taken=decision.is_taken,
        holder=get_value(other) & ADDRESS_MASK,
        slot=slot,
    )


def _list_settings(
    comparison: Comparison, side: Expression, other: Expression | int, keyed: Expression
) -> tuple[int, ...]:
    """Return values of a slot of the caller that may let it pass."""
    settings: list[int] = []
    stored = find_field(side)
    if stored is not None:
        wanted = get_value(other) if comparison.relation is Relation.EQUAL else 1
        settings += [stored.replace(wanted), stored.replace(MAX_WORD)]
    settings += [1, MAX_WORD, 0]
    return tuple(dict.fromkeys(value for value in settings if value != keyed.value))


def _list_flipped(
    comparison: Comparison, mask: int, shift: int, word: int, other: Expression | int
) -> list[int]:
    """Return values of a field that give a comparison another result."""
    current = word >> shift & mask
    bound = get_value(other)
    if comparison.relation is Relation.TRUTH:
        return [0] if current else [1]
    if comparison.relation is Relation.EQUAL:
        return [bound & mask] if current != bound & mask else [0 if bound else 1]
    return [bound & mask, 0 if current > bound else min(bound + 1, mask)]


def _put(overrides: Overrides, entry: tuple[Address, int, int]) -> Overrides:
    """Return overrides with one more; it replaces one of the same slot."""
    return (*(each for each in overrides if each[:2] != entry[:2]), entry)


def find_leaf(leaves: Sequence[Leaf], path: Path) -> Leaf | None:
    """Return the value at a path."""
    return next((leaf for leaf in leaves if leaf.path == path and not leaf.is_length), None)


def to_address(value: object) -> Address:
    """Return an address of an argument as bytes."""
    return Address(to_canonical_address(str(value)))

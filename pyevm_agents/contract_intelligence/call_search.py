"""Search for a call that succeeds, and for the checks that stop an account.

The conditions on the way of a reverted call show how the call could go on: with another argument,
another value, a balance or an allowance of the account, another state, or another caller. Each is
tried. Execution alone decides.
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

from precompiles.spec import SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.contract_intelligence.calldata_layout import (
    CalldataLeaf,
    Candidates,
    Path,
    build_value,
    can_build,
    encode_arguments,
    fit_number,
    get_at,
    list_leaves,
    replace_at,
    resize,
)
from pyevm_agents.contract_intelligence.caller_taint import (
    CALLDATA_FLAG,
    CALLS,
    ECRECOVER,
    KEYED_FLAG,
    OWNED_FLAG,
    SIGNATURE_FLAG,
    SIGNATURE_WORDS,
    STORAGE_FLAG,
    VALUE_FLAG,
    Expression,
)
from pyevm_agents.contract_intelligence.capabilities import ParameterRole
from pyevm_agents.contract_intelligence.conditions import (
    ADDRESS_MASK,
    MAX_WORD,
    Relation,
    ValueComparison,
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
from pyevm_agents.contract_intelligence.item_transfers import find_failed_transfers, give_items
from pyevm_agents.contract_intelligence.probe import CallProbe, to_hex_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyevm_agents.contract_intelligence.caller_taint import Decision
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability
    from pyevm_agents.contract_intelligence.probe import Overrides, Prober, ProbeResult

MAX_PROBES = 28
"""Probes of one function, without those of other callers."""

MAX_IDLE_PROBES = 12
"""Probes after the last one that came further."""

MAX_DECISIONS_READ = 16
"""Conditions before a revert that are read, the last first."""

MAX_COST = 12
"""The most that a call may differ from the first one."""

MAX_ITEMS = 4
"""Items of an array that a condition asks for."""

PAID_WEI = 10**12
"""What the first call of a payable function pays."""

PLENTY = 10**30
"""A balance or an allowance that lets every example go on, and adds up in 112 bits."""

ARGUMENT_COST, HOLDING_COST, LITTLE_COST, STATE_COST = 2, 1, 4, 3


ANY_SIGNATURE = (27, 1, 1)
"""v, r and s from which `ecrecover` computes some account, for every hash."""


class CheckKind(Enum):
    """How a contract decides which accounts may call."""

    IDENTITY = "identity"
    """The caller is compared with an address."""

    MEMBERSHIP = "membership"
    """A value of the caller in storage is read."""

    SIGNATURE = "signature"
    """The caller is compared with the account that signed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessCheck:
    """A check of the caller on the way to a revert."""

    kind: CheckKind
    place: tuple[Address, int]
    """Of the JUMPI: whose code, and the position in it."""

    is_taken: bool
    holder: int = 0
    """The address that the caller is compared with."""

    slot: tuple[Address, int] | None = None
    """The slot of that address, or of the caller's membership; None for a constant."""

    settings: tuple[int, ...] = ()
    """Values of the slot that may let the account pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAttempt:
    """A call of the function, with the state that the call assumes."""

    values: tuple[object, ...]
    value_wei: int = 0
    needs: Overrides = ()
    """Balances and allowances that the account is given."""

    holdings: Overrides = ()
    """Items that the account is given, such as a token's owner."""

    state: Overrides = ()
    """What else is changed: a call with it is no example."""

    cost: int = 0
    change: tuple[Path, object] | None = None
    """The argument that differs from that of the attempt before."""

    origin: tuple[object, ...] = ()
    """Where the attempt before failed."""

    def with_value(self, path: Path, value: object) -> CallAttempt:
        """Return the attempt with another argument, or another item of one."""
        return replace(self, values=replace_at(self.values, path, value))


@dataclass(slots=True, kw_only=True)
class SearchResult:
    """The calls that a search found."""

    success: tuple[CallAttempt, ProbeResult] | None = None
    """A call that ran, with `needs` and `holdings` at most."""

    hypothetical: tuple[CallAttempt, ProbeResult] | None = None
    """A call that ran in another state."""

    failures: list[tuple[CallAttempt, ProbeResult]] = field(default_factory=list)
    checks: list[tuple[AccessCheck, CallAttempt, ProbeResult]] = field(default_factory=list)
    amounts: set[tuple[Address, int]] = field(default_factory=set)
    """Slots of the caller that are balances or allowances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAddresses:
    """Addresses from which arguments are built."""

    accounts: tuple[Address, ...] = ()
    contracts: tuple[Address, ...] = ()
    flags: frozenset[tuple[Address, int]] = frozenset()
    """Slots of the account that are known to be true or false."""

    words: tuple[bytes, ...] = ()
    """Words of 32 bytes that the contract's getters and logs have, such as names of roles."""

    selectors: tuple[bytes, ...] = ()
    """Words of four bytes that the contract's logs have."""


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
        self.prober, self._contract, self.function = prober, contract, function
        self._account, self.known = account, known
        self.types = tuple(parameter.abi_type for parameter in function.parameters)
        self.result = SearchResult()
        self._queue: list[tuple[int, int, CallAttempt]] = []
        self._costs: dict[object, int] = {}
        """Attempts that wait or were made, and their least cost."""

        self._made: set[object] = set()
        self._order = 0
        self._checked: set[object] = set()
        self._places: dict[object, int] = {}
        """How many attempts failed at a place."""

        self._failed: dict[object, list[CallAttempt]] = {}
        """Attempts by the place where they failed."""

        self._remedies: dict[object, tuple[Path, object]] = {}
        """The argument that let an attempt come further, by the place where others failed."""

        self._idle = 0
        """Attempts since one came further."""

    @property
    def known_contracts(self) -> tuple[Address, ...]:
        """Other contracts, from which arguments are built."""
        return self.known.contracts

    def run(self) -> SearchResult:
        """Search until a call succeeds, nothing is left to try, or `MAX_PROBES` were made."""
        for attempt in self._build_first_attempts():
            self._push(attempt)
        left = MAX_PROBES
        while self._queue and left and self._idle < MAX_IDLE_PROBES:
            attempt = heapq.heappop(self._queue)[2]
            if _get_key(attempt) in self._made:
                continue
            self._made.add(_get_key(attempt))
            left -= 1
            if self._try(attempt):
                break
        return self.result

    def _try(self, attempt: CallAttempt) -> bool:
        """Make an attempt; return whether the search ends."""
        result = self.probe(attempt)
        if result is None:
            return False
        if not result.is_success:
            self.result.failures.append((attempt, result))
            if self.prober.is_endless(result):
                return True
            self._extend(self._rate(attempt, result), result)
        elif not attempt.state:
            self.result.success = attempt, result
            return True
        elif self.result.hypothetical is None:
            self.result.hypothetical = attempt, result
        return False

    def _rate(self, attempt: CallAttempt, result: ProbeResult) -> CallAttempt:
        """Return a failed attempt with the cost of the attempts that follow.

        One that failed where none did before has come further, and is continued first.
        """
        place = (*result.failure_place, _find_last_slots(result))
        visits = self._places[place] = self._places.get(place, 0) + 1
        self._idle = 0 if visits == 1 else self._idle + 1
        if visits == 1 and attempt.change is not None:
            self._learn(attempt.origin, attempt.change)
        self._failed.setdefault(place, []).append(attempt)
        cost = STATE_COST * len(attempt.state) if visits == 1 else attempt.cost + visits
        return replace(attempt, cost=cost, change=None, origin=place)

    def _learn(self, place: tuple[object, ...], change: tuple[Path, object]) -> None:
        """Keep the argument that let an attempt go on; apply that to attempts that failed there."""
        if self._remedies.setdefault(place, change) is not change:
            return
        for attempt in self._failed.get(place, ()):
            if self._is_new(attempt, *change):
                self._push(replace(attempt.with_value(*change), cost=min(attempt.cost, 1)))

    def probe(
        self, attempt: CallAttempt, *, sender: Address | None = None, more: Overrides = ()
    ) -> ProbeResult | None:
        """Simulate an attempt; None if the values can't be encoded."""
        try:
            data = encode_arguments(self.function.selector, self.types, attempt.values)
        except (EncodingError, OverflowError, TypeError, ValueError):
            return None
        return self.prober.run(
            CallProbe(
                sender=self._account if sender is None else sender,
                to=self._contract,
                data=data,
                value_wei=attempt.value_wei,
                storage=(*attempt.needs, *attempt.holdings, *attempt.state, *more),
            )
        )

    # -- candidates -- #

    def _build_first_attempts(self) -> Iterator[CallAttempt]:
        if not can_build(self.types):
            return
        own = to_hex_address(self._account)
        contracts = tuple(map(to_hex_address, self.known.contracts))
        others = [to_hex_address(each) for each in self.known.accounts if each != self._account]
        numbers = (1, 1_000_000)
        if sum(text == "uint256" for text in self.types) > 1:  # Amounts, more often than IDs.
            numbers = (1_000_000, 1)
        first = [Candidates(address=own, number=numbers[0], contracts=contracts[:1])]
        if any("[" in text for text in self.types) and len(contracts) > 1:
            first += [
                Candidates(address=own, number=numbers[0], contracts=pair, array_items=2)
                for pair in (contracts[:2], contracts[1::-1])
            ]
        first.append(Candidates(address=own, number=numbers[1], contracts=contracts[:1]))
        if others:
            first.append(Candidates(address=others[0], number=numbers[0], contracts=contracts[:1]))
        value_wei = PAID_WEI if self.function.is_payable else 0
        for cost, candidates in enumerate(first):
            yield CallAttempt(values=self._fill(candidates), value_wei=value_wei, cost=cost)
        yield from self._build_mixed(contracts, first[0], value_wei)

    def _fill(self, candidates: Candidates) -> tuple[object, ...]:
        """Return arguments of candidates. A least output is low: tokens have other units."""
        return tuple(
            build_value(
                parameter.abi_type,
                replace(candidates, number=1)
                if parameter.role is ParameterRole.MINIMUM
                else candidates,
            )
            for parameter in self.function.parameters
        )

    def _build_mixed(
        self, contracts: Sequence[str], candidates: Candidates, value_wei: int
    ) -> Iterator[CallAttempt]:
        """Yield an attempt with contracts for all parameters of addresses but the last.

        A single address beside bytes may be that of a contract to call.
        """
        places = [index for index, text in enumerate(self.types) if text == "address"]
        if len(places) > 1 or "bytes" not in self.types:
            places = places[:-1]
        if places and contracts:
            values = [build_value(text, candidates) for text in self.types]
            for place, contract in zip(places, contracts, strict=False):
                values[place] = contract
            yield CallAttempt(values=tuple(values), value_wei=value_wei, cost=1)

    def _push(self, attempt: CallAttempt) -> None:
        key = _get_key(attempt)
        if attempt.cost > MAX_COST or self._costs.get(key, MAX_COST + 1) <= attempt.cost:
            return
        self._costs[key] = attempt.cost
        self._order += 1
        heapq.heappush(self._queue, (attempt.cost, self._order, attempt))

    def _is_new(self, attempt: CallAttempt, path: Path, value: object) -> bool:
        """Whether an attempt with another argument was not made before."""
        try:
            changed = attempt.with_value(path, value)
        except (AssertionError, IndexError):
            return False
        return _get_key(changed) not in self._made

    # -- what a revert proposes -- #

    def _extend(self, attempt: CallAttempt, result: ProbeResult) -> None:
        """Add the attempts that a revert proposes.

        An argument that let another attempt come further is tried alone.
        """
        for given in self._give_transferred(attempt, result):
            self._push(given)
        remedy = self._remedies.get(attempt.origin)
        if remedy is not None and self._is_new(attempt, *remedy):
            self._push(replace(attempt.with_value(*remedy), cost=min(attempt.cost, 1)))
            return
        leaves = self._map_leaves(result)
        for rank, decision in enumerate(_list_latest(result)):
            for comparison in list_comparisons(decision.condition):
                self._note_check(decision, comparison, attempt, result)
                if rank < MAX_DECISIONS_READ:
                    self._push_changed(attempt, comparison, leaves, rank)
        if any(call.value_wei for call in result.list_calls()) or attempt.value_wei:
            self._push(replace(attempt, value_wei=0, cost=attempt.cost + ARGUMENT_COST))

    def _push_changed(
        self,
        attempt: CallAttempt,
        comparison: ValueComparison,
        leaves: dict[int, CalldataLeaf],
        rank: int,
    ) -> None:
        for changed in self._change(attempt, comparison, leaves):
            if changed.needs != attempt.needs:  # Never in vain: it comes first.
                self._push(changed)
            else:
                self._push(replace(changed, cost=changed.cost + rank))

    def _change(
        self, attempt: CallAttempt, comparison: ValueComparison, leaves: dict[int, CalldataLeaf]
    ) -> Iterator[CallAttempt]:
        """Yield attempts in which a comparison may have another result."""
        if comparison.flags & SIGNATURE_FLAG:
            yield from self._sign(attempt, comparison, leaves)
        elif comparison.flags & CALLDATA_FLAG:
            yield from self._change_arguments(attempt, comparison, leaves)
        if comparison.flags & VALUE_FLAG:
            yield from self._change_value(attempt, comparison)
        if comparison.flags & STORAGE_FLAG:
            yield from self._change_storage(attempt, comparison)

    def propose_arguments(
        self, attempt: CallAttempt, before: ProbeResult, result: ProbeResult
    ) -> Iterator[CallAttempt]:
        """Yield attempts with other arguments, which the last conditions of a result propose.

        Conditions that the result before met as well propose nothing.
        """
        leaves = self._map_leaves(result)
        for decision in _list_latest(result)[:MAX_DECISIONS_READ]:
            if before.tape.jumps.get(decision.place) == decision.is_taken:
                continue
            for comparison in list_comparisons(decision.condition):
                if comparison.flags & CALLDATA_FLAG:
                    yield from self._change_arguments(attempt, comparison, leaves)

    def _map_leaves(self, result: ProbeResult) -> dict[int, CalldataLeaf]:
        return {leaf.offset: leaf for leaf in list_leaves(self.types, result.probe.data)}

    def _sign(
        self, attempt: CallAttempt, comparison: ValueComparison, leaves: dict[int, CalldataLeaf]
    ) -> Iterator[CallAttempt]:
        """Yield an attempt with a signature that some account could have made."""
        for side, _ in comparison.list_sides():
            signer = strip(side)
            if isinstance(signer, Expression) and signer.op in CALLS:
                values = put_signature(attempt.values, signer, leaves, ANY_SIGNATURE)
                yield replace(attempt, values=values, cost=attempt.cost + ARGUMENT_COST)

    def sign(
        self, attempt: CallAttempt, signer: Address, sign: Callable[[bytes], tuple[int, int, int]]
    ) -> CallAttempt | None:
        """Return an attempt with another account's signature; None if no signature is checked.

        Input: sign: returns v, r and s for a hash.
        """
        result = self.probe(attempt, sender=signer)
        if result is None:
            return None
        for call in reversed(result.list_calls()):
            if call.code_account == ECRECOVER:
                words = [
                    call.data_taint.read(WORD_BYTES * place) or 0
                    for place in range(SIGNATURE_WORDS)
                ]
                made = Expression(call.kind, words)
                leaves = self._map_leaves(result)
                digest = call.data[:WORD_BYTES].ljust(WORD_BYTES, b"\0")
                values = put_signature(attempt.values, made, leaves, sign(digest))
                return replace(attempt, values=values)
        return None

    def _change_arguments(
        self, attempt: CallAttempt, comparison: ValueComparison, leaves: dict[int, CalldataLeaf]
    ) -> Iterator[CallAttempt]:
        for side, other in comparison.list_sides():
            for word in find_words(side):
                leaf = leaves.get(word.offset)
                if leaf is None:
                    continue
                for value in self._list_values(attempt, leaf, comparison, other):
                    try:
                        changed = attempt.with_value(leaf.path, value)
                    except (AssertionError, IndexError):
                        continue
                    yield replace(
                        changed,
                        cost=attempt.cost + ARGUMENT_COST,
                        change=(leaf.path, value),
                    )

    def _list_values(
        self,
        attempt: CallAttempt,
        leaf: CalldataLeaf,
        comparison: ValueComparison,
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
            current = get_at(attempt.values, leaf.path)
            numbers = _list_numbers(leaf, comparison, bound, current)
            yield from dict.fromkeys(fit_number(leaf.abi_type, number) for number in numbers)
        elif leaf.abi_type.startswith("bytes"):
            size = int(leaf.abi_type.removeprefix("bytes"))
            words = (bound.to_bytes(32, "big"), *self.known.words[: 2 * MAX_ITEMS])
            yield from dict.fromkeys(word[:size] for word in words)

    def _list_addresses(self, other: Expression | int) -> Iterator[str]:
        compared = get_value(other) & ADDRESS_MASK
        if compared:
            yield to_hex_address(compared)
        yield to_hex_address(self._account)
        for known in (*self.known.contracts, *self.known.accounts)[:MAX_ITEMS]:
            yield to_hex_address(known)

    def _list_sized(
        self, attempt: CallAttempt, leaf: CalldataLeaf, comparison: ValueComparison, bound: int
    ) -> Iterator[object]:
        """Yield arrays, bytes and texts of the lengths that a comparison may ask for."""
        value = get_at(attempt.values, leaf.path)
        for count in dict.fromkeys((bound, bound + 1, max(bound - 1, 0))):
            if count > (MAX_ITEMS if "[" in leaf.abi_type else 1_024):
                continue
            if isinstance(value, bytes):
                yield from self._list_bytes(value, count)
            elif isinstance(value, str):
                yield value[:count].ljust(count, "a")
            elif leaf.abi_type == "address[]" and comparison.relation is not Relation.TRUTH:
                contracts = [*map(to_hex_address, self.known.contracts)]
                for turn in range(min(len(contracts), MAX_ITEMS)):
                    yield tuple((contracts[turn:] + contracts[:turn])[:count])
            else:
                item = leaf.abi_type[: leaf.abi_type.rindex("[")]
                filler = build_value(
                    item, Candidates(address=to_hex_address(self._account), number=1)
                )
                yield resize(value, count, filler)

    def _list_bytes(self, value: bytes, count: int) -> Iterator[bytes]:
        """Yield bytes of a length: calls that the contract's logs name, and zeros."""
        if count >= SELECTOR_BYTES:
            for selector in self.known.selectors[:MAX_ITEMS]:
                yield selector.ljust(count, b"\0")
        yield value[:count].ljust(count, b"\0")

    def _change_value(
        self, attempt: CallAttempt, comparison: ValueComparison
    ) -> Iterator[CallAttempt]:
        if not self.function.is_payable:
            return
        bounds = [get_value(other) for _, other in comparison.list_sides()]
        for value_wei in dict.fromkeys((*bounds, *(each + 1 for each in bounds), PAID_WEI)):
            if value_wei <= PLENTY:
                cost = attempt.cost + ARGUMENT_COST
                yield replace(attempt, value_wei=min(value_wei, 10**23), cost=cost)

    def _change_storage(
        self, attempt: CallAttempt, comparison: ValueComparison
    ) -> Iterator[CallAttempt]:
        for side, other in comparison.list_sides():
            keyed = find_keyed(side)
            owned = next((each for each in find_slots(side) if each.flags & OWNED_FLAG), None)
            if keyed is not None:
                if keyed.slot is not None and self._is_amount(comparison, keyed):
                    self.result.amounts.add(keyed.slot)
                    yield from self._give(attempt, keyed.slot, side)
            elif owned is not None and owned.slot is not None and is_amount(comparison, owned):
                yield from self._give(attempt, owned.slot, side)
            elif find_field(side) is None:
                yield from self._raise_stored(attempt, comparison, side)
            elif is_account(other):
                yield from self._give_item(attempt, side)
            else:
                yield from self._set_stored(attempt, comparison, side, other)

    def _is_amount(self, comparison: ValueComparison, keyed: Expression) -> bool:
        return keyed.slot not in self.known.flags and is_amount(comparison, keyed)

    def _give_item(self, attempt: CallAttempt, side: Expression) -> Iterator[CallAttempt]:
        """Yield an attempt in which the account has an item that an argument names."""
        stored = find_field(side)
        if stored is not None and side.flags & CALLDATA_FLAG:
            word = stored.replace(int.from_bytes(self._account, "big"))
            holdings = _put(attempt.holdings, (stored.account, stored.slot, word))
            yield replace(
                attempt,
                holdings=holdings,
                state=_leave_out(attempt.state, holdings),
                cost=attempt.cost + HOLDING_COST,
            )

    def _give_transferred(self, attempt: CallAttempt, result: ProbeResult) -> Iterator[CallAttempt]:
        """Yield an attempt in which the account has, and approves, the items of a transfer."""
        holdings, needs = attempt.holdings, attempt.needs
        for transfer in find_failed_transfers(result, self._account):
            given, approved = give_items(self.prober, self._account, transfer)
            for entry in given:
                holdings = _put(holdings, entry)
            for entry in approved:
                needs = _put(needs, entry)
        if (holdings, needs) != (attempt.holdings, attempt.needs):
            state = _leave_out(attempt.state, (*holdings, *needs))
            yield replace(attempt, holdings=holdings, needs=needs, state=state)

    def _set_stored(
        self,
        attempt: CallAttempt,
        comparison: ValueComparison,
        side: Expression,
        other: Expression | int,
    ) -> Iterator[CallAttempt]:
        """Yield attempts with another state."""
        stored = find_field(side)
        if stored is None:
            return
        for value in _list_flipped(comparison, stored.mask, stored.shift, stored.word, other):
            entry = (stored.account, stored.slot, stored.replace(value))
            state = _put(attempt.state, entry)
            yield replace(attempt, state=state, cost=attempt.cost + STATE_COST)

    def _give(
        self, attempt: CallAttempt, slot: tuple[Address, int], side: Expression
    ) -> Iterator[CallAttempt]:
        """Yield attempts with plenty in a slot of the account, and with little."""
        stored = find_field(side)
        for amount, cost in ((PLENTY, 0), (1, LITTLE_COST)):
            value = amount
            if stored is not None and stored.mask != MAX_WORD:
                value = stored.replace(min(amount, stored.mask >> 1))
            needs = _put(attempt.needs, (*slot, value))
            yield replace(attempt, needs=needs, cost=attempt.cost + cost)

    def _raise_stored(
        self, attempt: CallAttempt, comparison: ValueComparison, side: Expression
    ) -> Iterator[CallAttempt]:
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
        self,
        decision: Decision,
        comparison: ValueComparison,
        attempt: CallAttempt,
        result: ProbeResult,
    ) -> None:
        check = find_check(decision, comparison, self.known.flags)
        if check is None:
            return
        key = (check.kind, check.place, check.holder, check.slot)
        if key not in self._checked:
            self._checked.add(key)
            self.result.checks.append((check, attempt, result))


def propose_settings(slot: tuple[Address, int], result: ProbeResult) -> Iterator[int]:
    """Yield values of a slot that give the last comparisons of the slot's parts another result."""
    for decision in _list_latest(result)[:MAX_DECISIONS_READ]:
        for comparison in list_comparisons(decision.condition):
            for side, other in comparison.list_sides():
                stored = find_field(side)
                if stored is None or (stored.account, stored.slot) != slot:
                    continue
                for value in _list_flipped(
                    comparison, stored.mask, stored.shift, stored.word, other
                ):
                    yield stored.replace(value)


def _list_latest(result: ProbeResult) -> list[Decision]:
    """Return the last decision at each place, the latest first."""
    latest: dict[tuple[Address, int], Decision] = {}
    for decision in reversed(result.tape.decisions):
        latest.setdefault(decision.place, decision)
    return list(latest.values())


def _find_last_slots(result: ProbeResult) -> tuple[object, ...]:
    """Return the slots of the last condition that reads slots.

    The slots distinguish failures at one place, such as those of a library for numbers.
    """
    for decision in reversed(result.tape.decisions):
        if decision.condition.flags & (STORAGE_FLAG | CALLDATA_FLAG):
            return tuple(each.slot for each in find_slots(decision.condition))
    return ()


def _get_key(attempt: CallAttempt) -> tuple[object, ...]:
    """Return what distinguishes an attempt from others."""
    return attempt.values, attempt.value_wei, attempt.needs, attempt.holdings, attempt.state


def put_signature(
    values: tuple[object, ...],
    signer: Expression,
    leaves: dict[int, CalldataLeaf],
    signature: tuple[int, int, int],
) -> tuple[object, ...]:
    """Return arguments with v, r and s where `ecrecover` reads."""
    for operand, number in zip(signer.operands[1:], signature, strict=True):
        for word in find_words(operand)[-1:]:
            leaf = leaves.get(word.offset)
            if leaf is None or leaf.is_length:
                continue
            is_number = leaf.abi_type.startswith("uint")
            value = fit_number(leaf.abi_type, number) if is_number else number.to_bytes(32, "big")
            values = replace_at(values, leaf.path, value)
    return values


def find_check(
    decision: Decision,
    comparison: ValueComparison,
    flags: frozenset[tuple[Address, int]] = frozenset(),
) -> AccessCheck | None:
    """Return the check of the caller that a comparison is; None for another comparison.

    Input: flags: slots of the account that are known to be true or false.
    """
    for side, other in comparison.list_sides():
        if is_account(side) and comparison.relation is Relation.EQUAL:
            return _find_identity(decision, other)
        keyed = find_keyed(side)
        if keyed is None or keyed.slot is None:
            continue
        if keyed.slot in flags or not is_amount(comparison, keyed):
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
    if get_flags(other) & SIGNATURE_FLAG:
        return AccessCheck(
            kind=CheckKind.SIGNATURE, place=decision.place, is_taken=decision.is_taken
        )
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
    comparison: ValueComparison, side: Expression, other: Expression | int, keyed: Expression
) -> tuple[int, ...]:
    """Return values of a slot of the caller that may let the caller pass."""
    settings: list[int] = []
    stored = find_field(side)
    if stored is not None:
        wanted = get_value(other) if comparison.relation is Relation.EQUAL else 1
        others = MAX_WORD & ~(stored.mask << stored.shift)
        settings += [
            stored.replace(wanted),
            stored.replace(MAX_WORD),
            stored.replace(wanted) | others,
        ]
    settings += [1, MAX_WORD, 0]
    return tuple(dict.fromkeys(value for value in settings if value != keyed.value))


def _list_numbers(
    leaf: CalldataLeaf, comparison: ValueComparison, bound: int, current: object
) -> tuple[int, ...]:
    """Return numbers that give a comparison with a bound another result."""
    if leaf.abi_type.startswith("int") and bound >> 255:
        bound -= 2**256
    match comparison.relation:
        case Relation.TRUTH:
            return (1, 2, 100) if current == 0 else (0,)
        case Relation.EQUAL:
            return (bound, bound + 1)
        case _:
            is_below = isinstance(current, int) and current < bound
            return (bound, bound + 1) if is_below else (bound, bound - 1)


def _list_flipped(
    comparison: ValueComparison, mask: int, shift: int, word: int, other: Expression | int
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
    """Return overrides with one more, which replaces one of the same slot."""
    return (*(each for each in overrides if each[:2] != entry[:2]), entry)


def _leave_out(overrides: Overrides, others: Overrides) -> Overrides:
    """Return overrides without those of slots that others have."""
    slots = {entry[:2] for entry in others}
    return tuple(entry for entry in overrides if entry[:2] not in slots)


def find_leaf(leaves: Sequence[CalldataLeaf], path: Path) -> CalldataLeaf | None:
    """Return the value at a path."""
    return next((leaf for leaf in leaves if leaf.path == path and not leaf.is_length), None)


def to_address(value: object) -> Address:
    """Return an address of an argument as bytes."""
    return Address(to_canonical_address(str(value)))

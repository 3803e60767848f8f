"""Differences between a request and the effects of its run: amounts and accounts.

An amount or an account of a transfer that the request does not state; one of the request
that nothing uses.

    find_differences("Send 5 USDC to Bob", effects, names, units)
    # "moves 6 USDC to 0x…: the request states no such amount"

The check knows nothing of the model and of the rules for the model's text. A text is compared with
transfers, so the check holds for every model. Verbs are not compared: a request that is declined
without need, or a deposit in place of a payment to the same account, agree with it.

Compared are the transfers that leave the agent's accounts, or the asker's, for another account. A
contract that the run called may receive transfers unnamed, as a pool does, unless the model chose
that address as an argument. One that passes all on to accounts of the request, or of the arguments,
is left out: the transfers from there are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

from eth.constants import ZERO_ADDRESS
from eth_utils import to_canonical_address, to_checksum_address

from precompiles.escaping import ADDRESS
from pyevm_agents.agents.asset_moves import NATIVE_SCALE, UNLIMITED, TokenScale, format_units
from pyevm_agents.agents.request_reading import PERCENT, read_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eth_typing import Address

    from pyevm_agents.agents.asset_moves import TokenApproval, Transfer
    from pyevm_agents.agents.request_reading import (
        AmountUnit,
        NamedAccount,
        RequestReading,
        StatedQuantity,
    )

MAX_REQUEST_CHARACTERS = 4_096
"""A longer request is not compared: no person compares it either."""

MAX_DIFFERENCES = 32

TIME_UNITS = (1, 60, 3_600, 86_400, 604_800)
"""Seconds of the units of time, for arguments: `3 days` is 259200."""

PERCENT_SCALES = (Fraction(1), Fraction(100), Fraction(1, 100))
"""An argument for 5 %: 5, 500 basis points."""

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)", re.ASCII)


class DifferenceKind(Enum):
    """Kinds of differences; the values are those of JSON."""

    UNSTATED_AMOUNT = "unstatedAmount"
    UNNAMED_ACCOUNT = "unnamedAccount"
    OTHER_PAIR = "otherPair"
    """Amounts and accounts agree, but not with each other."""

    APPROVAL = "approval"
    """An approval that the request does not state stays."""

    UNUSED_AMOUNT = "unusedAmount"
    UNUSED_ACCOUNT = "unusedAccount"
    NO_ORDER = "noOrder"
    """Assets move, and the request may be no order to move them."""

    NOT_COMPARED = "notCompared"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDifference:
    """A difference between a request and the run."""

    kind: DifferenceKind
    text: str
    """A sentence without its end, with checksummed addresses. It quotes the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEffects:
    """Effects of a run."""

    accounts: frozenset[Address]
    """The agent, its tools and the accounts that they act through."""

    asker: Address
    """The sender of the transaction."""

    transfers: Sequence[Transfer] = ()
    """In order."""

    approvals: Sequence[TokenApproval] = ()
    arguments: Sequence[object] = ()
    """The tools' arguments, as JSON values: objects, lists, numbers, strings."""

    calls: frozenset[tuple[Address, Address]] = frozenset()
    """(caller, callee) of each call with calldata that may change state."""

    contacts: frozenset[Address] = frozenset()
    """Every account that is called, read or not."""

    balances: Mapping[tuple[Address, Address | None], int] = field(default_factory=dict)
    """Balances before the run by holder and token; None for the native currency."""

    tokens: Mapping[Address | None, TokenScale] = field(default_factory=dict)
    """Symbol and decimals of tokens."""


def find_differences(
    request: str, effects: RunEffects, names: Mapping[str, Address], units: Mapping[str, AmountUnit]
) -> tuple[RequestDifference, ...]:
    """Return the differences between a request and the effects of the run.

    Input:
        request: the text.
        effects: of the run.
        names: the addresses of the names that the agent knows.
        units: the units by symbol, the native currency's included.

    Output: at most `MAX_DIFFERENCES`, those of transfers first; empty if both agree.
    """
    if len(request) > MAX_REQUEST_CHARACTERS:
        text = f"the request is longer than {MAX_REQUEST_CHARACTERS:,} characters: not compared"
        return (RequestDifference(kind=DifferenceKind.NOT_COMPARED, text=text),)
    return _Check(read_request(request, names, units), effects, units).run()


class _Check:
    """One comparison. A quantity of the request is marked as used where an effect matches."""

    def __init__(
        self, reading: RequestReading, effects: RunEffects, units: Mapping[str, AmountUnit]
    ) -> None:
        self._reading, self._effects = reading, effects
        payers = effects.accounts | {effects.asker}
        self._named = frozenset(
            each.address for each in reading.names if each.is_party and each.address is not None
        )
        self._arguments = _Arguments(effects.arguments)
        self._forwarded: set[Address] = set()
        """Accounts that a contract passes assets on to, and that nobody chose as an argument."""

        self._outs = self._pass_on(
            [
                each
                for each in effects.transfers
                if each.sender in payers
                and each.receiver not in effects.accounts
                and each.sender != each.receiver
            ]
        )
        self._ins = [
            each
            for each in effects.transfers
            if each.receiver in effects.accounts and each.sender not in payers
        ]
        self._approvals = [each for each in effects.approvals if each.owner in payers]
        self._scales = {1, *(unit.base_units for unit in units.values())}
        self._used: dict[int, set[Address]] = {}
        """The receivers of a quantity's transfers, by its index; empty for another use."""

        self._found: list[RequestDifference] = []

    def run(self) -> tuple[RequestDifference, ...]:
        for token in dict.fromkeys(each.token for each in self._fungible(self._ins)):
            self._use_incoming(token)
        # What a contract takes back for a stated amount, as a vault does its shares.
        is_redeemed = bool(self._used)
        for token in dict.fromkeys(each.token for each in self._fungible(self._outs)):
            self._check_amounts(token, is_redeemed=is_redeemed)
        self._check_items()
        self._check_receivers()
        self._check_pairs()
        self._check_approvals()
        self._use_arguments()
        self._check_unused()
        if self._reading.doubts and (self._outs or self._approvals):
            doubts = " and ".join(
                each if each.startswith("a ") else f'"{each}"' for each in self._reading.doubts
            )
            self._add(DifferenceKind.NO_ORDER, f"the request has {doubts}: it may be no order")
        return tuple(dict.fromkeys(self._found))[:MAX_DIFFERENCES]

    def _add(self, kind: DifferenceKind, text: str) -> None:
        self._found.append(RequestDifference(kind=kind, text=text))

    def _pass_on(self, outs: list[Transfer]) -> list[Transfer]:
        """Replace transfers to a contract that keeps nothing by the contract's own transfers."""
        chosen = self._named | self._arguments.addresses
        found: list[Transfer] = []
        for token, middle in dict.fromkeys((each.token, each.receiver) for each in outs):
            moves = [each for each in self._effects.transfers if each.token == token]
            onward = [each for each in moves if each.sender == middle]
            received = sum(each.amount for each in moves if each.receiver == middle)
            is_middle = self._is_called(middle, token) and received == sum(
                each.amount for each in onward
            )
            if is_middle and any(each.receiver in chosen for each in onward):
                found += onward
                self._forwarded |= {each.receiver for each in onward} - self._arguments.addresses
            else:
                found += [each for each in outs if (each.token, each.receiver) == (token, middle)]
        return found

    @staticmethod
    def _fungible(moves: Iterable[Transfer]) -> Iterator[Transfer]:
        return (each for each in moves if each.standard in {"native", "erc20"})

    # -- amounts -- #

    def _states(self, quantity: StatedQuantity, amount: int, token: Address | None) -> bool:
        """Whether a quantity states an amount of a token."""
        if quantity.other_unit or (quantity.unit is not None and quantity.unit.token != token):
            return False
        return self._scale(quantity, token) == amount

    def _scale(self, quantity: StatedQuantity, token: Address | None) -> Fraction:
        """Return the base units of a quantity of a token."""
        if quantity.unit is not None:
            return quantity.value * quantity.unit.base_units
        scale: int = 1 if quantity.is_base_units else 10 ** self._get_decimals(token)
        return quantity.value * scale

    def _use(
        self, amount: int, token: Address | None, may: Callable[[int], bool], by: Address | None
    ) -> bool:
        """Mark the first quantity that states an amount and may be used; return whether one does.

        Input:  may: whether the quantity of an index may; by: the receiver of a transfer.
        """
        for index, quantity in enumerate(self._reading.quantities):
            if may(index) and self._states(quantity, amount, token):
                self._used.setdefault(index, set()).update(() if by is None else (by,))
                return True
        return False

    def _is_open(self, index: int) -> bool:
        return index not in self._used

    def _use_incoming(self, token: Address | None) -> None:
        """Mark the quantities that come in: one by one, or in sum."""
        amounts = [each.amount for each in self._fungible(self._ins) if each.token == token]
        for amount in (*amounts, sum(amounts)):
            self._use(amount, token, self._is_open, None)

    def _check_amounts(self, token: Address | None, *, is_redeemed: bool) -> None:
        """Find the transfers of a token whose amount is not stated: alone, in sum, or net.

        Input:  is_redeemed: whether a stated amount comes in, so that tokens may be burned for it.
        """
        moves = [each for each in self._fungible(self._outs) if each.token == token and each.amount]
        rest = [each for each in moves if not self._is_stated(each)]
        if not rest:
            return
        got = sum(each.amount for each in self._fungible(self._ins) if each.token == token)
        total = sum(each.amount for each in moves)
        sums = (sum(each.amount for each in rest), total, total - got)
        if any(self._use(amount, token, self._is_open, None) for amount in sums if amount > 0):
            return
        if self._use_all(sums[0], token):
            return
        for move in rest:
            if move.receiver == ZERO_ADDRESS and is_redeemed:
                continue
            again = self._use(move.amount, token, lambda _: True, None)
            reason = "the request states it once" if again else "the request states no such amount"
            text = f"moves {self._format(move)} to {_show(move.receiver)}"
            self._add(DifferenceKind.UNSTATED_AMOUNT, f"{text}{' once more' * again}: {reason}")

    def _use_all(self, amount: int, token: Address | None) -> bool:
        """Mark all open quantities of a token, if the sum is the amount."""
        found = [
            index
            for index, quantity in enumerate(self._reading.quantities)
            if self._is_open(index)
            and not quantity.other_unit
            and (quantity.unit is None or quantity.unit.token == token)
        ]
        total = sum(self._scale(self._reading.quantities[index], token) for index in found)
        if not found or total != amount:
            return False
        self._used.update({index: set() for index in found})
        return True

    def _is_stated(self, move: Transfer) -> bool:
        """Whether the request states the amount of a transfer, and no other one took it."""
        receiver = move.receiver
        is_named = receiver in self._named
        return (
            self._use(move.amount, move.token, self._is_open, receiver)
            or (
                is_named
                and self._use(
                    move.amount,
                    move.token,
                    # `5 USDC each`: one number for several people, once for each.
                    lambda index: receiver not in self._used.get(index, {receiver}),
                    receiver,
                )
            )
            or self._is_part(move.amount, move.token, move.sender)
            or (self._reading.is_relative and self._came_in_before(move))
        )

    def _is_part(self, amount: int, token: Address | None, holder: Address) -> bool:
        """Whether an amount is a stated part of a balance: all, half, ten percent."""
        balance = self._effects.balances.get((holder, token))
        return balance is not None and any(
            amount in {balance * part // 1, -(-balance * part // 1)} for part in self._reading.parts
        )

    def _came_in_before(self, move: Transfer) -> bool:
        """Whether the same amount of a token came in earlier in the run."""
        moves = self._effects.transfers
        earlier = moves[: next(index for index, each in enumerate(moves) if each is move)]
        return any(each in self._ins and _is_same_asset(each, move) for each in earlier)

    def _check_items(self) -> None:
        """Find ERC-721 and ERC-1155 tokens whose ID, or number, is not stated."""
        for move in self._outs:
            if move.token_id is None:
                continue
            wanted = [move.token_id]
            if move.standard == "erc1155" and move.amount != 1:
                wanted.append(move.amount)
            missing = [number for number in wanted if not self._use_plain(number)]
            if missing:
                self._add(
                    DifferenceKind.UNSTATED_AMOUNT,
                    f"moves {self._format(move)} to {_show(move.receiver)}: the request states no "
                    f"{' and no '.join(map(str, missing))}",
                )

    def _use_plain(self, number: int) -> bool:
        for index, quantity in enumerate(self._reading.quantities):
            is_plain = quantity.unit is None and not quantity.other_unit
            if is_plain and quantity.value == number:
                self._used.setdefault(index, set())
                return True
        return False

    # -- accounts -- #

    def _is_called(self, account: Address, token: Address | None) -> bool:
        """Whether a contract takes part in the run, other than by the hooks of the token."""
        return any(
            callee == account and caller != token for caller, callee in self._effects.calls
        ) and (account not in self._arguments.addresses)

    def _is_expected(self, account: Address, token: Address | None) -> bool:
        if account in {*self._named, *self._forwarded, ZERO_ADDRESS}:
            return True
        if account == self._effects.asker:
            return self._reading.names_asker
        return self._is_called(account, token)

    def _check_receivers(self) -> None:
        moves: dict[Address, list[Transfer]] = {}
        for move in self._outs:
            if not self._is_expected(move.receiver, move.token):
                moves.setdefault(move.receiver, []).append(move)
        for receiver, own in moves.items():
            amounts = ", ".join(dict.fromkeys(map(self._format, own)))
            self._add(
                DifferenceKind.UNNAMED_ACCOUNT,
                f"moves {amounts} to {_show(receiver)}: the request does not name this account",
            )
        for account in sorted(self._list_strays() - {*moves}):
            self._add(
                DifferenceKind.UNNAMED_ACCOUNT,
                f"gives a tool {_show(account)}: the request does not name this account",
            )

    def _list_strays(self) -> set[Address]:
        """Return the accounts in arguments that the request does not name.

        An account in a result may be meant. Tokens and the agent's own accounts are no parties.
        """
        if self._reading.is_relative:
            return set()
        known = {*self._named, *self._effects.accounts, *self._effects.tokens}
        asker = {self._effects.asker} if self._reading.names_asker else set()
        return {each for each in self._arguments.addresses if each not in known | asker}

    def _check_pairs(self) -> None:
        """Find amounts that go to another account than the neighbouring one in the text.

        Only where the text has as many amounts as accounts: then both stand in one order.
        """
        moves = [each for each in self._fungible(self._outs) if each.receiver in self._named]
        receivers = {each.receiver for each in moves}
        names = [each for each in self._reading.names if each.address in receivers]
        states = {
            index
            for index, quantity in enumerate(self._reading.quantities)
            if any(self._states(quantity, each.amount, each.token) for each in moves)
        }
        size = len(moves)
        if size < len("ab") or not size == len(receivers) == len(names) == len(states):
            return
        beside = zip(sorted(states), names, strict=True)
        expected = {name.address: self._reading.quantities[index] for index, name in beside}
        for move in moves:
            quantity = expected[move.receiver]
            if not self._states(quantity, move.amount, move.token):
                self._add(
                    DifferenceKind.OTHER_PAIR,
                    f"moves {self._format(move)} to {_show(move.receiver)}: in the request "
                    f'"{quantity.text}" stands beside this account',
                )

    def _check_approvals(self) -> None:
        for each in self._approvals:
            reasons = []
            if each.spender not in self._named:
                reasons.append("does not name this account")
            amount = each.amount
            if amount is not None and not (
                self._use(amount, each.token, self._is_open, None)
                or self._is_part(amount, each.token, each.owner)
            ):
                reasons.append("states no such amount")
            if each.token_id is not None and not self._use_plain(each.token_id):
                reasons.append(f"states no {each.token_id}")
            if reasons:
                self._add(
                    DifferenceKind.APPROVAL,
                    f"leaves an approval: {_show(each.spender)} may take "
                    f"{self._format_approval(each)} of {_show(each.owner)}: the request "
                    f"{' and '.join(reasons)}",
                )

    # -- what nothing uses -- #

    def _use_arguments(self) -> None:
        for index, quantity in enumerate(self._reading.quantities):
            if self._arguments.has_number(self._list_forms(quantity)):
                self._used.setdefault(index, set())

    def _list_forms(self, quantity: StatedQuantity) -> set[Fraction]:
        """Return the numbers that an argument for a quantity can be."""
        value = quantity.value
        if quantity.unit is not None:
            return {value, value * quantity.unit.base_units}
        if quantity.other_unit in PERCENT:
            return {value * scale for scale in PERCENT_SCALES}
        if quantity.other_unit:
            return {value * scale for scale in TIME_UNITS}
        return {value * scale for scale in self._scales}

    def _check_unused(self) -> None:
        for index, quantity in enumerate(self._reading.quantities):
            is_part = quantity.other_unit in PERCENT and bool(self._outs)
            if index not in self._used and not is_part:
                self._add(
                    DifferenceKind.UNUSED_AMOUNT,
                    f'"{quantity.text}" is in the request, and nothing uses it',
                )
        moves = bool(self._outs or self._approvals or self._list_strays())
        parties = self._list_parties()
        for name in self._reading.names:
            if name.address is None and moves:
                self._add(
                    DifferenceKind.UNUSED_ACCOUNT,
                    f'"{name.text}" is in the request, and the agent knows no such account',
                )
            elif name.address not in {None, *parties} and (moves or name.is_party):
                self._add(DifferenceKind.UNUSED_ACCOUNT, self._describe_unused(name))

    @staticmethod
    def _describe_unused(name: NamedAccount) -> str:
        assert name.address is not None  # noqa: S101 - asked before
        own = _show(name.address)
        shown = own if name.text.lower() == own.lower() else f'"{name.text}" ({own})'
        return f"{shown} is in the request, and nothing uses this account"

    def _list_parties(self) -> set[Address | None]:
        """Return the accounts that the run uses."""
        effects = self._effects
        moves = ((each.sender, each.receiver, each.token) for each in effects.transfers)
        approvals = ((each.owner, each.spender, each.token) for each in effects.approvals)
        return {
            *effects.accounts,
            *chain.from_iterable(moves),
            *chain.from_iterable(approvals),
            *effects.contacts,
            *self._arguments.addresses,
        }

    # -- texts -- #

    def _get_scale(self, token: Address | None) -> TokenScale:
        return self._effects.tokens.get(token) or (NATIVE_SCALE if token is None else TokenScale())

    def _get_decimals(self, token: Address | None) -> int:
        return self._get_scale(token).decimals or 0

    def _get_symbol(self, token: Address | None) -> str:
        symbol = self._get_scale(token).symbol
        return symbol or f"of token {_show(token or ZERO_ADDRESS)}"

    def _format(self, move: Transfer) -> str:
        symbol = self._get_symbol(move.token)
        if move.token_id is not None:
            count = "" if move.standard == "erc721" else f"{move.amount:,} of "
            return f"{count}item {move.token_id} {symbol}"
        return f"{format_units(move.amount, self._get_decimals(move.token))} {symbol}"

    def _format_approval(self, approval: TokenApproval) -> str:
        symbol = self._get_symbol(approval.token)
        if approval.standard == "all":
            return f"all items {symbol}"
        if approval.token_id is not None:
            return f"item {approval.token_id} {symbol}"
        amount = approval.amount or 0
        if amount >= UNLIMITED:
            return f"any amount {symbol}"
        return f"{format_units(amount, self._get_decimals(approval.token))} {symbol}"


class _Arguments:
    """The numbers and addresses in the arguments of tools, also those inside of texts."""

    def __init__(self, values: Sequence[object]) -> None:
        self._numbers: Counter[Fraction] = Counter()
        self.addresses: set[Address] = set()
        pending = [*values]
        while pending:
            value = pending.pop()
            if isinstance(value, dict):
                pending += value.values()
            elif isinstance(value, list):
                pending += value
            elif isinstance(value, int) and not isinstance(value, bool):
                self._numbers[Fraction(value)] += 1
            elif isinstance(value, str):
                self._read_text(value)

    def _read_text(self, text: str) -> None:
        for match in ADDRESS.finditer(text):
            self.addresses.add(to_canonical_address(match[0]))
        for match in _NUMBER.finditer(ADDRESS.sub(" ", text.replace(",", ""))):
            self._numbers[Fraction(match[0])] += 1

    def has_number(self, forms: set[Fraction]) -> bool:
        return any(form in self._numbers for form in forms)


def _is_same_asset(one: Transfer, other: Transfer) -> bool:
    return (one.token, one.amount, one.token_id) == (other.token, other.amount, other.token_id)


def _show(address: Address) -> str:
    return str(to_checksum_address(address))

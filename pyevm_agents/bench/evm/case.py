"""EVM yardsticks before measurement: their transactions and repetitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_hash.auto import keccak
from eth_typing import Address

from precompiles.spec import WORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTransaction:
    """A transaction to send."""

    to: Address | None
    """None to create a contract."""

    data: bytes = b""
    value_wei: int = 0
    gas: int | None = None
    """Gas limit; None for the most that a case may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmCase:
    """An EVM operation that is repeated in a block."""

    name: str
    title: str
    build_transactions: Callable[[int], tuple[BenchTransaction, ...]]
    """Return the transactions that repeat it a number of times."""

    times: int
    """Repetitions in a sample here: a tenth of a second or a few, unless one repetition takes
    longer.
    """

    taken_off: int = 0
    """Repetitions in a second sample, whose gas and seconds are subtracted: the difference is the
    marginal cost. 0 for no second sample, where the fixed cost is small.
    """

    most_times: int | None = None
    """Most repetitions in a block; None for as many as gas allows."""

    codes: Mapping[Address, bytes] = field(default_factory=dict)
    """Contracts that exist from the start."""

    before: Callable[[int], tuple[BenchTransaction, ...]] = lambda _times: ()
    """Transactions of the block before."""

    is_whole: bool = False
    """Whether the transactions' own cost belongs to it: a yardstick of whole transactions."""

    is_worst_case: bool = False
    is_quick: bool = False
    """Whether a quick run measures it."""


def make_contract_case(  # noqa: PLR0913 - each is told by its name
    name: str,
    title: str,
    code: bytes,
    *,
    times: int,
    taken_off: int = 0,
    most_times: int | None = None,
    others: Mapping[Address, bytes] | None = None,
    before: Callable[[int], tuple[BenchTransaction, ...]] = lambda _times: (),
    is_worst_case: bool = False,
    is_quick: bool = False,
) -> EvmCase:
    """Return the case of a contract with the repetitions in a word of calldata."""
    address = derive_address(name)

    def build_transactions(turns: int) -> tuple[BenchTransaction, ...]:
        return (BenchTransaction(to=address, data=turns.to_bytes(WORD_BYTES, "big")),)

    return EvmCase(
        name=name,
        title=title,
        build_transactions=build_transactions,
        times=times,
        taken_off=taken_off,
        most_times=most_times,
        codes={address: code, **(others or {})},
        before=before,
        is_worst_case=is_worst_case,
        is_quick=is_quick,
    )


def derive_address(name: str) -> Address:
    """Return an address derived from a name."""
    return Address(keccak(name.encode())[-20:])

"""A yardstick of the EVM before it is measured: what is sent to the chain, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_hash.auto import keccak
from eth_typing import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WORD_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTransaction:
    """A transaction that is sent."""

    to: Address | None
    """None to create a contract."""

    data: bytes = b""
    value_wei: int = 0
    gas: int | None = None
    """Gas limit; the most that a case may use where None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmCase:
    """Something of the EVM that is done so many times in a block."""

    name: str
    title: str
    build_transactions: Callable[[int], tuple[BenchTransaction, ...]]
    """The transactions that do it so many times."""

    times: int
    """How often for a sample here: for a tenth of a second or a few, where one is not longer."""

    taken_off: int = 0
    """How often for a second sample, whose gas and seconds are taken off: what is left is what one
    more costs and takes. 0 for none: what a case costs by itself is little beside what it does."""

    most_times: int | None = None
    """How often at most in a block; None for as often as gas allows."""

    codes: Mapping[Address, bytes] = field(default_factory=dict)
    """Contracts that are there from the start."""

    before: Callable[[int], tuple[BenchTransaction, ...]] = lambda _times: ()
    """Transactions of the block before."""

    is_whole: bool = False
    """Whether what transactions cost by themselves belongs to it: it is one then."""

    is_worst_case: bool = False
    is_quick: bool = False
    """Whether a quick run measures it, too."""


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
    """Return the case of a contract that is told its turns in a word of calldata."""
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
    """Return an address for something with a name."""
    return Address(keccak(name.encode())[-20:])

"""Slots of the templates (tokens, people, amounts, texts), each with its text and its argument."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from training.words import (
    CHAINS,
    CITIES,
    ITEMS,
    JOBS,
    MESSAGES,
    NAMES,
    NUMBER_WORDS,
    PLANS,
    STATES,
    SYMBOLS,
    TITLES,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from training.tasks import Argument


@dataclass(frozen=True, slots=True)
class Filling:
    """Content of a slot."""

    said: str
    """Text in the request."""

    value: Argument
    """Argument of the tool."""

    note: str = ""
    """Addition to the thought if the two differ, such as that `ten` is 10."""


def address_of(rng: random.Random) -> str:
    """Return a random checksummed address without a known key."""
    return to_checksum_address(hashlib.sha256(rng.randbytes(16)).digest()[-20:])


def amount(rng: random.Random) -> Filling:
    """Return an amount: usually digits, sometimes words or a number with commas."""
    roll = rng.random()
    if roll < 0.07:
        words = rng.choice([*NUMBER_WORDS])
        return Filling(words, NUMBER_WORDS[words], f"{words} is {NUMBER_WORDS[words]}")
    number = rng.choice(
        [
            rng.randint(1, 20),
            rng.randint(1, 100),
            rng.randint(1, 100),
            rng.randint(1, 1_000),
            rng.randint(1, 1_000),
            rng.randint(1, 50) * 10,
            rng.randint(1, 20) * 100,
            rng.randint(1_000, 9_999),
            rng.randint(10_000, 2_000_000),
        ]
    )
    if number >= 1_000 and rng.random() < 0.3:
        return Filling(f"{number:,}", number, f"{number:,} is {number}")
    return Filling(str(number), number)


def number(rng: random.Random, low: int, high: int) -> Filling:
    """Return a number in digits."""
    value = rng.randint(low, high)
    return Filling(str(value), value)


def fill(slot: str, rng: random.Random) -> Filling:
    """Fill a slot that does not depend on the agent.

    Raises: KeyError: the slot is unknown, or is one of an address.
    """
    base = slot.rstrip("0123456789")
    match base:
        case "amount" | "price":
            return amount(rng)
        case "id":
            return number(rng, 1, rng.choice([9, 30, 100, 999, 5_000]))
        case "small":
            return number(rng, 1, 12)
        case "count":
            return number(rng, 1, 40)
        case "percent":
            return number(rng, 1, 99)
        case "days":
            return number(rng, 1, rng.choice([14, 90, 365]))
        case "job":
            text = rng.choice(JOBS).format(n=rng.randint(2, 300))
            return Filling(text, text)
        case "signed":
            return number(rng, -99, 99)
        case "title" | "message" | "name" | "chain" | "city" | "plan" | "symbol" | "item" | "state":
            text = rng.choice(_TEXTS[base])
            return Filling(text, text)
    raise KeyError(slot)


_TEXTS: Mapping[str, tuple[str, ...]] = {
    "title": TITLES,
    "message": MESSAGES,
    "name": NAMES,
    "chain": CHAINS,
    "city": CITIES,
    "plan": PLANS,
    "symbol": SYMBOLS,
    "item": ITEMS,
    "state": STATES,
}

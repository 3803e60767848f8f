"""Texts about amounts and contracts of a scenario."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

AMOUNT = re.compile(r"\b(amount|balance|needed)=(\d+)")
"""Fields of the contracts' errors that are amounts in base units."""

ETHER = 10**18


def format_tokens(amount: int, unit: int, *, sign: bool = False) -> str:
    """Return base units as whole tokens.

    Input:  unit: base units of a whole token; sign: whether a positive amount has a plus.
    """
    whole, rest = divmod(abs(amount), unit)
    minus = "-" if amount < 0 else "+" if sign else ""
    fraction = f".{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else ""
    return f"{minus}{whole:,}{fraction}"


def format_whole_tokens(reason: str, unit: Mapping[str, int]) -> str:
    """Return a reason with amounts in whole tokens, if the reason names the token."""
    symbol = next((symbol for symbol in unit if f"asset={symbol}" in reason), None)
    if symbol is None:
        return reason
    return AMOUNT.sub(
        lambda match: f"{match[1]}={format_tokens(int(match[2]), unit[symbol])}", reason
    )


def format_ether(wei: int) -> str:
    """Return an amount of ether with four decimals, rounded to the nearest."""
    shown = 10_000
    whole, rest = divmod((abs(wei) * shown + ETHER // 2) // ETHER, shown)
    return f"{'-' if wei < 0 else ''}{whole}.{rest:04}"


def replace_addresses(text: str, names: Mapping[str, str]) -> str:
    """Replace addresses by names."""
    for address, name in names.items():
        text = text.replace(address, name)
    return text

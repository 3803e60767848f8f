"""Amounts of ether on the command line, with the units that cast takes."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

UNITS: Mapping[str, int] = {"wei": 0, "gwei": 9, "ether": 18, "eth": 18}
"""Decimal digits of each unit. Source: cast's --value."""

AMOUNT = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?|\.[0-9]+)\s*([a-z]*)")
MAX_WEI = 2**96
"""More than all ether that there is."""


class AmountType(click.ParamType[int]):
    """An amount such as `0.1ether`, `20gwei`, or `100`, which is wei."""

    name = "amount"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return an amount in wei."""
        if isinstance(value, int):
            return value
        text = str(value)
        match = AMOUNT.fullmatch(text.strip().lower())
        if match is None or (match[2] or "wei") not in UNITS:
            self.fail(
                f"{text!r}: not an amount; must be a number with wei, gwei or ether, such as "
                "0.1ether",
                param,
                ctx,
            )
        wei = Fraction(match[1].replace("_", "")) * 10 ** UNITS[match[2] or "wei"]
        if wei.denominator != 1:
            advice = "" if match[2] else f"; for ether pass {match[1]}ether"
            self.fail(f"{text!r}: must be a whole number of wei{advice}", param, ctx)
        if wei >= MAX_WEI:
            self.fail(f"{text!r}: must be less than 2**96 wei", param, ctx)
        return int(wei)


AMOUNT_TYPE = AmountType()

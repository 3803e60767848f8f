"""Texts about amounts."""

from __future__ import annotations

import pytest

from pyevm_agents.scenarios.texts import format_ether, format_tokens, format_whole_tokens


def test_amounts_of_a_named_token_are_whole_ones() -> None:
    unit = {"USDC": 10**6, "DAI": 10**18}
    reason = "InsufficientPoolBalance(asset=DAI, balance=500000000000000000000, needed=1)"
    assert format_whole_tokens(reason, unit) == (
        "InsufficientPoolBalance(asset=DAI, balance=500, needed=0.000000000000000001)"
    )
    assert format_whole_tokens("Failed(amount=5000000)", unit) == "Failed(amount=5000000)"


@pytest.mark.parametrize(
    ("amount", "sign", "text"),
    [
        (0, False, "0"),
        (1_250_500_000, False, "1,250.5"),
        (-1, True, "-0.000001"),
        (10**6, True, "+1"),
    ],
)
def test_base_units_are_whole_tokens(amount: int, text: str, *, sign: bool) -> None:
    assert format_tokens(amount, 10**6, sign=sign) == text


@pytest.mark.parametrize(
    ("wei", "text"),
    [(0, "0.0000"), (10**18 // 3, "0.3333"), (-(10**17), "-0.1000"), (99_999 * 10**13, "1.0000")],
)
def test_ether_is_rounded_to_the_nearest(wei: int, text: str) -> None:
    assert format_ether(wei) == text

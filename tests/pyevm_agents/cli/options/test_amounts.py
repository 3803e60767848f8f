"""Amounts and times on the command line: exact, with units."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.cli.options.amounts import AMOUNT_TYPE, MAX_WEI
from pyevm_agents.cli.options.types import DURATION_TYPE, format_time
from pyevm_agents.display import format_amount


@given(wei=st.integers(0, MAX_WEI - 1))
def test_an_amount_is_read_as_it_is_shown(wei: int) -> None:
    assert AMOUNT_TYPE.convert(format_amount(wei).replace(",", "_"), None, None) == wei


@pytest.mark.parametrize(
    ("text", "wei"),
    [
        *(("0", 0), ("100", 100), ("1_000", 1_000), ("5wei", 5), ("20gwei", 20 * 10**9)),
        *((".5 Ether", 5 * 10**17), ("0.000000000000000001eth", 1), (7, 7)),
    ],
)
def test_units_are_those_of_cast(text: str | int, wei: int) -> None:
    assert AMOUNT_TYPE.convert(text, None, None) == wei


@pytest.mark.parametrize(
    "text", ["", "-1", "1e18", "ether", "1,5ether", "1.5", "0.1wei", "1 finney"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        AMOUNT_TYPE.convert(text, None, None)


def test_a_part_of_a_wei_is_taken_for_ether() -> None:
    with pytest.raises(click.BadParameter, match=r"pass 0\.1ether"):
        AMOUNT_TYPE.convert("0.1", None, None)


@pytest.mark.parametrize(
    ("wei", "text"),
    [
        (0, "0 ether"),
        (999_999, "999,999 wei"),
        (10**6, "0.001 gwei"),
        (10**14 - 1, "99,999.999999999 gwei"),
        (10**14, "0.0001 ether"),
        (1_234 * 10**18, "1,234 ether"),
    ],
)
def test_amounts_are_shown_in_a_short_unit(wei: int, text: str) -> None:
    assert format_amount(wei) == text


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("2 H", 7_200), ("7d", 604_800)]
)
def test_times_have_units(text: str, seconds: int) -> None:
    assert DURATION_TYPE.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "m", "1.5h", "-1", "1w", "9" * 10])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        DURATION_TYPE.convert(text, None, None)


def test_times_of_the_chain_are_dates() -> None:
    assert format_time(1_735_689_600) == "2025-01-01 00:00:00 UTC"
    assert format_time(2**64 - 1) == "second 18,446,744,073,709,551,615 since 1970"

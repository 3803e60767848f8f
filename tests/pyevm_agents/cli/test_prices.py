"""What `--schedule` takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.cli.prices import MAX_NUMBER, NAMES, read_prices, with_prices
from tests.byte_model import PROFILE

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = st.integers(1, MAX_NUMBER)


@given(st.dictionaries(st.sampled_from(sorted(NAMES)), NUMBERS, min_size=1))
def test_what_is_told_in_words_is_what_is_read(told: dict[str, int]) -> None:
    text = ",".join(f"{name}={value:_}" for name, value in told.items())
    assert read_prices(text) == {NAMES[name]: value for name, value in told.items()}


def test_a_file_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"cold": 9, "outputTokenGas": 7}))
    prices = read_prices(str(file))
    profile = with_prices(PROFILE, prices)
    assert (profile.cold_prompt_token_gas, profile.output_token_gas) == (9, 7)
    assert profile.warm_prompt_token_gas == PROFILE.warm_prompt_token_gas


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cold=0", "at least 1"),
        ("cold=-1", "at least 1"),
        ("cold=1e3", "at least 1"),
        (f"cold={MAX_NUMBER + 1}", "at least 1"),
        ("cold=", "at least 1"),
        ("hot=1", "there is no 'hot'; there are cold, warm"),
        ("cold=1,warm", "'warm' sets nothing"),
        ("nowhere", "can't be read"),
    ],
)
def test_what_is_no_price_is_named(text: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=message):
        read_prices(text)


@pytest.mark.parametrize("content", ["{", "[]", '{"cold": 1.5}', '{"cold": true}', '{"x": 1}'])
def test_a_bad_file_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(content)
    with pytest.raises(click.BadParameter):
        read_prices(str(file))

"""Values of `--schedule`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.gas import GasSchedule
from pyevm_agents.cli.options.models import parse_schedule
from pyevm_agents.config import ChainConfig
from pyevm_agents.config.schedule_file import SHORT_NAMES, ScheduleFile
from tests.byte_model import PROFILE

if TYPE_CHECKING:
    from pathlib import Path

MAX_NUMBER = 2**63 - 1
NUMBERS = st.integers(1, MAX_NUMBER)


@given(st.dictionaries(st.sampled_from(["warm", "output", "maxOutputTokens"]), NUMBERS, min_size=1))
def test_what_is_told_in_words_is_what_is_read(told: dict[str, int]) -> None:
    text = ",".join(f"{name}={value:_}" for name, value in told.items())
    prices = {SHORT_NAMES[name]: value for name, value in told.items()}
    assert parse_schedule(text) == ScheduleFile(models={"*": prices})


def test_every_short_name_is_known() -> None:
    for name, price in SHORT_NAMES.items():
        assert parse_schedule(f" {name} = 7 ") == ScheduleFile(models={"*": {price: 7}})


@pytest.mark.parametrize("name", ["schedule.json", "a=b.json"])
def test_a_file_says_more(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"schedule": {"tool_gas": 8}, "models": {"bytes": {"output_token_gas": 7}}}')
    config = parse_schedule(str(path)).apply_to(ChainConfig(models=(PROFILE,)))
    assert config.schedule == GasSchedule(tool_gas=8)
    assert config.models[0].output_token_gas == 7
    assert config.models[0].warm_prompt_token_gas == PROFILE.warm_prompt_token_gas


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cold=0", "cold_prompt_token_gas is 0; choose from 1"),
        ("cold=-1", "cold_prompt_token_gas is -1; choose from 1"),
        ("cold=1e3", 'cold_prompt_token_gas is "1e3"; it must be a whole number'),
        ("cold=²", "it must be a whole number"),
        (f"cold={2**63}", "choose from 1 to 2.63 - 1"),
        (f"cold={'9' * 4_000}", "choose from 1 to 2.63 - 1"),
        (f"cold={'9' * 5_000}", "it must be a whole number"),
        ("cold=", "it must be a whole number"),
        (
            "cold=5,warm=6",
            "a warm token costs 6, a cold one 5; .*; pass a sch",
        ),
        ("hot=1", 'has "hot", which means nothing; there are cold, warm'),
        ("outputs=1", "did you mean output"),
        ("cold=1,warm", "'warm': must be NAME=GAS; pass a schedule file, or cold"),
        ("nowhere", "schedule in nowhere: the file can't be read: No such file"),
        ("", "can't be read"),
    ],
)
def test_what_is_no_price_is_named(text: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=message):
        parse_schedule(text)


@pytest.mark.parametrize("content", ["{", "[]", '{"cold": 0}', '{"schedule": {"tool_gas": 0}}'])
def test_a_bad_file_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(content)
    with pytest.raises(click.BadParameter, match=r"schedule in .*prices\.json: "):
        parse_schedule(str(path))

"""Schedules as files: they read as written, and errors name the field."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.gas import DEFAULT_SCHEDULE, GasSchedule
from precompiles.numeric_gas import NumericGasSchedule
from pyevm_agents.config import ChainConfig
from pyevm_agents.config.schedule_file import (
    EXECUTOR_PRICES,
    MAX_FILE_BYTES,
    MODEL_PRICES,
    ScheduleFile,
    parse_schedule,
    read_schedule,
)
from pyevm_agents.errors import ConfigError
from tests.byte_model import PROFILE
from tests.numeric_model import SumModel, profile_of

if TYPE_CHECKING:
    from pathlib import Path

OTHER = replace(PROFILE, name="other", aliases=("default",), digest=b"\xab" * 32)
DIGEST = "0x" + "ab" * 32
CONFIG = ChainConfig(models=(PROFILE, OTHER))

GAS = st.integers(1, 2**63 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


def is_warm_at_most_cold(prices: dict[str, int]) -> bool:
    warm = prices.get("warm_prompt_token_gas", 0)
    return warm <= prices.get("cold_prompt_token_gas", warm)


FILES = st.builds(
    ScheduleFile,
    schedule=st.dictionaries(st.sampled_from(EXECUTOR_PRICES), GAS),
    models=st.dictionaries(
        st.text(),
        st.dictionaries(st.sampled_from(MODEL_PRICES), GAS).filter(is_warm_at_most_cold),
        max_size=3,
    ),
    made=st.dictionaries(st.text(), JSON, max_size=3),
)


@given(FILES)
def test_what_is_written_is_what_is_read(schedule: ScheduleFile) -> None:
    text = schedule.to_json()
    assert parse_schedule(text) == schedule
    assert parse_schedule(text).to_json() == text


@given(
    schedule=st.builds(GasSchedule, **dict.fromkeys(EXECUTOR_PRICES, GAS)),
    tokens=st.fixed_dictionaries(dict.fromkeys(MODEL_PRICES[:3], GAS)).filter(is_warm_at_most_cold),
)
def test_all_prices_of_a_chain_make_another_one_the_same(
    schedule: GasSchedule, tokens: dict[str, int]
) -> None:
    config = replace(CONFIG, schedule=schedule, models=(PROFILE, replace(OTHER, **tokens)))  # type: ignore[arg-type]
    file = parse_schedule(ScheduleFile.from_config(config).to_json())
    assert file.apply_to(CONFIG) == config
    assert ScheduleFile.from_config(CONFIG).apply_to(config) == CONFIG


def test_what_a_file_does_not_say_stays() -> None:
    assert ScheduleFile().apply_to(CONFIG) == CONFIG
    changed = replace(CONFIG, schedule=replace(DEFAULT_SCHEDULE, tool_gas=7))
    config = ScheduleFile(schedule={"parameter_gas": 9}).apply_to(changed)
    assert config == replace(
        CONFIG, schedule=replace(DEFAULT_SCHEDULE, tool_gas=7, parameter_gas=9)
    )


@pytest.mark.parametrize("name", ["other", "default", DIGEST, DIGEST.upper().replace("X", "x")])
def test_a_model_is_named_as_contracts_name_it(name: str) -> None:
    file = ScheduleFile(models={name: {"output_token_gas": 7}})
    assert file.apply_to(CONFIG).models == (PROFILE, replace(OTHER, output_token_gas=7))


def test_what_is_said_of_one_model_outdoes_what_is_said_of_all() -> None:
    all_of_them = {"cold_prompt_token_gas": 500, "output_token_gas": 600}
    file = ScheduleFile(models={"other": {"output_token_gas": 7}, "*": all_of_them})
    one, other = file.apply_to(CONFIG).models
    assert one == replace(PROFILE, cold_prompt_token_gas=500, output_token_gas=600)
    assert other == replace(OTHER, cold_prompt_token_gas=500, output_token_gas=7)


def test_a_chain_without_models_takes_prices_of_all_of_them() -> None:
    file = ScheduleFile(schedule={"tool_gas": 7}, models={"*": {"output_token_gas": 7}})
    assert file.apply_to(ChainConfig()).schedule == GasSchedule(tool_gas=7)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (
            {"gpt": {}},
            r'models\["gpt"\]: the chain has no such model; it has bytes \(also llama_model_3, 0x0',
        ),
        ({"gpt": {}}, rf"; other \(also default, {DIGEST}\)\. '\*' stands for every model"),
        (
            {"other": {}, DIGEST: {}},
            rf'models\["other"\] and models\["{DIGEST}"\] are both other; keep one',
        ),
        (
            {"*": {"warm_prompt_token_gas": 6_001}},
            r"model bytes: prices \(6000, 6001, 10000\) .*warm at most cold",
        ),
        (
            {"other": {"max_output_tokens": 200_000}},
            (
                "model other: max_output_tokens 200000: must be at least 1 "
                "and below its context of 200000"
            ),
        ),
    ],
)
def test_what_does_not_fit_a_chain_is_named(models: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ScheduleFile(models=models).apply_to(CONFIG)


def test_a_plain_chain_has_none_to_name() -> None:
    with pytest.raises(ConfigError, match="no such model; it has none"):
        ScheduleFile(models={"gpt": {}}).apply_to(ChainConfig())


def test_any_text_can_be_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    file = ScheduleFile(models={"\ud800": {}}, made={"by": "a tëst \ud800"})
    path.write_text(file.to_json())
    assert read_schedule(path) == file


MISTAKES = [
    ("", "not JSON: line 1, column 1: Expecting value"),
    ("{", "not JSON: .*Expecting property name"),
    ("[" * 65_000, "must nest at most 64 objects and lists"),
    ('{"made": {"a": ' + "[" * 63 + "]" * 63 + "}}", "must nest at most 64 objects and lists"),
    ('{"made": {"a": NaN}}', "NaN: not a JSON number"),
    ('{"made": {"a": -Infinity}}', "-Infinity: not a JSON number"),
    (f'{{"schedule": {{"tool_gas": {"9" * 5_000}}}}}', r"9{20}…: must have at most 1,000 digits"),
    ("[]", r"it is \[\]; it must be an object"),
    ("null", "it is null; it must be an object"),
    ('{"made": {}, "made": {}}', "member 'made': must stand once"),
    ('{"schedule": {"tool_gas": 1, "tool_gas": 2}}', "member 'tool_gas': must stand once"),
    ('{"scheduel": {}}', 'has "scheduel", which means nothing; did you mean schedule. There are'),
    ('{"hot": 5}', 'has "hot", which means nothing; there are schedule, models, num'),
    ('{"cold": 5, "made": {}}', 'has "made", which means nothing; .*here are cold, warm'),
    (
        '{"cold": 1, "coldPromptTokenGas": 2}',
        '"coldPromptTokenGas" is cold_prompt_token_gas, which is there twice; keep one',
    ),
    ('{"cold": 0}', r'models\["\*"\].cold_prompt_token_gas is 0; choose from 1'),
    ('{"schedule": []}', r"schedule is \[\]; it must be an object"),
    (
        '{"schedule": {"tools_gas": 5}}',
        'schedule has "tools_gas", which means nothing; did you mean tool_gas. There are exec',
    ),
    ('{"numeric_schedule": {"tool_gas": 5}}', 'numeric_schedule has "tool_gas", which means'),
    ('{"numeric_schedule": {"base_gas": 0}}', "numeric_schedule.base_gas is 0; choose from 1 to"),
    ('{"schedule": {"TOOL_GAS": 5}}', 'schedule has "TOOL_GAS", which means nothing'),
    ('{"schedule": {"tool_gas": -1}}', "schedule.tool_gas is -1; choose from 1"),
    ('{"schedule": {"tool_gas": 0}}', "schedule.tool_gas is 0; choose from 1"),
    ('{"schedule": {"tool_gas": 1.0}}', "schedule.tool_gas is 1.0; it must be a whole number"),
    ('{"schedule": {"tool_gas": "1"}}', 'schedule.tool_gas is "1"; it must be a whole number'),
    ('{"schedule": {"tool_gas": true}}', "schedule.tool_gas is true; it must be a whole number"),
    ('{"schedule": {"tool_gas": null}}', "schedule.tool_gas is null; it must be a whole number"),
    (f'{{"schedule": {{"tool_gas": {2**63}}}}}', r"choose from 1 to 2\^63 - 1, as"),
    ('{"models": 5}', "models is 5; it must be an object"),
    ('{"models": {"m": 5}}', r'models\["m"\] is 5; it must be an object'),
    (
        '{"models": {"m": {"output_gas": 5}}}',
        r'models\["m"\] has "output_gas", which means nothing; did you mean output_token_gas',
    ),
    ('{"models": {"m": {"output_token_gas": 0}}}', r'models\["m"\].output_token_gas is 0; choose'),
    (
        '{"models": {"*": {"cold_prompt_token_gas": 4, "warm_prompt_token_gas": 5}}}',
        r'models\["\*"\]: a warm token costs 5, a cold one 4; what is read again may not cost more',
    ),
    ('{"made": "today"}', 'made is "today"; it must be an object'),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=[text[:40] for text, _ in MISTAKES])
def test_every_mistake_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_schedule(text)


def test_a_file_may_hold_prices_of_tokens_alone() -> None:
    prices = {"cold_prompt_token_gas": 9, "output_token_gas": 7}
    file = parse_schedule('{"cold": 9, "outputTokenGas": 7}')
    assert file == ScheduleFile(models={"*": prices})


def test_brackets_in_a_text_are_no_depth() -> None:
    made = {"a": "[" * 100 + '"\\', "b": [[[["]"]]]]}
    assert parse_schedule(json.dumps({"made": made})).made == made


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_schedule(json.dumps({"made": "x" * 1_000}))
    assert len(str(caught.value)) < 200


def test_values_that_no_file_has_are_named_as_well() -> None:
    with pytest.raises(ConfigError, match="tool_gas is a number of more than 1,000 digits"):
        ScheduleFile(schedule={"tool_gas": 10**5_000})
    with pytest.raises(ConfigError, match="models has 5; it must be a model's name"):
        ScheduleFile(models={5: {}})  # type: ignore[dict-item]


@pytest.mark.parametrize("made", [{"a": object()}, {"a": float("nan")}])
def test_what_json_does_not_express_is_not_written(made: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"made: must be JSON values"):
        ScheduleFile(made=made).to_json()


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    path.write_text('{"schedule": {"tool_gas": 7}, "made": {"by": "a tëst"}}', "utf-8")
    read = read_schedule(path)
    assert read == ScheduleFile(schedule={"tool_gas": 7}, made={"by": "a tëst"})


def test_a_bad_file_is_named_with_what_is_wrong_in_it(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    path.write_text('{"schedule": {"tool_gas": 0}}')
    with pytest.raises(ConfigError) as caught:
        read_schedule(path)
    assert str(caught.value).startswith(f"schedule in {path}: schedule.tool_gas is 0; choose")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"made": {"a": "\xff"}}', "not JSON: byte 16 is not UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON: line 1, column 1: Unexpected UTF-8 BOM"),
        (b" " * (MAX_FILE_BYTES - 1) + b"{}", "the file has more than 65,536 bytes"),
        (b"GGUF" + bytes(10**6), "the file has more than 65,536 bytes"),
    ],
)
def test_what_is_no_text_or_too_much_of_it_is_told(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "schedule.json"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=message):
        read_schedule(path)


def test_a_file_of_the_greatest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    path.write_bytes(b" " * (MAX_FILE_BYTES - 2) + b"{}")
    assert read_schedule(path) == ScheduleFile()


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read: No such file or directory"):
        read_schedule(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="can't be read: Is a directory"):
        read_schedule(tmp_path)


def test_numeric_prices_are_those_of_a_chain_with_numeric_models() -> None:
    schedule = parse_schedule('{"numeric_schedule": {"operations_per_gas": 9, "base_gas": 7}}')
    plain = ChainConfig(models=(PROFILE,))
    assert schedule.apply_to(plain) == plain
    numeric = ChainConfig(numeric_models=(profile_of(SumModel()),))
    priced = schedule.apply_to(numeric)
    assert priced.numeric_schedule == NumericGasSchedule(operations_per_gas=9, base_gas=7)
    assert priced == replace(numeric, numeric_schedule=priced.numeric_schedule)
    whole = ScheduleFile.from_config(priced)
    assert parse_schedule(whole.to_json()).apply_to(numeric) == priced
    assert whole.numeric_schedule["output_byte_gas"] == 16
    assert "numeric_schedule" not in ScheduleFile.from_config(plain).to_json()

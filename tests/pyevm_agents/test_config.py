"""What a chain is: checked at construction, one canonical form, one digest."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import ConfigError
from tests.byte_model import PROFILE


def test_the_canonical_form_is_sorted_and_without_white_space() -> None:
    text = ChainConfig(models=(PROFILE,)).to_json()
    form = json.loads(text)
    assert text == json.dumps(form, sort_keys=True, separators=(",", ":"))
    assert form["models"][0]["digest"] == "0x" + "00" * 31 + "07"
    assert form["limits"]["MAX_CALLDATA_BYTES"] == 65_536
    assert form["schedule"]["EXECUTOR_BASE_GAS"] == 3_000


def test_the_digest_changes_with_every_part() -> None:
    config = ChainConfig(models=(PROFILE,))
    others = [
        replace(config, chain_id=1),
        replace(config, block_gas_limit=30_000_001),
        replace(config, base_fee_wei=0),
        replace(config, genesis_timestamp_seconds=1),
        replace(config, profile_fingerprint="other"),
        replace(config, models=(replace(PROFILE, output_token_gas=9_999),)),
        replace(config, models=(replace(PROFILE, chat_suffix="x"),)),
        replace(config, models=(replace(PROFILE, digest=bytes(32)),)),
    ]
    digests = {config.digest, *(other.digest for other in others)}
    assert len(digests) == 1 + len(others)
    assert len(config.digest) == 32


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"chain_id": 0}, "chain id 0: choose one from 1", id="chain id 0"),
        pytest.param({"chain_id": 2**63}, "chain id 9223372036854775808", id="chain id 2^63"),
        pytest.param({"base_fee_wei": -1}, "neither can be negative", id="base fee"),
        pytest.param({"models": (PROFILE, PROFILE)}, "two models are called", id="one name twice"),
        pytest.param({"fork": "osaka"}, "fork 'osaka': this version knows", id="fork"),
        pytest.param(
            {"base_fee_wei": 1.5}, "base_fee_wei is 1.5: must be a whole", id="half a wei"
        ),
        pytest.param({"profile_fingerprint": 5}, "fingerprint is 5: must be a text", id="number"),
        pytest.param({"block_gas_limit": 4_999}, "gas limit 4999: at least", id="gas limit"),
    ],
)
def test_refuses_what_no_chain_can_be(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ChainConfig(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"name": ""}, "model name ''", id="no name"),
        pytest.param({"name": "0xab"}, "model name '0xab'", id="0x name"),
        pytest.param({"aliases": ("a b",)}, "model name 'a b'", id="alias with a space"),
        pytest.param({"digest": b"\x01"}, "digest of 1 bytes", id="short digest"),
        pytest.param({"max_output_tokens": 200_000}, "do not fit", id="output fills context"),
        pytest.param({"output_token_gas": 1.5}, "must be a whole number", id="half a gas"),
        pytest.param({"output_token_gas": 0}, "each at least 1 gas", id="free output"),
        pytest.param({"warm_prompt_token_gas": 6_001}, "warm at most cold", id="warm over cold"),
    ],
)
def test_refuses_what_no_model_can_be(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ChainConfig(models=(replace(PROFILE, **fields),))  # type: ignore[arg-type]


def test_a_configuration_is_read_from_its_own_form() -> None:
    config = ChainConfig(models=(PROFILE,), chain_id=7, profile_fingerprint='{"canary":""}')
    assert ChainConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"MAX_TOOLS":64', '"MAX_TOOLS":65', "the chain has MAX_TOOLS = 65, this version 64"),
        ('"chain_id":31337', '"chain_id":0', "chain id 0: choose one from 1"),
        ('"chain_id":31337', '"chain_id": 31337', "its spelling is not as `ChainConfig"),
        ('"digest":"0x0', '"digest":"0', "models is not as `ChainConfig.to_json` writes it"),
        ('"limits"', '"limit"', "no configuration of a chain: KeyError"),
        ('"aliases":[', '"aliases":5,"x":[', "no configuration of a chain: TypeError"),
        ('"digest":"0x', '"digest":"xyz', "no configuration of a chain: ValueError"),
        ("{", "[", "no configuration of a chain: JSONDecodeError"),
    ],
)
def test_what_is_no_configuration_is_refused(old: str, new: str, message: str) -> None:
    text = ChainConfig(models=(PROFILE,)).to_json()
    assert old in text
    with pytest.raises(ConfigError, match=message):
        ChainConfig.from_json(text.replace(old, new, 1))

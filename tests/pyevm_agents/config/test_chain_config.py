"""A chain's configuration: checked at construction, one canonical form, one digest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.gas import GasSchedule
from precompiles.numeric_gas import NumericGasSchedule
from precompiles.numeric_model import NumericModelProfile
from pyevm_agents.chain import Chain
from pyevm_agents.config import ChainConfig, ForkOrigin, check_numeric_fits
from pyevm_agents.config.chain_config import check_fits
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import add_models
from pyevm_agents.models import ProfileFacts
from tests.byte_model import PROFILE, ByteModel
from tests.numeric_model import SumModel, profile_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import ModelProfile

PRICES = [
    "executor_base_gas",
    "input_byte_gas",
    "metadata_read_gas",
    "tool_gas",
    "parameter_gas",
    "scan_gas",
]
NUMERIC = NumericModelProfile(
    name="forecast",
    digest=b"\x05" * 32,
    input_decimals=(2, 0),
    output_decimals=(18,),
    operations=1_000,
)
NUMERIC_PRICES = ["base_gas", "input_byte_gas", "output_byte_gas", "operations_per_gas"]
ORIGIN = ForkOrigin(chain_id=1, block_number=7, block_hash=b"\x06" * 32)
RULES = (("format", 1), ("threshold", 2**63 - 1))
SECTIONS = [
    pytest.param(
        {"numeric_models": (NUMERIC, replace(NUMERIC, name="b", digest=bytes(32)))},
        id="numeric models",
    ),
    pytest.param(
        {"numeric_models": (NUMERIC,), "numeric_schedule": NumericGasSchedule(base_gas=7)},
        id="numeric schedule",
    ),
    pytest.param({"origin": ORIGIN}, id="origin"),
    pytest.param({"code_size_bytes": 24_577}, id="code size"),
    pytest.param({"genesis_has_base_fee": True}, id="base fee of genesis"),
    pytest.param({"models": (replace(PROFILE, decoding=RULES),)}, id="decoding"),
    pytest.param(
        {"models": (replace(PROFILE, chooser=b"\x09" * 32, chooser_token_gas=7),)}, id="chooser"
    ),
]
PLAIN_DIGEST = "b79d730b75052a002c2b2e47b51e197d33bd9308596a76fd1c9a9300d5717ec5"
BYTES_DIGEST = "fa5037b4a2d2fef7fb685b092de506e011a85bbb1dda924f73b5c2451716cbe4"
NUMERIC_DIGEST = "c1f0d71bf7b000b0d25738e874e753da5f04629386b1d691941a60c888d5a5bf"


def test_the_canonical_form_is_sorted_and_without_white_space() -> None:
    text = ChainConfig(models=(PROFILE,)).to_json()
    form = json.loads(text)
    assert text == json.dumps(form, sort_keys=True, separators=(",", ":"))
    assert form["models"][0]["digest"] == "0x" + "00" * 31 + "07"
    assert form["limits"]["MAX_CALLDATA_BYTES"] == 65_536
    assert form["schedule"] == {
        "EXECUTOR_BASE_GAS": 3_000,
        "INPUT_BYTE_GAS": 16,
        "METADATA_READ_GAS": 2_000_000,
        "PARAMETER_GAS": 2_000,
        "SCAN_GAS": 250,
        "TOOL_GAS": 5_000,
    }


def test_the_digests_of_version_3_are_fixed() -> None:
    # A later optional section must not change them: an empty one is omitted.
    assert ChainConfig().digest.hex() == PLAIN_DIGEST
    assert ChainConfig(models=(PROFILE,)).digest.hex() == BYTES_DIGEST
    assert ChainConfig(numeric_models=(NUMERIC,)).digest.hex() == NUMERIC_DIGEST


def test_the_form_of_numeric_models() -> None:
    form = json.loads(ChainConfig(numeric_models=(NUMERIC,)).to_json())
    assert form["models"] == []
    assert form["numeric_models"] == [
        {
            "name": "forecast",
            "digest": "0x" + "05" * 32,
            "input_decimals": [2, 0],
            "output_decimals": [18],
            "operations": 1_000,
        }
    ]
    assert form["numeric_schedule"] == {
        "BASE_GAS": 3_000,
        "INPUT_BYTE_GAS": 16,
        "OUTPUT_BYTE_GAS": 16,
        "OPERATIONS_PER_GAS": 16,
    }
    limits = {name: limit for name, limit in form["limits"].items() if "NUMERIC" in name}
    assert limits == {
        "MAX_NUMERIC_CALLDATA_BYTES": 65_536,
        "MAX_NUMERIC_INPUTS": 1_024,
        "MAX_NUMERIC_OUTPUTS": 1_024,
    }
    assert "NUMERIC" not in ChainConfig(models=(PROFILE,)).to_json().upper()


def other_numeric_models() -> list[NumericModelProfile]:
    """Return a numeric model that differs in one field, for each field."""
    return [
        replace(NUMERIC, name="other"),
        replace(NUMERIC, digest=bytes(32)),
        replace(NUMERIC, input_decimals=(2,)),
        replace(NUMERIC, output_decimals=(1, 1)),
        replace(NUMERIC, operations=7),
    ]


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
        *(replace(config, schedule=GasSchedule(**{price: 7})) for price in PRICES),
        replace(config, models=(replace(PROFILE, decoding=(("threshold", 7),)),)),
        replace(config, numeric_models=(NUMERIC,)),
        *(replace(config, numeric_models=(each,)) for each in other_numeric_models()),
        *(
            replace(
                config,
                numeric_models=(NUMERIC,),
                numeric_schedule=NumericGasSchedule(**{price: 7}),
            )
            for price in NUMERIC_PRICES
        ),
        replace(config, origin=ORIGIN),
        replace(config, origin=replace(ORIGIN, chain_id=2)),
        replace(config, origin=replace(ORIGIN, block_number=8)),
        replace(config, origin=replace(ORIGIN, block_hash=bytes(32))),
    ]
    digests = {config.digest, *(other.digest for other in others)}
    assert len(digests) == 1 + len(others)
    assert len(config.digest) == 32


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"chain_id": 0}, "chain id 0: must be 1", id="chain id 0"),
        pytest.param({"chain_id": 2**63}, "chain id 9223372036854775808", id="chain id 2^63"),
        pytest.param({"base_fee_wei": -1}, "must not be negative", id="base fee"),
        pytest.param({"genesis_timestamp_seconds": -1}, "timestamp -1: must be 0", id="before"),
        pytest.param(
            {"genesis_timestamp_seconds": 2**64 - 1}, "must be 0 to 2.64 - 2", id="end of time"
        ),
        pytest.param({"models": (PROFILE, PROFILE)}, "two models are called", id="one name twice"),
        pytest.param(
            {"code_size_bytes": 24_575},
            "code size limit 24575: must be 24576 to 1048576",
            id="code",
        ),
        pytest.param({"code_size_bytes": 2**20 + 1}, "code size limit 1048577: must", id="1 MiB"),
        pytest.param({"fork": "amsterdam"}, "fork 'amsterdam': must be one of", id="fork"),
        pytest.param({"base_fee_wei": 1.5}, "base_fee_wei 1.5: must be a whole", id="half a wei"),
        pytest.param({"profile_fingerprint": 5}, "fingerprint 5: must be a text", id="number"),
        pytest.param(
            {"block_gas_limit": 4_999}, "gas limit 4999: must be at least", id="gas limit"
        ),
        pytest.param(
            {"schedule": GasSchedule(tool_gas=1.5)},  # type: ignore[arg-type]
            "tool_gas 1.5: must be a whole number",
            id="half a gas a tool",
        ),
        pytest.param(
            {"schedule": {"tool_gas": 7}},
            "schedule of type dict: must be a `precompiles.gas.GasSchedule`",
            id="no schedule",
        ),
        pytest.param(
            {"schedule": GasSchedule(tool_gas=True)},
            "tool_gas True: must be a whole number",
            id="a truth for a price",
        ),
    ],
)
def test_refuses_what_no_chain_can_be(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ChainConfig(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("gas", [-1, 0, 2**63])
def test_refuses_what_no_price_can_be(price: str, gas: int) -> None:
    with pytest.raises(ConfigError, match=f"schedule: {price} {gas}: must be 1 to 2"):
        ChainConfig(schedule=GasSchedule(**{price: gas}))


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("gas", [1, 2**63 - 1])
def test_takes_the_least_and_the_dearest_price(price: str, gas: int) -> None:
    config = ChainConfig(models=(PROFILE,), schedule=GasSchedule(**{price: gas}))
    assert ChainConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"name": ""}, "model name ''", id="no name"),
        pytest.param({"name": "0xab"}, "model name '0xab'", id="0x name"),
        pytest.param({"aliases": ("a b",)}, "model name 'a b'", id="alias with a space"),
        pytest.param({"digest": b"\x01"}, "digest of 1 bytes", id="short digest"),
        pytest.param(
            {"max_output_tokens": 200_000}, "below its context", id="output fills context"
        ),
        pytest.param({"output_token_gas": 1.5}, "must be a whole number", id="half a gas"),
        pytest.param({"output_token_gas": 0}, "each must be 1 to", id="free output"),
        pytest.param({"output_token_gas": -1}, "each must be 1 to", id="paid output"),
        pytest.param({"output_token_gas": 2**63}, "1 to 2.63 - 1", id="output beyond 64 bits"),
        pytest.param({"warm_prompt_token_gas": 6_001}, "warm at most cold", id="warm over cold"),
    ],
)
def test_refuses_what_no_model_can_be(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ChainConfig(models=(replace(PROFILE, **fields),))  # type: ignore[arg-type]


@pytest.mark.parametrize("section", SECTIONS)
def test_an_optional_section_is_part_of_the_digest_and_of_the_form(
    section: dict[str, Any],
) -> None:
    config = replace(ChainConfig(models=(PROFILE,)), **section)
    assert ChainConfig.from_json(config.to_json()) == config
    assert config.digest.hex() != BYTES_DIGEST


def test_an_empty_section_is_not_in_the_form() -> None:
    form = json.loads(ChainConfig(models=(PROFILE,)).to_json())
    assert form["version"] == 3
    sections = {"numeric_models", "numeric_schedule", "origin", "code_size_bytes"}
    assert not (sections | {"genesis_has_base_fee"}) & form.keys()
    assert "decoding" not in form["models"][0]


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('"version":3', '"numeric_models":[],"version":3', "numeric_models"),
        (
            '"profile_fingerprint"',
            '"numeric_schedule":{},"profile_fingerprint"',
            "numeric_schedule: not canonical",
        ),
        ('"version":3', '"origin":{},"version":3', "invalid chain configuration: missing key"),
        ('"digest":', '"decoding":{},"digest":', "models"),
        ('"chain_id":', '"code_size_bytes":24576,"chain_id":', "code_size_bytes: not canonical"),
        ('"limits":', '"genesis_has_base_fee":false,"limits":', "genesis_has_base_fee: not canon"),
        ('"limits":', '"genesis_has_base_fee":1,"limits":', "fee 1: must be true or false"),
    ],
)
def test_an_empty_section_that_is_stated_is_refused(old: str, new: str, name: str) -> None:
    text = ChainConfig(models=(PROFILE,)).to_json()
    with pytest.raises(ConfigError, match=name):
        ChainConfig.from_json(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"OPERATIONS_PER_GAS":16', '"OPERATIONS_PER_GAS":0', "operations_per_gas 0: must be"),
        ('"OPERATIONS_PER_GAS":16', '"OPERATIONS_PER_GAS":16.0', "_per_gas 16.0: must be"),
        ('"OPERATIONS_PER_GAS":16', '"OPERATIONS":16', "numeric_schedule.OPERATIONS = 16: this v"),
        (',"OPERATIONS_PER_GAS":16', "", "numeric_schedule: not canonical JSON"),
        ('"numeric_schedule":{', '"numeric_schedule":5,"numeric":{', "invalid chain configurat"),
        ('"MAX_NUMERIC_INPUTS":1024', '"MAX_NUMERIC_INPUTS":7', "has 1024; use the version"),
        ('"MAX_NUMERIC_INPUTS":1024,', "", "limits: not canonical JSON"),
        ('"operations":1000', '"operations":1000,"operation_gas":1', "invalid chain configuration"),
        ('"operations":1000', '"operations":"1000"', "operations '1000': must be a whole number"),
        ('"input_decimals":[2,0]', '"input_decimals":[2,false]', "decimals False: must be"),
        ('"input_decimals":[2,0]', '"input_decimals":2', "invalid chain configuration"),
        ('"name":"forecast"', '"name":7', "invalid chain configuration"),
        ('"0x0505', '"0505', "numeric_models: not canonical JSON"),
    ],
)
def test_refuses_what_no_numeric_section_can_be(old: str, new: str, message: str) -> None:
    text = ChainConfig(numeric_models=(NUMERIC,)).to_json()
    assert old in text
    with pytest.raises(ConfigError, match=message):
        ChainConfig.from_json(text.replace(old, new, 1))


@pytest.mark.parametrize("price", NUMERIC_PRICES)
@pytest.mark.parametrize("gas", [1, 2**63 - 1])
def test_takes_the_least_and_the_dearest_numeric_price(price: str, gas: int) -> None:
    schedule = NumericGasSchedule(**{price: gas})
    config = ChainConfig(numeric_models=(NUMERIC,), numeric_schedule=schedule)
    assert ChainConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize("price", NUMERIC_PRICES)
@pytest.mark.parametrize("gas", [-1, 0, 2**63, 1.5, True])
def test_refuses_what_no_numeric_price_can_be(price: str, gas: int) -> None:
    schedule = NumericGasSchedule(**{price: gas})
    with pytest.raises(ConfigError, match=f"numeric_schedule: {price} {gas}: must be a whole"):
        ChainConfig(numeric_models=(NUMERIC,), numeric_schedule=schedule)


def test_numeric_prices_without_numeric_models_are_refused() -> None:
    with pytest.raises(ConfigError, match="a chain without numeric models must have the default"):
        ChainConfig(numeric_schedule=NumericGasSchedule(base_gas=7))
    with pytest.raises(ConfigError, match="numeric_schedule of type dict: must be a"):
        ChainConfig(numeric_schedule={"base_gas": 7})  # type: ignore[arg-type]


def test_a_chain_needs_its_numeric_models() -> None:
    model = SumModel()
    profile = profile_of(model)
    config = ChainConfig(numeric_models=(profile,))
    chain = Chain(config, numeric_models={"sum": model})
    assert chain.header(0).extra_data == config.digest
    assert chain.code(bytes(19) + b"\x19") == b""  # type: ignore[arg-type]
    for models in ({}, {"other": model}, {"sum": model, "other": model}):
        with pytest.raises(ConfigError, match=r"must be those of the chain config, .'sum'."):
            Chain(config, numeric_models=models)
    with pytest.raises(ConfigError, match=r"numeric models .'sum'.: must be those .*, \[\]"):
        Chain(ChainConfig(), numeric_models={"sum": model})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"salt": 1}, "genesis has SHA-256 [0-9a-f]{64}, this file has [0-9a-f]{64}; use the"),
        ({"operations": 42}, "genesis has operations 41, its file has 42 in this version; use"),
        ({"input_decimals": (2, 2, 1)}, "genesis has input_decimals 2, 2, 0, its file has 2, 2, 1"),
        ({"output_decimals": (2,)}, "genesis has output_decimals 2, 4, its file has 2 in"),
        ({"input_ranges": ((0, 1),)}, "ranges of 1 inputs: must be 3"),
    ],
)
def test_refuses_another_numeric_model(change: dict[str, Any], message: str) -> None:
    profile, model = profile_of(SumModel()), SumModel(**change)
    if "salt" not in change:
        profile = replace(profile, digest=model.digest)
    with pytest.raises(ConfigError, match=f"numeric model sum: {message}"):
        check_numeric_fits(profile, model)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (RULES, "unknown decoding rule 'format': must be one of short_format, max_surprisal, st"),
        ((("short_format", 1),), "decoding rule short_format 1: must be 2, which has other rules"),
        ((("short_format", 0),), "decoding rule short_format 0: must be 2"),
        ((("router_weight", 256),), "decoding rule router_weight: there is no router any more"),
    ],
)
def test_a_chain_with_decoding_rules_that_are_not_implemented_is_refused(
    rules: tuple[tuple[str, int], ...], message: str
) -> None:
    config = ChainConfig(models=(replace(PROFILE, decoding=rules),))
    with pytest.raises(ConfigError, match=f"model bytes: {message}.*; or open the chain with"):
        Chain(config, {PROFILE.name: ByteModel([])})


def test_a_chain_keeps_its_decoding_rules() -> None:
    rules = (("max_surprisal", 1 << 32), ("short_format", 2), ("stated_values", 1))
    config = ChainConfig(models=(replace(PROFILE, decoding=rules),))
    assert Chain(config, {PROFILE.name: ByteModel([])}).config == config
    assert ChainConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize("version", ["1", "2", "4", '"3"', "true", "3.5", "null"])
def test_another_version_is_refused(version: str) -> None:
    text = ChainConfig().to_json().replace('"version":3', f'"version":{version}')
    with pytest.raises(ConfigError, match="open it with the version that created it, or create"):
        ChainConfig.from_json(text)


def test_version_1_has_no_number_and_is_told_apart() -> None:
    text = ChainConfig().to_json().replace(',"version":3', "")
    with pytest.raises(ConfigError, match="chain configuration of version 1: this version of pyev"):
        ChainConfig.from_json(text)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda: replace(ORIGIN, chain_id=0), "origin: chain id 0: must", id="chain"),
        pytest.param(
            lambda: replace(ORIGIN, block_number=-1), "origin: block number -1", id="block"
        ),
        pytest.param(
            lambda: replace(ORIGIN, block_hash=b"a"), "origin: block hash of 1 bytes", id="hash"
        ),
        *(
            pytest.param(
                lambda fields=fields: ChainConfig(numeric_models=(replace(NUMERIC, **fields),)),
                message,
                id=message,
            )
            for fields, message in [
                ({"digest": b""}, "forecast: digest of 0 bytes"),
                (
                    {"input_decimals": (78,)},
                    "forecast: decimals 78: must be a whole number from 0 to 77",
                ),
                ({"output_decimals": (-1,)}, "decimals -1: must be"),
                ({"output_decimals": ()}, "2 inputs and 0 outputs: must be 1 to 1024 and 1 to"),
                ({"input_decimals": (0,) * 1_025}, "1025 inputs and 1 outputs: must be 1 to 1024"),
                ({"output_decimals": (0,) * 1_025}, "2 inputs and 1025 outputs: must be 1 to"),
                ({"operations": 0}, "operations 0: must"),
                ({"operations": 2**63}, "operations 9223372036854775808: must"),
                ({"operations": True}, "operations True: must"),
            ]
        ),
        pytest.param(
            lambda: ChainConfig(numeric_models=(NUMERIC, replace(NUMERIC, name="b"))),
            "numeric models forecast and b have one SHA-256, 0505050505050505…: a chain has each",
            id="one file twice",
        ),
        pytest.param(
            lambda: ChainConfig(numeric_models=(NUMERIC, replace(NUMERIC, digest=bytes(32)))),
            "two models are called",
            id="one name for two numeric models",
        ),
        pytest.param(
            lambda: ChainConfig(
                models=(PROFILE,), numeric_models=(replace(NUMERIC, name="llama_model_3"),)
            ),
            "two models are called",
            id="an alias",
        ),
        pytest.param(
            lambda: ChainConfig(numeric_models=(replace(NUMERIC, name="a b"),)),
            "model name 'a b': use",
            id="name",
        ),
        pytest.param(
            lambda: ChainConfig(
                models=(PROFILE,), numeric_models=(replace(NUMERIC, name=PROFILE.name),)
            ),
            "two models are called",
            id="one name for two",
        ),
        *(
            pytest.param(
                lambda chooser=chooser: ChainConfig(models=(replace(PROFILE, **chooser),)),
                message,
                id=message,
            )
            for chooser, message in [
                ({"chooser": b"\x09"}, "chooser's digest of 1 bytes, must be 32 or 0"),
                ({"chooser_token_gas": 1}, "chooser_token_gas 1: must be 1 to .* 0 without"),
                ({"chooser": b"\x09" * 32}, "chooser_token_gas 0: must be 1"),
            ]
        ),
        *(
            pytest.param(
                lambda rules=rules: ChainConfig(models=(replace(PROFILE, decoding=rules),)),
                message,
                id=message,
            )
            for rules, message in [
                ((("b", 1), ("a", 1)), "must be sorted, each name once"),
                ((("a", 1), ("a", 2)), "decoding rules .'a', 'a'.: must be sorted"),
                ((("A", 1),), "decoding rule 'A': must be lower-case"),
                ((("a", -1),), "decoding rule a -1: must be a whole number"),
                ((("a", 1.0),), "decoding rule a 1.0: must be a whole number"),
            ]
        ),
    ],
)
def test_refuses_what_no_section_can_be(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def _facts(model: ModelProfile, fingerprint: str) -> ProfileFacts:
    return ProfileFacts(
        digest=model.digest,
        name=model.name,
        architecture="bytes",
        context_tokens=model.context_tokens,
        vocabulary_tokens=256,
        chat_prefix="",
        chat_middle="",
        chat_suffix="",
        fingerprint=fingerprint,
    )


def test_each_model_of_a_chain_has_its_own_engine_profile() -> None:
    second = replace(PROFILE, name="second", aliases=(), digest=b"\2" * 32)
    first_facts, second_facts = (
        _facts(model, text)
        for model, text in ((PROFILE, '{"canary":"a"}'), (second, '{"canary":"b"}'))
    )
    config = add_models(ChainConfig(), [(PROFILE, first_facts), (second, second_facts)])
    assert config.models[0] == PROFILE, "the chain's profile is not repeated"
    again = ChainConfig.from_json(config.to_json())
    assert again == config
    first, other = again.models
    check_fits(again, first, first_facts)
    check_fits(again, other, second_facts)
    with pytest.raises(ConfigError, match="the engine's profile is"):
        check_fits(again, other, replace(second_facts, fingerprint='{"canary":"a"}'))


def test_models_of_one_engine_profile_state_it_once() -> None:
    second = replace(PROFILE, name="second", aliases=(), digest=b"\2" * 32)
    facts = _facts(PROFILE, '{"canary":"a"}')
    config = add_models(ChainConfig(), [(PROFILE, facts), (second, facts)])
    assert config.models == (PROFILE, second)
    assert '"fingerprint"' not in config.to_json()


def test_a_configuration_is_read_from_its_own_form() -> None:
    config = ChainConfig(models=(PROFILE,), chain_id=7, profile_fingerprint='{"canary":""}')
    assert ChainConfig.from_json(config.to_json()) == config


GAS = st.integers(1, 2**63 - 1)


@given(
    schedule=st.builds(GasSchedule, **dict.fromkeys(PRICES, GAS)),
    tokens=st.tuples(GAS, GAS, GAS).filter(lambda prices: prices[1] <= prices[0]),
)
def test_a_configuration_of_any_prices_is_read_from_its_own_form(
    schedule: GasSchedule, tokens: tuple[int, int, int]
) -> None:
    cold, warm, output = tokens
    model = replace(
        PROFILE, cold_prompt_token_gas=cold, warm_prompt_token_gas=warm, output_token_gas=output
    )
    config = ChainConfig(models=(model,), schedule=schedule)
    again = ChainConfig.from_json(config.to_json())
    assert again == config
    assert again.schedule == schedule
    assert again.digest == config.digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"MAX_TOOLS":64', '"MAX_TOOLS":65', "with MAX_TOOLS = 65: this version has 64"),
        ('"TOOL_GAS":5000', '"TOOL_GAS":0', "schedule: tool_gas 0: must be 1"),
        ('"TOOL_GAS":5000', '"TOOL_GAS":5e3', "tool_gas 5000.0: must be a whole number"),
        ('"TOOL_GAS":5000', '"TOOL_GAS":null', "tool_gas None: must be a whole number"),
        ('"TOOL_GAS"', '"TOOLS_GAS"', "with TOOLS_GAS = 5000: this version has no such"),
        ('"TOOL_GAS"', '"tool_gas"', "with tool_gas = 5000: this version has no such"),
        (',"TOOL_GAS":5000', "", "schedule: not canonical JSON"),
        ('"schedule":{', '"schedule":5,"x":{', "invalid chain configuration: "),
        ('"chain_id":31337', '"chain_id":0', "chain id 0: must be 1"),
        ('"chain_id":31337', '"chain_id": 31337', "its spelling: not canonical JSON"),
        ('"digest":"0x0', '"digest":"0', "models: not canonical JSON"),
        ('"limits"', '"limit"', "invalid chain configuration: missing key"),
        ('"aliases":[', '"aliases":5,"x":[', "invalid chain configuration: "),
        ('"digest":"0x', '"digest":"xyz', "invalid chain configuration: "),
        ("{", "[", "invalid chain configuration: "),
        ("{", '{"x":' + "[" * 100_000, "must nest at most 64 objects and lists"),
    ],
)
def test_what_is_no_configuration_is_refused(old: str, new: str, message: str) -> None:
    text = ChainConfig(models=(PROFILE,)).to_json()
    assert old in text
    with pytest.raises(ConfigError, match=message):
        ChainConfig.from_json(text.replace(old, new, 1))

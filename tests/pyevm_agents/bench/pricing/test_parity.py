from __future__ import annotations

import math
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import ModelProfile
from pyevm_agents.bench.inference.fits import fit_terms
from pyevm_agents.bench.measurement.results import Machine, MeasuredModel, Point, Term, Yardstick
from pyevm_agents.bench.pricing.parity import (
    build_parity_schedule,
    compute_numeric_schedule,
    compute_prices,
    find_reference,
    get_reference_ns_per_gas,
    is_extrapolated,
    round_up_price,
)
from pyevm_agents.config import ChainConfig
from pyevm_agents.config.schedule_file import parse_schedule
from pyevm_agents.errors import ConfigError
from pyevm_agents.reports.number_format import Interval
from tests.numeric_model import SumModel, profile_of
from tests.pyevm_agents.bench import made_up
from tests.pyevm_agents.bench.made_up_terms import Truth, made_up_probes

DIGEST = "ab" * 32
MODEL = MeasuredModel(
    name="tiny",
    digest=DIGEST,
    parameters=1_000,
    file_bytes=1_000,
    context_tokens=1_000,
    fingerprint="{}",
)
PROFILE = ModelProfile(
    name="tiny",
    aliases=(),
    digest=bytes.fromhex(DIGEST),
    context_tokens=1_000,
    max_output_tokens=100,
    chat_prefix="",
    chat_middle="",
    chat_suffix="",
    cold_prompt_token_gas=1,
    warm_prompt_token_gas=1,
    output_token_gas=1,
)


def term(name: str, ns: float, most: float | None = None, **coefficients: float) -> Term:
    """A term that was measured to 1,000 tokens, 10 % more or less."""
    most = ns if most is None else most
    return Term(
        name=name,
        formula="",
        coefficients=tuple((key, exact(value)) for key, value in coefficients.items()),
        ns=about(ns),
        ns_at_most=about(most),
        marginal=(Point(x=500, y=about(ns)), Point(x=1_000, y=about(most))),
        axis="",
        residuals=(),
        relative_error=0.0,
    )


def about(middle: float) -> Interval:
    return Interval(middle=middle, low=middle * 0.9, high=middle * 1.1)


def exact(middle: float) -> Interval:
    return Interval(middle=middle, low=middle, high=middle)


def yardstick(name: str, ns_per_gas: float, *, vm: str = "pyevm-agents") -> Yardstick:
    return Yardstick(
        name=name,
        title=f"The {name}",
        vm=vm,
        gas=1,
        seconds=(1.0,),
        ns_per_gas=about(ns_per_gas),
        is_worst_case=False,
    )


TERMS = (
    term("call", 20_000),
    term("byte", 100),
    term("tool", 4_000),
    term("parameter", 1_000, 30_000),
    term("read", 2_000),
    term("cold", 400_000, 500_000, a=0.0, b=3e-4, c=1e-7),
    term("warm", 5, 1_000),
    term("sampled", 1_000_000, 1_200_000, a=8e-4, b=4e-7),
    term("forced", 500_000, 600_000, a=5e-4, b=1e-7),
)
YARDSTICKS = (
    yardstick("erc20", 100),
    yardstick("ecrecover", 10),
    yardstick("pairing", 1_000),
    yardstick("erc20", 1, vm="anvil 1.5.0"),
)


def test_a_price_is_a_units_time_over_a_gas_time() -> None:
    found = {price.term: price for price in compute_prices(TERMS, YARDSTICKS)}
    assert list(found) == ["call", "byte", "tool", "parameter", "cold", "warm", "output"]
    usual = {name: dict(price.parity_gas) for name, price in found.items()}
    most = {name: dict(price.parity_gas_at_most) for name, price in found.items()}
    assert list(usual["cold"]) == ["ecrecover", "erc20", "worst"]
    assert {name: gas["erc20"].middle for name, gas in usual.items()} == pytest.approx(
        # A tool is read three times: 4,000 + 3 by 2,000.
        {
            "call": 200,
            "byte": 1,
            "tool": 100,
            "parameter": 10,
            "cold": 4_000,
            "warm": 0.05,
            "output": 10_000,
        }
    )
    assert usual["cold"]["ecrecover"].middle == pytest.approx(40_000)
    assert usual["cold"]["worst"].middle == pytest.approx(400)
    assert most["parameter"]["erc20"].middle == pytest.approx(300)
    assert most["output"]["erc20"].high == pytest.approx(1_200_000 * 1.1 / 90)
    assert most["output"]["erc20"].low == pytest.approx(1_200_000 * 0.9 / 110)
    assert {name: price.default_gas for name, price in found.items()} == {
        "call": 3_000,
        "byte": 16,
        "tool": 5_000,
        "parameter": 2_000,
        "cold": 6_000,
        "warm": 100,
        "output": 10_000,
    }


def test_a_schedule_charges_the_most_that_a_unit_may_take() -> None:
    told = build_parity_schedule(TERMS, YARDSTICKS, "erc20", MODEL)
    # Upper end of the dearest unit over the lower end of the reference: by 1.1 / (100 by 0.9).
    assert told.schedule == {
        "executor_base_gas": 250,  # 244.4
        "input_byte_gas": 2,  # 1.2
        "tool_gas": 130,  # 122.2
        "parameter_gas": 370,  # 366.7
    }
    assert told.models == {
        "0x" + DIGEST: {
            "cold_prompt_token_gas": 6_200,  # 6,111
            "warm_prompt_token_gas": 13,  # 12.2
            "output_token_gas": 15_000,  # 14,667
        }
    }
    assert told.made["reference"] == "erc20"
    assert told.made["model_digest"] == DIGEST
    assert told.made["longest_prompt_tokens_measured"] == 1_000


def test_a_schedule_is_a_file_that_a_chain_takes() -> None:
    machine = Machine(
        processor="Z80", cores=1, memory_bytes=1, system="CP/M", python="3", versions=()
    )
    told = build_parity_schedule(
        TERMS, YARDSTICKS, "worst", MODEL, machine=machine, made_at="2026-11-22T00:00:00+00:00"
    )
    read = parse_schedule(told.to_json())
    assert read.made["processor"] == "Z80"
    assert read.made["yardstick"] == "The pairing"
    rules = read.apply_to(ChainConfig(models=(PROFILE,)))
    assert rules.models[0].cold_prompt_token_gas == 620
    assert rules.schedule.parameter_gas == 37
    assert rules.schedule.metadata_read_gas == 2_000_000  # A limit, not a price.


def test_a_schedule_has_numeric_prices_if_they_were_measured() -> None:
    numeric = made_up.report().numeric
    assert numeric is not None
    told = build_parity_schedule(TERMS, YARDSTICKS, "erc20", MODEL, numeric_prices=numeric.prices)
    assert told.numeric_schedule == compute_numeric_schedule(numeric.prices, "erc20")
    model = SumModel()
    priced = parse_schedule(told.to_json()).apply_to(
        ChainConfig(models=(PROFILE,), numeric_models=(profile_of(model),))
    )
    assert asdict(priced.numeric_schedule) == dict(told.numeric_schedule)
    without = build_parity_schedule(TERMS, YARDSTICKS, "erc20", MODEL)
    assert "numeric_schedule" not in without.to_json()


def test_prices_hold_for_contexts_longer_than_what_was_measured() -> None:
    longer = replace(MODEL, context_tokens=5_000)
    told = build_parity_schedule(TERMS, YARDSTICKS, "erc20", longer)
    prices_of_tokens = told.models["0x" + DIGEST]
    # At 5,000 tokens 3e-4 + 1e-3 s in place of 3e-4 + 2e-4 at 1,000: 2.6 times as long.
    assert prices_of_tokens["cold_prompt_token_gas"] == 16_000  # 6,111 by 2.6 = 15,889
    assert prices_of_tokens["output_token_gas"] == 35_000  # 14,667 by 2.8e-3 / 1.2e-3 = 34,222
    assert prices_of_tokens["warm_prompt_token_gas"] == 13
    assert told.made["prices_hold_to_tokens"] == 5_000
    assert (
        told.made["note"] == "the fitted curves are extrapolated: longer prompts were not measured"
    )
    assert is_extrapolated(TERMS, longer)
    assert not is_extrapolated(TERMS, MODEL)
    assert not is_extrapolated((), longer)
    assert "note" not in build_parity_schedule(TERMS, YARDSTICKS, "erc20", MODEL).made


def test_warm_tokens_never_cost_more_than_cold_ones() -> None:
    dear = [term("warm", 5, 9e9) if one.name == "warm" else one for one in TERMS]
    told = build_parity_schedule(dear, YARDSTICKS, "erc20", MODEL).models["0x" + DIGEST]
    assert told["warm_prompt_token_gas"] == told["cold_prompt_token_gas"]


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=2).map(sorted))
def test_a_price_is_rounded_up_to_two_digits_and_is_never_nothing(gas: list[float]) -> None:
    less, more = map(round_up_price, gas)
    assert 1 <= less <= more
    assert gas[1] <= more <= max(1.0, math.ceil(gas[1]) * 1.1)
    assert len(str(more).rstrip("0")) <= 2


@pytest.mark.parametrize(
    ("gas", "price"), [(0, 1), (0.2, 1), (1, 1), (9.1, 10), (99.5, 100), (101, 110), (6_111, 6_200)]
)
def test_prices_by_hand(gas: float, price: int) -> None:
    assert round_up_price(gas) == price


def test_a_slower_machine_has_no_lower_price() -> None:
    before: dict[str, int] = {}
    for factor in (1.0, 1.3, 2.0):
        truth = Truth(cold=3e-3 * factor, sampled=1e-2 * factor, restored=1e-5 * factor)
        told = build_parity_schedule(
            fit_terms(made_up_probes(truth, longest=1024)), YARDSTICKS, "erc20", MODEL
        )
        now = dict(told.models["0x" + DIGEST])
        assert all(now[name] >= gas for name, gas in before.items())
        before = now


def test_the_worst_is_the_slowest_on_our_own_vm() -> None:
    slowest = find_reference(YARDSTICKS, "worst")
    assert slowest is not None
    assert (slowest.name, slowest.vm) == ("pairing", "pyevm-agents")
    assert get_reference_ns_per_gas(YARDSTICKS)["worst"] == slowest.ns_per_gas
    assert get_reference_ns_per_gas(YARDSTICKS)["erc20"].middle == 100
    assert find_reference(YARDSTICKS, "keccak") is None
    assert find_reference(YARDSTICKS[3:], "worst") is None
    assert get_reference_ns_per_gas([]) == {}


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_a_reference_that_took_no_time_has_no_price(low: float) -> None:
    """It may be the difference of two samples."""
    nothing = replace(YARDSTICKS[0], ns_per_gas=Interval(middle=1.0, low=low, high=2.0))
    with pytest.raises(ConfigError, match="measure it again"):
        build_parity_schedule(TERMS, [nothing], nothing.name, MODEL)


def test_what_was_not_measured_is_named() -> None:
    with pytest.raises(ConfigError, match=r"'ecrecover': no such yardstick .*; there are erc20"):
        build_parity_schedule(TERMS, YARDSTICKS[:1], "ecrecover", MODEL)
    with pytest.raises(ConfigError, match="no yardstick of our own VM"):
        compute_prices(TERMS, YARDSTICKS[3:])
    with pytest.raises(ConfigError, match="the term 'read' was not measured"):
        compute_prices([one for one in TERMS if one.name != "read"], YARDSTICKS)
    with pytest.raises(ConfigError, match="a price of inf gas"):
        round_up_price(math.inf)

"""Prices of numeric models: made-up times give back the units that they are made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE
from pyevm_agents.bench.measurement.results import NumericPrice
from pyevm_agents.bench.numeric.prices import compute_numeric_prices, fit_numeric_terms
from pyevm_agents.bench.pricing.parity import (
    build_numeric_schedules,
    compute_numeric_schedule,
    find_reference,
)
from pyevm_agents.errors import ConfigError
from pyevm_agents.reports.number_format import Interval
from tests.pyevm_agents.bench import made_up

FULL = made_up.report()
assert FULL.numeric is not None
TRANSACTIONS = FULL.numeric.transactions


def test_units_are_found_in_transactions() -> None:
    terms = fit_numeric_terms(TRANSACTIONS)
    found = [terms.ns[name].middle for name in terms.ns]
    assert found == pytest.approx(made_up.NUMERIC_NS[1:], rel=0.02)
    assert terms.relative_error < 0.01
    at_most = {name: value.middle for name, value in terms.ns_at_most.items()}
    assert at_most.pop("operations_per_gas") == pytest.approx(1.0, rel=0.05)  # An attack's.
    assert [*at_most.values()] == pytest.approx(found[:-1])


def test_what_is_not_mostly_operations_says_nothing_of_them() -> None:
    slow = replace(TRANSACTIONS[0], seconds=tuple(1.2 * each for each in TRANSACTIONS[0].seconds))
    terms = fit_numeric_terms((*TRANSACTIONS[:-2], replace(slow, is_attack=True)))
    most = terms.ns_at_most["operations_per_gas"]
    assert most.middle == pytest.approx(terms.ns["operations_per_gas"].middle)


def test_parity_is_a_units_time_over_a_gas_time() -> None:
    pace = find_reference(FULL.yardsticks, "erc20")
    assert pace is not None
    terms = fit_numeric_terms(TRANSACTIONS)
    prices = {price.name: price for price in compute_numeric_prices(terms, FULL.yardsticks)}
    gas = dict(prices["base_gas"].parity)["erc20"].middle
    assert gas == pytest.approx(terms.ns["base_gas"].middle / pace.ns_per_gas.middle)
    operations = prices["operations_per_gas"]
    most = terms.ns_at_most["operations_per_gas"]
    assert dict(operations.parity_at_most)["erc20"].middle == pytest.approx(
        pace.ns_per_gas.middle / most.middle
    )
    assert {name: price.default for name, price in prices.items()} == {
        name: getattr(DEFAULT_NUMERIC_SCHEDULE, name) for name in prices
    }
    assert not any(price.parity for price in compute_numeric_prices(terms, ()))


def price(name: str, low: float, high: float) -> NumericPrice:
    bounds = Interval(middle=(low + high) / 2, low=low, high=high)
    return NumericPrice(
        name=name,
        ns=bounds,
        ns_at_most=bounds,
        parity=(("erc20", bounds),),
        parity_at_most=(("erc20", bounds),),
        default=1,
    )


@pytest.mark.parametrize(
    ("low", "operations"), [(0.2, 1), (1.9, 1), (9.99, 9), (99.9, 99), (129.0, 120), (5_678, 5_600)]
)
def test_a_schedule_rounds_to_the_dear_side(low: float, operations: int) -> None:
    prices = [
        price("base_gas", 1, 2_031),
        price("input_byte_gas", 0, 0.2),
        price("output_byte_gas", 0, 15.1),
        price("operations_per_gas", low, 10 * low),
    ]
    schedule = compute_numeric_schedule(prices, "erc20")
    assert schedule == {
        "base_gas": 2_100,
        "input_byte_gas": 1,
        "output_byte_gas": 16,
        "operations_per_gas": operations,
    }
    assert compute_numeric_schedule(prices, "worst") == {}
    assert compute_numeric_schedule((), "erc20") == {}
    (found,) = build_numeric_schedules(prices).items()
    assert found[0] == "parity-erc20"
    assert found[1].operations_per_gas == operations


def test_operations_that_take_no_time_have_no_price() -> None:
    with pytest.raises(ConfigError, match="measure the numeric models again"):
        compute_numeric_schedule([price("operations_per_gas", float("inf"), 1)], "erc20")

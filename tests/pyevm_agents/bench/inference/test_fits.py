from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.bench.inference.fits import (
    compute_marginal_ns,
    find_longest_measured,
    fit_terms,
    index_coefficients,
    predict_seconds,
)
from pyevm_agents.bench.measurement.results import TERMS, Term
from pyevm_agents.bench.measurement.usage import Usage
from tests.pyevm_agents.bench.made_up_terms import Truth, made_up_probes


def by_name(truth: Truth, **how: float) -> dict[str, Term]:
    return {term.name: term for term in fit_terms(made_up_probes(truth, **how))}  # type: ignore[arg-type]


def test_every_term_is_fitted_in_order() -> None:
    assert [term.name for term in fit_terms(made_up_probes(Truth()))] == list(TERMS)


@settings(max_examples=5)
@given(
    cold=st.floats(1e-4, 1e-1),
    attention=st.floats(1e-9, 1e-5),
    sampled=st.floats(1e-3, 1e-1),
    restored=st.floats(1e-6, 1e-4),
    array=st.floats(1e-4, 1e-2),
)
def test_exact_probes_give_their_terms(**truths: float) -> None:
    truth = replace(Truth(), **truths)
    found = by_name(truth)
    ns = {
        name: (term.ns.middle / 1e9, term.ns_at_most.middle / 1e9) for name, term in found.items()
    }
    cold = truth.cold + 2 * 2048 * truth.attention, truth.cold + 2 * 4096 * truth.attention
    assert ns["cold"] == pytest.approx(cold, rel=1e-3)
    said = truth.sampled + 2048 * truth.sampled_before
    assert ns["sampled"][0] == pytest.approx(said, rel=1e-3)
    most = truth.sampled + 4096 * truth.sampled_before + truth.digit
    assert ns["sampled"][1] == pytest.approx(most, rel=1e-3)
    assert ns["forced"][0] == pytest.approx(truth.forced + 2048 * truth.forced_before, rel=1e-3)
    assert ns["warm"] == pytest.approx((truth.kept, max(truth.kept, truth.restored)), rel=1e-2)
    assert ns["parameter"] == pytest.approx((truth.parameter, truth.array), rel=1e-2)
    assert ns["tool"][0] == pytest.approx(truth.tool, rel=1e-2)
    assert ns["read"][0] == pytest.approx(truth.read, rel=1e-2)
    assert ns["byte"] == pytest.approx((truth.byte, truth.byte + truth.spelled), rel=1e-2)
    assert ns["call"][0] == pytest.approx(truth.call + truth.begin, rel=1e-2)
    assert all(term.relative_error < 1e-6 for term in found.values())


def test_noise_makes_intervals_that_hold_the_truth() -> None:
    truth, held, asked = Truth(), 0, 0
    for seed in range(5):
        found = by_name(truth, noise=0.05, seed=seed)
        for name, want in {
            "cold": truth.cold + 2 * 4096 * truth.attention,
            "sampled": truth.sampled + 4096 * truth.sampled_before + truth.digit,
            "warm": truth.restored,
            "parameter": truth.array,
        }.items():
            it = found[name].ns_at_most
            held += it.low <= want * 1e9 <= it.high
            asked += 1
    assert held >= 0.8 * asked


def test_longer_prompts_never_cost_less() -> None:
    cold = by_name(Truth(), noise=0.2)["cold"]
    middles = [point.y.middle for point in cold.marginal]
    assert middles == sorted(middles)
    assert [point.x for point in cold.marginal][-1] == 4096
    assert cold.ns.middle <= cold.ns_at_most.middle


def test_residuals_are_those_of_the_terms_own_probes() -> None:
    probes = made_up_probes(Truth())
    late = next(each for each in probes if each.term == "cold" and each.prompt_tokens == 1024)
    slower = replace(late, seconds=tuple(2 * each for each in late.seconds))
    found = {term.name: term for term in fit_terms([slower, *probes])}
    off = dict(sorted(found["cold"].residuals, key=lambda each: each[1]))
    assert len(found["cold"].residuals) == sum(each.term == "cold" for each in probes) + 1
    assert max(off, key=lambda x: off[x]) == 1024
    assert found["cold"].relative_error > 0.01
    assert found["warm"].relative_error < 1e-6


def test_remembered_calls_are_no_part_of_a_fit() -> None:
    probes = made_up_probes(Truth())
    call = next(each for each in probes if each.term == "call")
    remembered = replace(call, detail="remembered", seconds=(1e-9,))
    assert index_coefficients(fit_terms([*probes, remembered])) == index_coefficients(
        fit_terms(probes)
    )


def test_calls_are_predicted_from_the_terms() -> None:
    t = Truth()
    found = list(by_name(t).values())
    first = Usage(
        calls=1,
        input_bytes=1_000,
        tools=2,
        parameters=3,
        cold_tokens=600,
        output_tokens=30,
        forced_tokens=10,
    )
    second = Usage(
        calls=1,
        input_bytes=1_000,
        tools=2,
        parameters=3,
        cold_tokens=40,
        warm_tokens=640,
        output_tokens=30,
        forced_tokens=10,
    )
    same = t.call + t.begin + 1_000 * t.byte + 2 * (t.tool + 3 * t.read) + 3 * t.parameter
    want = 2 * same
    want += 600 * t.cold + t.attention * 600**2
    want += 40 * t.cold + t.attention * (680**2 - 640**2) + 640 * t.kept
    for prompt in (600, 680):
        want += 19 * (t.sampled + t.sampled_before * (prompt + 15))
        want += 10 * (t.forced + t.forced_before * (prompt + 15))
    assert predict_seconds([first, second], found) == pytest.approx(want, rel=1e-3)


def test_calls_alike_may_come_in_one_sum() -> None:
    found = list(by_name(Truth()).values())
    one = Usage(calls=1, input_bytes=9, cold_tokens=100, warm_tokens=64, output_tokens=20)
    assert predict_seconds(one + one + one, found) == pytest.approx(
        predict_seconds([one, one, one], found)
    )
    gas = Usage(evm_gas=1_000)
    assert predict_seconds(gas, found, evm_ns_per_gas=50) == pytest.approx(50e-6)
    assert predict_seconds((), found) == 0


def test_curves_go_on_beyond_what_was_measured() -> None:
    t = Truth()
    found = by_name(t)
    assert find_longest_measured(found.values()) == 4096
    assert compute_marginal_ns(found["cold"], 8192) == pytest.approx(
        (t.cold + 2 * 8192 * t.attention) * 1e9, rel=1e-3
    )
    assert compute_marginal_ns(found["sampled"], 8192) == pytest.approx(
        (t.sampled + 8192 * t.sampled_before) * 1e9, rel=1e-3
    )
    assert compute_marginal_ns(found["warm"], 8192) == found["warm"].ns_at_most.middle


def test_a_term_without_probes_is_refused() -> None:
    with pytest.raises(ValueError, match="no probe of cold was made"):
        fit_terms(each for each in made_up_probes(Truth()) if each.term != "cold")

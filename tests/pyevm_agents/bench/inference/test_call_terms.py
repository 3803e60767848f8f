from __future__ import annotations

from dataclasses import replace

import pytest

from pyevm_agents.bench.inference.fits import fit_terms
from tests.pyevm_agents.bench.made_up_terms import Truth, made_up_probes


def test_lists_and_spelled_control_tokens_decide_about_the_most() -> None:
    cheap = replace(Truth(), array=1e-5, spelled=0.0)
    for truth in (Truth(), cheap):
        found = {term.name: term for term in fit_terms(made_up_probes(truth))}
        assert found["parameter"].ns.middle == pytest.approx(2e4, rel=1e-2)
        assert found["parameter"].ns_at_most.middle == pytest.approx(
            max(truth.array, truth.parameter) * 1e9, rel=1e-2
        )
        assert found["byte"].ns_at_most.middle == pytest.approx(
            (truth.byte + truth.spelled) * 1e9, rel=1e-2
        )


def test_a_call_is_its_own_part_and_a_beginning() -> None:
    found = fit_terms(made_up_probes(Truth()))[0]
    assert found.name == "call"
    own, begin = dict(found.coefficients)["a"], dict(found.coefficients)["b"]
    assert (own.middle, begin.middle) == pytest.approx((4e-3, 2e-2), rel=1e-2)
    assert found.ns.middle == pytest.approx(2.4e7, rel=1e-2)


def test_axes_count_what_the_term_is_of() -> None:
    found = {term.name: term for term in fit_terms(made_up_probes(Truth()))}
    assert [point.x for point in found["tool"].marginal] == [8, 64]
    assert [point.x for point in found["read"].marginal] == [6, 48, 192]
    assert [point.x for point in found["parameter"].marginal] == [32, 192, 256]
    assert [x for x, _ in found["byte"].residuals] == [2_000, 24_000, 4_000]

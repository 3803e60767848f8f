"""Fees of signed transactions: within the bounds whatever a node proposes."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.client.signing import ETHER, GWEI, FeeBoundError, FeeBounds, Fees
from tests.checkout import product_modules

WORDS = st.one_of(st.integers(0, 10**13), st.integers(0, 2**256 - 1))
GAS = st.one_of(st.integers(21_000, 2**24), st.integers(0, 2**256 - 1))
BOUNDS = st.one_of(st.just(FeeBounds()), st.integers(1, 10**18).map(FeeBounds.from_fee))


@st.composite
def fees(draw: st.DrawFn) -> Fees:
    if draw(st.booleans()):
        price = draw(WORDS)
        return Fees(price, price, None)
    base_fee, tip = draw(WORDS), draw(WORDS)
    return Fees(2 * base_fee + tip, tip, base_fee)


def assert_within(bounds: FeeBounds, found: Fees, asked: Fees, gas: int) -> None:
    assert 0 <= found.tip <= found.fee <= bounds.max_fee_wei
    assert found.fee * gas <= bounds.max_cost_wei
    assert found.base_fee is None or found.tip <= bounds.max_tip_wei
    assert (found.fee, found.tip) <= (asked.fee, asked.tip)


@given(bounds=BOUNDS, asked=fees(), gas=GAS)
def test_no_proposal_moves_the_bounds(bounds: FeeBounds, asked: Fees, gas: int) -> None:
    assert_within(bounds, bounds.cap(asked, gas), asked, gas)
    try:
        found = bounds.require(asked, gas)
    except FeeBoundError:
        return
    assert_within(bounds, found, asked, gas)
    assert found.fee >= (asked.base_fee or 0)


@pytest.mark.parametrize(
    ("bounds", "asked", "gas", "fee"),
    [
        (FeeBounds(), Fees(3 * GWEI, GWEI, GWEI), 10**6, 3 * GWEI),
        (FeeBounds(), Fees(850 * GWEI, 50 * GWEI, 400 * GWEI), 10**6, 500 * GWEI),
        (FeeBounds(), Fees(151 * GWEI, 51 * GWEI, 50 * GWEI), 10**6, None),
        (FeeBounds(), Fees(396_825 * GWEI, 198_412 * GWEI, GWEI), 21_000, None),
        (FeeBounds(), Fees(1_003 * GWEI, GWEI, 501 * GWEI), 21_000, None),
        (FeeBounds(), Fees(500 * GWEI, 500 * GWEI, None), 10**6, 500 * GWEI),
        (FeeBounds(), Fees(501 * GWEI, 501 * GWEI, None), 21_000, None),
        (FeeBounds(), Fees(101 * GWEI, GWEI, 50 * GWEI), 10**7, None),
        (FeeBounds.from_fee(600 * GWEI), Fees(601 * GWEI, 599 * GWEI, GWEI), 2**24, 600 * GWEI),
        (FeeBounds.from_fee(2 * GWEI), Fees(21 * GWEI, GWEI, 10 * GWEI), 21_000, None),
        (FeeBounds.from_fee(GWEI), Fees(GWEI, 0, GWEI), 10**9, GWEI),
        (FeeBounds.from_fee(GWEI), Fees(GWEI, 0, GWEI), 10**9 + 1, None),
    ],
)
def test_bounds_at_their_edges(bounds: FeeBounds, asked: Fees, gas: int, fee: int | None) -> None:
    if fee is None:
        with pytest.raises(FeeBoundError, match="must be at most"):
            bounds.require(asked, gas)
    else:
        assert bounds.require(asked, gas).fee == fee
    assert bounds.max_cost_wei >= ETHER


def test_transactions_are_signed_in_one_place() -> None:
    signing = {
        name
        for name, file in product_modules().items()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in {"sign_transaction", "signTransaction"}
        and isinstance(node.value, ast.Name)
        and node.value.id != "transaction_defaults"  # The node's own accounts.
    }
    assert signing == {"pyevm_agents.client.signing"}

"""Any sequence of loans, repayments, sales, deposits and withdrawals: the pool owes what it has."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contracts.loan.loan_world import COLLATERAL, DAY, USDC
from tests.contracts.loan.pool_bench import BORROWER, LENDER, PoolBench
from tests.contracts.plain_evm import RevertedError

pytestmark = pytest.mark.slow

ACTIONS = st.tuples(
    st.sampled_from(["request", "repay", "liquidate", "deposit", "withdraw", "donate", "surplus"]),
    st.integers(0, 6_000 * USDC),
    st.sampled_from([0, 1, DAY, 30 * DAY, 34 * DAY]),
)


@pytest.fixture(scope="module")
def built() -> PoolBench:
    return PoolBench()


def act(bench: PoolBench, action: str, amount: int) -> None:
    pool, lender = bench.pool, LENDER.address
    loan = 1 + amount % 4
    if action == "request":
        bench.request(amount, 4 * COLLATERAL)
    elif action == "repay":
        pool("repay", loan, sender=BORROWER)
    elif action == "liquidate":
        pool("liquidate", loan, amount)
    elif action == "deposit":
        pool("deposit", amount, lender)
    elif action == "withdraw":
        pool("withdraw", amount, lender, lender)
    elif action == "donate":
        bench["USDC"]("transfer", pool.address, amount)
    else:
        pool("takeSurplus", sender=BORROWER)


@settings(max_examples=8, deadline=None)
@given(actions=st.lists(ACTIONS, min_size=1, max_size=8))
def test_the_pool_owes_what_it_has(built: PoolBench, actions: list[tuple[str, int, int]]) -> None:
    with built.rolled_back() as bench:
        bench.script(*bench.ideal())
        bench["USDC"]("mint", LENDER.address, 50_000 * USDC)
        pool = bench.pool
        for action, amount, seconds in actions:
            assets = pool("totalAssets")
            with suppress(RevertedError):
                act(bench, action, amount)
            if action in {"repay", "donate", "surplus"}:
                assert pool("totalAssets") >= assets
            open_loans = [pool("loanOf", loan) for loan in pool("openLoansOf", BORROWER.address)]
            debts = [pool("debtOf", loan) for loan in pool("openLoansOf", BORROWER.address)]
            currency, collateral = bench.held(pool.address)
            idle, surplus = pool("idle"), pool("surplusOf", BORROWER.address)
            assert currency >= idle + surplus
            assert collateral == sum(loan[5] for loan in open_loans)
            assert pool("lent") == sum(loan[4] for loan in open_loans)
            # Each debt is rounded up, their sum down.
            assert 0 <= idle + sum(debts) - pool("totalAssets") <= len(debts)
            assert pool("convertToAssets", pool("totalSupply")) <= pool("totalAssets")
            bench.wait(seconds)

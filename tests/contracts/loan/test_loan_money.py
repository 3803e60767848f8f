"""Interest, repayments, sales of collateral and lenders' shares, at their edges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_utils import function_signature_to_4byte_selector

from tests.contracts.loan.loan_world import (
    BPS,
    COLLATERAL,
    DAY,
    GRACE,
    LENDERS_FUNDS,
    LOAN,
    SALE,
    SHARE,
    USDC,
    YEAR,
    Terms,
)
from tests.contracts.loan.pool_bench import BORROWER, LENDER, PoolBench
from tests.contracts.plain_evm import ZERO, reverts

if TYPE_CHECKING:
    from collections.abc import Iterator

TERMS = Terms()
NO_LIMIT = 2**256 - 1


def interest(seconds: int, principal: int = LOAN, rate_bps: int = TERMS.rate_bps) -> int:
    """Return simple interest, rounded up."""
    return -(-principal * rate_bps * seconds // (BPS * YEAR))


@pytest.fixture(scope="module")
def built() -> PoolBench:
    return PoolBench()


@pytest.fixture
def bench(built: PoolBench) -> Iterator[PoolBench]:
    with built.rolled_back():
        yield built


@pytest.mark.parametrize(
    ("seconds", "is_late"),
    [
        (0, False), (1, False), (TERMS.term - 1, False), (TERMS.term, False),
        (TERMS.term + 1, True), (YEAR, True),
    ],
)  # fmt: skip
def test_a_repayment_is_principal_and_interest_by_the_second(
    bench: PoolBench,
    seconds: int,
    is_late: bool,
) -> None:
    loan, start = bench.lend(), bench.now
    bench.wait(seconds)
    debt = LOAN + interest(seconds)
    assert (bench.pool("debtOf", loan), bench.record()["debt"]) == (debt, debt)
    before = bench.held(BORROWER.address)
    assets = bench.pool("totalAssets")
    assert bench.pool("repay", loan, sender=BORROWER) == debt
    event = {"id": loan, "borrower": int(BORROWER.address, 16), "amount": debt, "isLate": is_late}
    assert bench.pool.events("LoanRepaid") == [event]
    assert bench.held(BORROWER.address) == (before[0] - debt, before[1] + COLLATERAL)
    assert bench.held(bench.pool.address) == (LENDERS_FUNDS - LOAN + debt, 0)
    # Interest is rounded up for borrowers and down for lenders, so these lose nothing.
    assert bench.pool("totalAssets") == LENDERS_FUNDS + interest(seconds)
    assert 0 <= bench.pool("totalAssets") - assets <= 1
    assert bench.record() == {
        "loans": 1, "repaid": 1, "late": int(is_late), "defaulted": 0, "borrowed": LOAN,
        "repaid_amount": debt, "first_loan_at": start, "open": 0, "debt": 0, "denied": 0,
    }  # fmt: skip
    with reverts("NoSuchLoan", loan):
        bench.pool("repay", loan, sender=BORROWER)


@pytest.mark.parametrize(
    ("principal", "rate_bps", "seconds", "owed"),
    [
        (1, 1, 0, 1),
        (1, 1, 1, 2),  # less than a base unit is one
        (1, 10_000, YEAR, 2),
        (1, 10_000, YEAR + 1, 3),
        (LOAN, 0, YEAR, LOAN),
        (31_536 * USDC // 1_000, 10_000, 1, 31_536 * USDC // 1_000 + 1),  # a base unit, exactly
        (31_536 * USDC // 1_000 + 1, 10_000, 1, 31_536 * USDC // 1_000 + 3),
    ],
)
def test_interest_is_rounded_up(
    bench: PoolBench, principal: int, rate_bps: int, seconds: int, owed: int
) -> None:
    bench["policy"]("setTerms", replace(TERMS, rate_bps=rate_bps).as_abi())
    loan = bench.lend(principal)
    bench.wait(seconds)
    assert bench.pool("debtOf", loan) == owed == principal + interest(seconds, principal, rate_bps)


def test_terms_of_a_loan_stay_when_the_policy_changes(bench: PoolBench) -> None:
    loan = bench.lend()
    bench["policy"]("setTerms", replace(TERMS, rate_bps=10_000, term=1, max_loan=0).as_abi())
    bench.wait(TERMS.term)
    assert bench.pool("debtOf", loan) == LOAN + interest(TERMS.term)
    borrower, *_ = bench.pool("loanOf", loan)
    assert borrower == BORROWER.address
    bench.pool("repay", loan, sender=BORROWER)
    assert bench.record()["late"] == 0


def test_anybody_repays_and_the_collateral_is_the_borrowers(bench: PoolBench) -> None:
    loan = bench.lend()
    before = bench.held(BORROWER.address)
    bench["USDC"]("mint", LENDER.address, LOAN)
    bench.pool("repay", loan)
    assert bench.held(BORROWER.address) == (before[0], before[1] + COLLATERAL)


def test_a_loan_is_sold_after_its_grace_period(bench: PoolBench) -> None:
    loan = bench.lend()
    until = bench.now + TERMS.term + GRACE
    for seconds in (0, TERMS.term + GRACE):
        bench.wait(seconds)
        with reverts("NotDefaulted", loan, until):
            bench.pool("liquidate", loan, NO_LIMIT)
    assert bench.record()["defaulted"] == 0
    bench.wait(1)
    record = bench.record()
    assert (record["defaulted"], record["open"]) == (1, 1)
    # It can still be repaid, late, and is then no default.
    with bench.rolled_back():
        bench.pool("repay", loan, sender=BORROWER)
        record = bench.record()
        assert (record["defaulted"], record["late"], record["open"]) == (0, 1, 0)
    bench["USDC"]("mint", LENDER.address, 3 * LOAN + USDC * 100)
    price = bench.pool("liquidate", loan, NO_LIMIT)
    debt = LOAN + interest(TERMS.term + GRACE + 1)
    assert price == -(-3 * debt * (SALE - 1) // SALE)
    (sold,) = bench.pool.events("LoanSold")
    assert (sold["price"], sold["surplus"], sold["loss"]) == (price, price - debt, 0)
    assert bench.pool("idle") == LENDERS_FUNDS - LOAN + debt == bench.pool("totalAssets")
    record = bench.record()
    assert (record["defaulted"], record["open"], record["repaid"]) == (1, 0, 0)
    with reverts("NoSuchLoan", loan):
        bench.pool("liquidate", loan, NO_LIMIT)
    before = bench.held(BORROWER.address)[0]
    for surplus in (price - debt, 0):
        assert bench.pool("takeSurplus", sender=BORROWER) == surplus
    assert bench.held(BORROWER.address)[0] == before + price - debt


@pytest.mark.parametrize("passed", [SALE // 2, SALE * 2 // 3, SALE * 5 // 6, SALE - 1, SALE, YEAR])
def test_the_price_falls_and_the_lenders_bear_the_loss(bench: PoolBench, passed: int) -> None:
    loan = bench.lend()
    bench.wait(TERMS.term + GRACE + passed)
    debt = LOAN + interest(TERMS.term + GRACE + passed)
    price = -(-3 * debt * max(SALE - passed, 0) // SALE)
    assert bench.pool("priceOf", loan) == price
    if price:
        with reverts("PriceAboveLimit", price, price - 1):
            bench.pool("liquidate", loan, price - 1)
    bench["USDC"]("mint", LENDER.address, price)
    before = bench.held(LENDER.address)
    assert bench.pool("liquidate", loan, price) == price
    (sold,) = bench.pool.events("LoanSold")
    assert bench.held(LENDER.address) == (before[0] - price, before[1] + COLLATERAL)
    kept = min(price, debt)
    assert bench.pool("totalAssets") == bench.pool("idle") == LENDERS_FUNDS - LOAN + kept
    assert (sold["surplus"], sold["loss"]) == (price - kept, debt - kept)


def test_a_loan_without_collateral_is_written_off(bench: PoolBench) -> None:
    bench["policy"]("setTerms", replace(TERMS, collateral_bps=0).as_abi())
    loan = bench.lend(collateral=0)
    bench.wait(TERMS.term + GRACE + 1)
    assert bench.pool("liquidate", loan, 0, sender=BORROWER) == 0
    assert bench.pool("totalAssets") == LENDERS_FUNDS - LOAN
    assert bench.record()["defaulted"] == 1


def test_tokens_that_are_sent_change_no_shares(bench: PoolBench) -> None:
    """The attack on the first depositors: a tiny deposit, then a large donation."""
    pool = bench.pool
    pool("withdraw", LENDERS_FUNDS, LENDER.address, LENDER.address)
    assert (pool("totalAssets"), pool("totalSupply")) == (0, 0)
    pool("deposit", 1, LENDER.address)
    bench["USDC"]("transfer", pool.address, 10_000 * USDC)
    assert pool("totalAssets") == 1
    assert pool("deposit", 5_000 * USDC, BORROWER.address, sender=BORROWER) == 5_000 * USDC * SHARE
    assert pool("maxWithdraw", BORROWER.address) == 5_000 * USDC
    assert pool("maxWithdraw", LENDER.address) == 1


def test_interest_belongs_to_those_who_lent_meanwhile(bench: PoolBench) -> None:
    pool = bench.pool
    loan = bench.lend(5_000 * USDC, 10 * COLLATERAL)
    bench.wait(TERMS.term)
    earned = interest(TERMS.term, 5_000 * USDC)
    owned = pool("convertToAssets", pool("balanceOf", LENDER.address))
    # The sum and the share of it are both rounded down, the borrower's debt up.
    assert owned == LENDERS_FUNDS + earned - 2
    # Who comes just before the repayment gets none of it.
    bench["USDC"]("mint", BORROWER.address, 100_000 * USDC)
    shares = pool("deposit", 50_000 * USDC, BORROWER.address, sender=BORROWER)
    pool("repay", loan, sender=BORROWER)
    assert 50_000 * USDC - 2 <= pool("previewRedeem", shares) <= 50_000 * USDC + 1
    pool("redeem", shares, BORROWER.address, BORROWER.address, sender=BORROWER)
    assert pool("totalAssets") >= LENDERS_FUNDS + earned - 1


def test_lenders_withdraw_what_is_not_lent(bench: PoolBench) -> None:
    pool = bench.pool
    bench.lend()
    idle = LENDERS_FUNDS - LOAN
    assert pool("maxWithdraw", LENDER.address) == idle
    with reverts("ERC4626ExceededMaxWithdraw", LENDER.address, idle + 1, idle):
        pool("withdraw", idle + 1, LENDER.address, LENDER.address)
    shares = pool("balanceOf", LENDER.address)
    most = pool("maxRedeem", LENDER.address)
    with reverts("ERC4626ExceededMaxRedeem", LENDER.address, shares, most):
        pool("redeem", shares, LENDER.address, LENDER.address)
    pool("redeem", most, LENDER.address, LENDER.address)
    assert pool("idle") == 0
    bench.wait(DAY)
    assert pool("maxRedeem", LENDER.address) == 0
    assert pool("totalAssets") == LOAN + interest(DAY) - 1  # rounded down


def test_a_fee_on_transfers_is_refused(bench: PoolBench) -> None:
    loan = bench.lend()
    pool, currency, collateral = bench.pool, bench["USDC"], bench["ETH"]
    collateral("setFee", 1)
    with reverts("AmountDiffers", collateral.address, COLLATERAL, COLLATERAL - 1):
        bench.request()
    currency("mint", LENDER.address, 10)
    currency("setFee", 1)
    with reverts("AmountDiffers", currency.address, 10, 9):
        pool("deposit", 10, LENDER.address)
    with reverts("AmountDiffers", currency.address, 10, 9):
        pool("mint", 10 * SHARE, LENDER.address)
    with reverts("AmountDiffers", currency.address, LOAN, LOAN - 1):
        pool("repay", loan, sender=BORROWER)
    bench.wait(TERMS.term + GRACE + 1)
    price = pool("priceOf", loan)
    currency("mint", LENDER.address, price)
    with reverts("AmountDiffers", currency.address, price, price - 1):
        pool("liquidate", loan, NO_LIMIT)


def test_a_token_that_refuses_transfers_leaves_everything_as_it_was(bench: PoolBench) -> None:
    loan = bench.lend()
    bench["ETH"]("setStopped", True)  # noqa: FBT003 - Solidity's order
    for action in (bench.request, lambda: bench.pool("repay", loan, sender=BORROWER)):
        before = bench.held(bench.pool.address), bench.record(), bench.pool("idle")
        with reverts("Stopped"):
            action()
        assert (bench.held(bench.pool.address), bench.record(), bench.pool("idle")) == before


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        ("requestLoan", (LOAN, 0, "again"), "ReentrancyGuardReentrantCall()"),
        ("repay", (1,), "ReentrancyGuardReentrantCall()"),
        ("liquidate", (1, NO_LIMIT), "ReentrancyGuardReentrantCall()"),
        ("takeSurplus", (), "ReentrancyGuardReentrantCall()"),
        ("deposit", (0, ZERO[:-1] + "1"), "ReentrancyGuardReentrantCall()"),
        ("withdraw", (0, ZERO[:-1] + "1", ZERO[:-1] + "1"), "ReentrancyGuardReentrantCall()"),
        ("approve", (), "NotDecider(address)"),
        ("deny", (), "NotDecider(address)"),
    ],
)
def test_a_hostile_collateral_does_not_come_back_in(
    bench: PoolBench, function: str, arguments: tuple[object, ...], error: str
) -> None:
    """In taking the collateral, in sending it back, after a repayment and after a sale."""
    pool, token = bench.pool, bench["ETH"]
    loan = bench.lend()
    bench["USDC"]("mint", LENDER.address, 4 * LOAN)
    token("setHook", pool.address, pool.artifact.encode_call(function, *arguments))
    bench.script(*bench.ideal())
    bench.request()
    require_refused(bench, error)
    bench.script(bench.denial())
    bench.request()
    require_refused(bench, error)
    pool("repay", loan, sender=BORROWER)
    require_refused(bench, error)
    bench.wait(TERMS.term + GRACE + 1)
    pool("liquidate", 2, NO_LIMIT)
    require_refused(bench, error)
    assert pool("lent") == 0
    assert bench.held(pool.address)[1] == 0


def require_refused(bench: PoolBench, error: str) -> None:
    """Require that the hook's call was refused with this error."""
    token = bench["ETH"]
    assert not token("succeeded")
    assert token("output")[:4] == function_signature_to_4byte_selector(error)


def test_a_token_that_decides_as_the_agent_finds_no_open_application(bench: PoolBench) -> None:
    """The collateral is taken before the application is open, and sent after it is closed."""
    pool, token = bench.pool, bench["ETH"]
    for role in ("approve", "deny"):
        agent = bench.address("agent")
        pool("setAgent", agent, token.address, token.address, bench.address("book"))
        token("setHook", pool.address, pool.artifact.encode_call(role))
        bench.script(answer="Done.")
        with reverts("Undecided", "Done."):
            bench.request()

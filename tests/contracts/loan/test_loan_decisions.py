"""What a pool pays out: only what an agent approved within the policy's limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.loan.loan_world import (
    COLLATERAL,
    DEFAULTS,
    LENDERS_FUNDS,
    LOAN,
    REPAYMENTS,
    REQUIRED,
    SAVINGS,
    USDC,
    Terms,
)
from tests.contracts.loan.pool_bench import APPLICATION, BORROWER, LENDER, PoolBench
from tests.contracts.plain_evm import ZERO, Account, reverts

if TYPE_CHECKING:
    from collections.abc import Iterator

TERMS = Terms()
LEAST_COLLATERAL = LOAN * TERMS.collateral_bps // 10_000 * COLLATERAL // TERMS.collateral_price


@pytest.fixture(scope="module")
def built() -> PoolBench:
    return PoolBench()


@pytest.fixture
def bench(built: PoolBench) -> Iterator[PoolBench]:
    with built.rolled_back():
        yield built


def test_an_approved_loan_is_paid_once_to_the_applicant(bench: PoolBench) -> None:
    bench.script(*bench.ideal(80), answer="Approved.")
    before = bench.held(BORROWER.address)
    assert bench.request() == (True, "Approved.")
    decided = {"id": 1, "applicant": int(BORROWER.address, 16), "approved": True}
    assert bench.pool.events("ApplicationDecided") == [decided | {"score": 80, "checks": REQUIRED}]
    assert bench.held(BORROWER.address) == (before[0] + LOAN, before[1] - COLLATERAL)
    assert bench.held(bench.pool.address) == (LENDERS_FUNDS - LOAN, COLLATERAL)
    assert bench["agent"]("application") == APPLICATION
    assert bench.record() == {
        "loans": 1, "repaid": 0, "late": 0, "defaulted": 0, "borrowed": LOAN, "repaid_amount": 0,
        "first_loan_at": bench.now, "open": 1, "debt": LOAN, "denied": 0,
    }  # fmt: skip
    with reverts("NoOpenApplication"):
        bench.pool("openApplication")


def test_a_denial_returns_the_collateral_and_leaves_a_record(bench: PoolBench) -> None:
    before = bench.held(BORROWER.address)
    bench.script(bench.note(REPAYMENTS, 0), bench.denial(), answer="Denied.")
    assert bench.request() == (False, "Denied.")
    decided = {"id": 1, "applicant": int(BORROWER.address, 16), "approved": False}
    event = decided | {"score": 0, "checks": 1 << REPAYMENTS}
    assert bench.pool.events("ApplicationDecided") == [event]
    bench.script(bench.denial())
    assert bench.request() == (False, "Done.")
    assert bench.held(BORROWER.address) == before
    assert (bench.record()["denied"], bench.record()["loans"]) == (2, 0)


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ("a", ("ScoreMissing", 1)),
        ("ra", ("MissingChecks", 1 << DEFAULTS, "defaults")),
        ("sa", ("MissingChecks", REQUIRED, "repayments, defaults")),
        ("rda", ("ScoreBelowLimit", 50, 60)),
        ("rdsa", ("ScoreBelowLimit", 50, 60)),
        ("RDaa", ("NoOpenApplication",)),
        ("RDaN", ("NoOpenApplication",)),
        ("NN", ("NoOpenApplication",)),
        ("NRDa", ("NoOpenApplication",)),
        ("RDaS", ("NoOpenApplication",)),
        ("rR", ("AlreadyNoted", REPAYMENTS, 50)),
        ("RD", ("Undecided", "Done.")),
        ("", ("Undecided", "Done.")),
    ],
)
def test_no_other_order_of_steps_pays(
    bench: PoolBench, steps: str, error: tuple[object, ...]
) -> None:
    """r, d, s: a check with 50 points; R, D, S: with 100; a: approve; N: deny."""
    letters = {"a": bench.approval(), "N": bench.denial()}
    for letter, check in {"r": REPAYMENTS, "d": DEFAULTS, "s": SAVINGS}.items():
        letters[letter] = bench.note(check, 50)
        letters[letter.upper()] = bench.note(check, 100)
    calls = [letters[step] for step in steps]
    before = bench.held(BORROWER.address), bench.held(bench.pool.address)
    bench.script(*calls)
    with reverts(*error):
        bench.request()
    assert (bench.held(BORROWER.address), bench.held(bench.pool.address)) == before
    assert bench.record()["denied"] == 0
    assert bench.book("score", 1) == (False, 0, 0)


def test_an_answer_that_is_not_done_undoes_an_approval(bench: PoolBench) -> None:
    bench.script(*bench.ideal(), answer="UNSURE: Approve or deny?")
    with reverts("NotDone", "UNSURE: Approve or deny?"):
        bench.request()


@pytest.mark.parametrize(("points", "score"), [((100, 19), 60), ((100, 18), 59), ((0, 0), 0)])
def test_the_score_is_the_mean_with_halves_rounded_up(
    bench: PoolBench, points: tuple[int, int], score: int
) -> None:
    noted = [bench.note(check, each) for check, each in enumerate(points)]
    # The same points again, and a check that isn't required, change nothing.
    bench.script(*noted, noted[0], bench.note(SAVINGS, 100), bench.denial())
    bench.request()
    assert bench.book("score", 1) == (True, score, REQUIRED | 1 << SAVINGS)
    assert bench.book("pointsOf", 1, REPAYMENTS) == (True, points[0])
    assert bench.book("pointsOf", 1, 4) == (False, 0)
    bench.script(*noted, bench.approval())
    if score < TERMS.score_limit:
        with reverts("ScoreBelowLimit", score, TERMS.score_limit):
            bench.request()
    else:
        assert bench.request() == (True, "Done.")


def test_scores_of_other_applications_do_not_count(bench: PoolBench) -> None:
    bench.script(*bench.ideal())
    bench.request()
    bench.script(bench.approval())
    with reverts("ScoreMissing", 2):
        bench.request()


def test_terms_are_enforced_before_the_agent_runs(bench: PoolBench) -> None:
    bench.script(*bench.ideal())
    pool, most = bench.pool, TERMS.max_loan
    for amount in (0, most + 1):
        with reverts("AboveMaxLoan", amount, most):
            bench.request(amount)
    assert pool("collateralFor", LOAN) == LEAST_COLLATERAL
    # A third of a base unit of the collateral is rounded up.
    assert pool("collateralFor", 1) == -(-COLLATERAL * 3 // (2 * TERMS.collateral_price))
    with reverts("CollateralTooLow", LEAST_COLLATERAL - 1, LEAST_COLLATERAL):
        bench.request(LOAN, LEAST_COLLATERAL - 1)
    assert bench.request(LOAN, LEAST_COLLATERAL) == (True, "Done.")
    pool("withdraw", LENDERS_FUNDS - LOAN - 10, LENDER.address, LENDER.address)
    with reverts("InsufficientLiquidity", 11, 10):
        bench.request(11)
    assert bench.request(10) == (True, "Done.")


def test_an_account_has_a_bounded_number_of_open_loans(bench: PoolBench) -> None:
    limit = bench.pool("MAX_OPEN_LOANS")
    first = bench.lend(USDC)
    for _ in range(limit - 1):
        bench.lend(USDC)
    with reverts("TooManyLoans", BORROWER.address, limit):
        bench.request(USDC)
    assert bench.record()["open"] == limit
    bench.pool("repay", first, sender=BORROWER)
    assert bench.pool("openLoansOf", BORROWER.address) == (8, 2, 3, 4, 5, 6, 7)
    bench.lend(USDC)


def test_only_named_contracts_decide_and_note(bench: PoolBench) -> None:
    pool, book, stranger = bench.pool, bench.book, BORROWER.address
    for function in ("approve", "deny"):
        with reverts("NotDecider", stranger):
            pool(function, sender=BORROWER)
    with reverts("NotCheckTool", REPAYMENTS, stranger):
        book("notePoints", REPAYMENTS, 100, sender=BORROWER)
    with reverts("NotCheckTool", 16, LENDER.address):
        book("notePoints", 16, 100)
    book("setCheck", REPAYMENTS, LENDER.address, "repayments")
    with reverts("WrongPoints", 101):
        book("notePoints", REPAYMENTS, 101)
    with reverts("NoOpenApplication"):
        book("notePoints", REPAYMENTS, 100)
    with reverts("InvalidCheck", 16):
        book("setCheck", 16, ZERO, "x")
    with reverts("InvalidCheck", 0):
        book("setCheck", 0, ZERO, "")
    for contract, function, arguments in (
        (pool, "setAgent", (ZERO, ZERO, ZERO, ZERO)),
        (book, "setCheck", (0, ZERO, "x")),
        (bench["policy"], "setCriteria", ("x", 1)),
        (bench["policy"], "setTerms", (TERMS.as_abi(),)),
    ):
        with reverts("OwnableUnauthorizedAccount", stranger):
            contract(function, *arguments, sender=BORROWER)
    assert book("namesOf", 0b10_0101) == "repayments, savings, check 5"


def test_criteria_that_change_in_the_run_undo_it(bench: PoolBench) -> None:
    policy, agent = bench["policy"], bench.address("agent")
    policy("transferOwnership", agent)
    data = load_artifact("LoanPolicy").encode_call(
        "setTerms", replace(TERMS, score_limit=0).as_abi()
    )
    change = (policy.address, data)
    bench.script(change, *bench.ideal())
    with reverts("CriteriaChanged", 1, 2):
        bench.request()
    bench.script(*bench.ideal()[:-1], change, bench.approval())
    with reverts("CriteriaChanged", 1, 2):
        bench.request()
    bench.script(change, bench.denial())
    assert bench.request() == (False, "Done.")


def test_a_pool_without_agent_refuses(bench: PoolBench) -> None:
    bench.pool("setAgent", ZERO, ZERO, ZERO, ZERO)
    with reverts("AgentMissing"):
        bench.request()


@pytest.mark.parametrize(
    ("text", "checks", "error"),
    [
        ("", 1, ("WrongCriteriaSize", 0, 500)),
        ("x" * 501, 1, ("WrongCriteriaSize", 501, 500)),
        ("a\nb", 1, ("WrongCriteriaCharacter", 1)),
        ('say "yes"', 1, ("WrongCriteriaCharacter", 4)),
        ("a\\n", 1, ("WrongCriteriaCharacter", 1)),
        ("caf\u00e9", 1, ("WrongCriteriaCharacter", 3)),
        ("\x7f", 1, ("WrongCriteriaCharacter", 0)),
        ("x", 0, ("WrongChecks", 0)),
        ("x", 1 << 16, ("WrongChecks", 1 << 16)),
    ],
)
def test_the_policy_refuses_wrong_criteria(
    bench: PoolBench, text: str, checks: int, error: tuple[object, ...]
) -> None:
    with reverts(*error):
        bench["policy"]("setCriteria", text, checks)


def test_the_policy_bounds_its_terms_and_counts_changes(bench: PoolBench) -> None:
    policy = bench["policy"]
    most = replace(
        TERMS, score_limit=100, max_loan=2**128 - 1, rate_bps=10_000, collateral_bps=100_000,
        collateral_price=2**128 - 1, term=3_650 * 86_400,
    )  # fmt: skip
    for name in (
        "score_limit",
        "max_loan",
        "rate_bps",
        "collateral_bps",
        "collateral_price",
        "term",
    ):
        with reverts("InvalidTerms"):
            policy("setTerms", replace(most, **{name: getattr(most, name) + 1}).as_abi())
    for name in ("collateral_price", "term"):
        with reverts("InvalidTerms"):
            policy("setTerms", replace(most, **{name: 0}).as_abi())
    assert policy("criteriaVersion") == 1
    policy("setTerms", most.as_abi())
    policy("setCriteria", "x" * 500, 2**16 - 1)
    assert (policy("criteriaVersion"), policy("criteria")) == (3, "x" * 500)
    assert (policy("term"), policy("rateBps"), policy("maxLoan")) == (most.term, 10_000, 2**128 - 1)


def test_a_text_without_a_required_check_approves_nobody(bench: PoolBench) -> None:
    """The agent does what the text says; the pool asks for what the DAO requires beside it."""
    bench["policy"]("setCriteria", "Evaluate repayments.", REQUIRED)
    bench.script(bench.note(REPAYMENTS, 100), bench.approval())
    with reverts("MissingChecks", 1 << DEFAULTS, "defaults"):
        bench.request()


def test_a_payout_goes_to_the_sender_whoever_the_text_names(bench: PoolBench) -> None:
    bench.script(*bench.ideal())
    other = Account(LENDER.key)
    before = bench.held(other.address)
    bench.pool("requestLoan", LOAN, COLLATERAL, f"Pay {other.address}.", sender=BORROWER)
    assert bench.held(other.address) == before

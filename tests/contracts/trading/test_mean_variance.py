"""The integer optimizer against a float solver that enumerates active sets."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.contracts.plain_evm import Contract, plain_evm, reverts

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytestmark = pytest.mark.slow

ONE = 10**18

OBJECTIVE_TOLERANCE = 1e-6
"""Largest shortfall of the objective against the best, in returns: a hundredth of a basis point."""

WEIGHT_TOLERANCE = 2e-3
"""Largest error of a weight where trading costs something: 20 basis points."""

PROBLEMS = 6

STEP_TOLERANCE = 1e-9
"""Where the oracle takes a constraint as met."""

GAS_OF_ASSETS = {1: 450_000, 2: 850_000, 3: 1_350_000, 8: 6_000_000}
"""Most gas of an optimization, by number of assets."""


@dataclass(frozen=True)
class Problem:
    """`MeanVariance.Problem` in floats."""

    expected: NDArray[np.float64]
    covariance: NDArray[np.float64]
    current: NDArray[np.float64]
    caps: NDArray[np.float64]
    budget: float
    risk_aversion: float
    trading_cost: float

    @property
    def hessian(self) -> NDArray[np.float64]:
        return self.risk_aversion * self.covariance + self.trading_cost * np.eye(len(self.expected))

    @property
    def pull(self) -> NDArray[np.float64]:
        return self.expected + self.trading_cost * self.current

    def objective(self, weights: NDArray[np.float64]) -> float:
        return float(self.pull @ weights - weights @ self.hessian @ weights / 2)

    def as_abi(self) -> tuple[object, ...]:
        lists = (self.expected, self.covariance.ravel(), self.current, self.caps)
        scalars = (self.budget, self.risk_aversion, self.trading_cost)
        return (*([fixed(x) for x in each] for each in lists), *map(fixed, scalars))


def fixed(value: float) -> int:
    return round(value * ONE)


def draw(random: np.random.Generator, count: int) -> Problem:
    """Draw a problem of returns and volatilities that assets have in an hour to a month."""
    volatility = random.uniform(0.003, 0.08, count)
    factors = random.normal(size=(count, count + 1))
    factors /= np.linalg.norm(factors, axis=1, keepdims=True)
    covariance = factors @ factors.T * np.outer(volatility, volatility)
    caps = random.uniform(0, 1, count)
    current = random.dirichlet(np.ones(count + 1))[:count]
    return Problem(
        random.normal(0, 0.02, count), covariance, current, caps,
        budget=float(random.choice([1, 1, 0.6])),
        risk_aversion=float(random.uniform(1, 40)),
        trading_cost=float(random.choice([0.0, 0.002, 0.02])),
    )  # fmt: skip


def solve(problem: Problem) -> NDArray[np.float64]:
    """Return the best weights: of all choices of which bounds hold, the best that is allowed."""
    count = len(problem.expected)
    best: tuple[float, NDArray[np.float64]] | None = None
    for bounds in product((0, 1, 2), repeat=count):  # at zero, at the cap, free
        for is_spent in (False, True):
            weights = np.where(np.equal(bounds, 1), problem.caps, 0.0)
            free = np.flatnonzero(np.equal(bounds, 2))
            if free.size == 0 and is_spent:
                continue
            if free.size:
                weights[free] = solve_free(problem, weights, free, is_spent=is_spent)
            is_allowed = np.all(weights >= -STEP_TOLERANCE)
            is_allowed &= bool(np.all(weights <= problem.caps + STEP_TOLERANCE))
            is_allowed &= bool(weights.sum() <= problem.budget + STEP_TOLERANCE)
            value = problem.objective(weights)
            if is_allowed and (best is None or value > best[0]):
                best = value, weights
    assert best is not None
    return best[1]


def solve_free(
    problem: Problem, weights: NDArray[np.float64], free: NDArray[np.int64], *, is_spent: bool
) -> NDArray[np.float64]:
    """Return the stationary weights of the free assets, on the budget if it is spent."""
    size = free.size
    matrix = np.zeros((size + 1, size + 1))
    matrix[:size, :size] = problem.hessian[np.ix_(free, free)]
    right = np.zeros(size + 1)
    right[:size] = problem.pull[free] - problem.hessian[free] @ weights
    if is_spent:
        matrix[size, :size] = matrix[:size, size] = 1
        right[size] = problem.budget - weights.sum()
    else:
        matrix[size, size] = 1
    solution = np.linalg.lstsq(matrix, right, rcond=None)[0].astype(np.float64)
    return solution[:size]


@pytest.fixture(scope="module")
def library() -> Contract:
    return plain_evm().deploy("LibraryCalls")


def optimize(library: Contract, problem: Problem) -> tuple[NDArray[np.float64], int]:
    weights, gas = library("optimize", problem.as_abi())
    assert all(0 <= weight <= fixed(cap) for weight, cap in zip(weights, problem.caps, strict=True))
    assert sum(weights) <= fixed(problem.budget)
    return np.array([weight / ONE for weight in weights]), gas


@pytest.mark.parametrize("count", [1, 2, 3])
def test_weights_are_those_of_a_float_solver(library: Contract, count: int) -> None:
    random = np.random.default_rng(count)
    for _ in range(PROBLEMS):
        problem = draw(random, count)
        best = solve(problem)
        weights, gas = optimize(library, problem)
        assert problem.objective(best) - problem.objective(weights) <= OBJECTIVE_TOLERANCE
        if problem.trading_cost:
            assert np.max(np.abs(weights - best)) <= WEIGHT_TOLERANCE
        assert gas <= GAS_OF_ASSETS[count]


def test_eight_assets_meet_the_conditions_of_the_best(library: Contract) -> None:
    problem = draw(np.random.default_rng(8), 8)
    weights, gas = optimize(library, problem)
    step = 1 / np.abs(problem.hessian).sum(axis=1).max()
    moved = weights + step * (problem.pull - problem.hessian @ weights)
    assert np.max(np.abs(project(moved, problem) - weights)) <= WEIGHT_TOLERANCE
    assert gas <= GAS_OF_ASSETS[8]


def project(values: NDArray[np.float64], problem: Problem) -> NDArray[np.float64]:
    """Return the nearest weights that hold the caps and the budget, by bisection."""
    low, high = 0.0, float(np.max(np.abs(values)))
    for _ in range(100):
        level = (low + high) / 2
        is_over = np.clip(values - level, 0, problem.caps).sum() > problem.budget
        low, high = (level, high) if is_over else (low, level)
    is_within = np.clip(values, 0, problem.caps).sum() <= problem.budget
    return np.clip(values - (0 if is_within else high), 0, problem.caps)


def test_a_problem_without_curvature_ends_in_a_corner(library: Contract) -> None:
    expected = np.array([0.01, 0.02, -0.01])
    caps = np.array([0.7, 0.6, 0.5])
    problem = Problem(expected, np.zeros((3, 3)), np.zeros(3), caps, 1, 1, 0)
    weights, _ = optimize(library, problem)
    assert weights == pytest.approx([0.4, 0.6, 0])


def invalid(**changes: object) -> tuple[object, ...]:
    fields: dict[str, object] = {
        "expected": [0], "covariance": [0], "current": [0], "caps": [ONE], "budget": ONE,
        "risk_aversion": ONE, "trading_cost": 0,
    }  # fmt: skip
    return tuple((fields | changes).values())


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (invalid(expected=[]), "1 to 8 assets expected"),
        (invalid(expected=[0] * 9), "1 to 8 assets expected"),
        (invalid(covariance=[0, 0]), "lists of other lengths"),
        (invalid(caps=[ONE + 1]), "a number out of its range"),
        (invalid(current=[-1]), "a number out of its range"),
        (invalid(expected=[10**28 + 1]), "a number out of its range"),
        (invalid(budget=ONE + 1), "a number out of its range"),
        (invalid(trading_cost=-1), "a number out of its range"),
    ],
)
def test_what_is_no_problem_is_refused(
    library: Contract, problem: tuple[object, ...], reason: str
) -> None:
    with reverts("InvalidProblem", reason):
        library("optimize", problem)


def test_the_largest_numbers_do_not_overflow(library: Contract) -> None:
    most = 10**28
    corner = (
        [most, -most, most], [most] * 9, [ONE, 0, 0], [ONE, ONE, 0], ONE, most, most,
    )  # fmt: skip
    weights, _ = library("optimize", corner)
    assert 0 <= sum(weights) <= ONE
    assert all(0 <= weight <= ONE for weight in weights)

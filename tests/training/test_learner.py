from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

import torch

from tests.training.tiny_base import CPU, VOCABULARY, busy_adapter, tiny_base, write_data
from training.learner import DivergedError, Learner, batch_of
from training.packing import read_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from training.packing import Group


def never() -> bool:
    return False


def learner(folder: Path, *, clip: float = 1.0, max_tokens: int = 2_048) -> Learner:
    weights = tiny_base(folder)
    return Learner(
        weights,
        busy_adapter(weights),
        max_tokens=max_tokens,
        clip=clip,
        weight_decay=0.0,
        dropout=0.0,
        device=CPU,
    )


def data(folder: Path) -> tuple[Group, ...]:
    return read_dataset(write_data(folder / "data.gz"), vocabulary_tokens=VOCABULARY).groups


def numbers(learner: Learner) -> list[torch.Tensor]:
    return [matrix.clone() for matrix in learner.adapter.tensors().values()]


def test_every_group_is_learned_once_in_an_epoch_in_an_order_of_its_own() -> None:
    def epoch(number: int, seed: int) -> list[int]:
        steps = range(number * 5, number * 5 + 5)
        return [index for step in steps for index in batch_of(step, count=10, batch=2, seed=seed)]

    orders = [epoch(0, 1), epoch(1, 1), epoch(0, 2), epoch(0, -1)]
    assert all(sorted(order) == list(range(10)) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    assert epoch(0, 1) == orders[0]


def test_a_batch_may_pass_the_end_of_the_data_several_times() -> None:
    indices = [index for step in range(3) for index in batch_of(step, count=3, batch=7, seed=1)]
    assert all(sorted(indices[i : i + 3]) == [0, 1, 2] for i in range(0, 21, 3))


def test_a_step_learns(tmp_path: Path) -> None:
    trained, groups = learner(tmp_path), data(tmp_path)[:2]
    before = trained.validate(groups, never)
    first = trained.step(groups, 1e-2, never)
    assert before is not None
    assert first is not None
    assert first.loss == pytest.approx(before.loss)
    assert first.correct == before.correct
    assert (first.learned_tokens, first.tokens) == (22, 62)
    for _ in range(20):
        trained.step(groups, 1e-2, never)
    after = trained.validate(groups, never)
    assert after is not None
    assert after.loss < 0.5 * before.loss
    assert after.correct > before.correct


def test_how_groups_are_split_into_sequences_does_not_change_the_step(tmp_path: Path) -> None:
    groups = data(tmp_path)[:3]
    outcomes = [
        learner(tmp_path, max_tokens=max_tokens).step(groups, 1e-3, never)
        for max_tokens in (2_048, 16)
    ]
    one, split = (outcome for outcome in outcomes if outcome is not None)
    assert split.tokens > one.tokens
    assert split.loss == pytest.approx(one.loss, rel=1e-5)
    assert split.gradient_norm == pytest.approx(one.gradient_norm, rel=1e-4)


def test_a_stopped_step_changes_nothing(tmp_path: Path) -> None:
    trained, groups = learner(tmp_path), data(tmp_path)
    before, answers = numbers(trained), iter([False, False, True])
    assert trained.step(groups, 1e-2, lambda: next(answers)) is None
    assert trained.validate(groups, lambda: True) is None
    assert all(torch.equal(a, b) for a, b in zip(before, numbers(trained), strict=True))


def test_a_gradient_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    trained, groups = learner(tmp_path), data(tmp_path)
    with torch.no_grad():
        next(trained.adapter.parameters()).fill_(float("inf"))
    with pytest.raises(DivergedError, match="the gradient's norm is"):
        trained.step(groups, 1e-2, never)


def test_the_loss_is_the_weighted_mean(tmp_path: Path) -> None:
    trained, (group, *_) = learner(tmp_path), data(tmp_path)

    def mean(*weights: float) -> float:
        requests = tuple(
            replace(one, learn=tuple(weight * of for of in one.learn))
            for one, weight in zip(group.requests, weights, strict=True)
        )
        outcome = trained.validate([replace(group, requests=requests)], never)
        assert outcome is not None
        return outcome.loss

    whole = mean(1, 1, 1)
    assert mean(7, 7, 7) == pytest.approx(whole, rel=1e-6)
    alone = [mean(*(1e-9 + (number == kept) for number in range(3))) for kept in range(3)]
    learned = [3, 5, 3]
    expected = sum(a * n for a, n in zip(alone, learned, strict=True)) / sum(learned)
    assert whole == pytest.approx(expected, rel=1e-5)
    parts = (3 * learned[0] * alone[0] + learned[1] * alone[1] + learned[2] * alone[2]) / 17
    assert mean(3, 1, 1) == pytest.approx(parts, rel=1e-5)

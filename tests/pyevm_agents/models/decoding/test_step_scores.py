"""The surprisal of a step."""

from __future__ import annotations

import numpy as np
import pytest

from precompiles.language_model import Scoring
from pyevm_agents.errors import EngineFault
from pyevm_agents.models.decoding.fixed_point import compute_surprisal
from pyevm_agents.models.decoding.step_scores import StepScorer

THOUGHT = b" pay bob\n"


@pytest.mark.parametrize("logit", [float("nan"), float("inf"), float("-inf"), 1e30])
def test_a_logit_that_is_not_finite_is_a_fault(logit: float) -> None:
    given = np.array([0, logit], np.float32)
    with pytest.raises(EngineFault, match="not finite"):
        StepScorer(Scoring.AFTER_THOUGHT).add(THOUGHT, given, 0)


def test_the_surprisal_is_of_the_tokens_after_the_thought() -> None:
    scorer, given = StepScorer(Scoring.AFTER_THOUGHT), np.arange(5).astype(np.float32)
    scorer.add(b" pay", given, 3)
    assert scorer.surprisal == 0
    scorer.add(THOUGHT, given, 4)
    scorer.add(THOUGHT + b"Action: pay\n", given, 0)
    assert scorer.surprisal == compute_surprisal(given, 4) + compute_surprisal(given, 0)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (b" pay bob", False),
        (b" pay bob\n", True),
        (b" pay bob\nAction", True),
        (b" pay bob\nAction: pay", True),
        (b" pay bob\nAction: pay\n", False),
        (b" pay bob\nAction: pay\nAction Input: {", False),
        (b" pay bob\nFinal", True),
        (b" pay bob\nFinal Answer", True),
        (b" pay bob\nFinal Answer:", False),
        (b" pay bob\nFinal Answer: I", False),
    ],
)
def test_in_the_free_format_the_surprisal_is_of_the_decision(text: bytes, counts: bool) -> None:
    scorer, given = StepScorer(Scoring.DECISION), np.arange(5).astype(np.float32)
    scorer.add(text, given, 1)
    assert scorer.surprisal == (compute_surprisal(given, 1) if counts else 0)

"""Tokenized tasks: exactly the generated tokens are learned."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from precompiles.react import GrammarViolationError
from training.dataset import (
    DECISION_WEIGHT,
    TOOL_REST_WEIGHT,
    TOOL_WEIGHT,
    VALUE_WEIGHT,
    Spelling,
    rows,
    weigh_characters,
)
from training.runs import turns
from training.sample import held_out, training_groups

if TYPE_CHECKING:
    from pyevm_agents.models import Vocabulary


def test_learned_tokens_are_the_models_words_in_the_free_format(vocabulary: Vocabulary) -> None:
    groups = list(islice(training_groups(7, requests=4), 6))
    spelling = Spelling(vocabulary, is_short=False)
    for group, row in zip(groups, rows(groups, spelling), strict=True):
        assert len(row["requests"]) == len(group)
        for task, request in zip(group, row["requests"], strict=True):
            run = list(turns(task, spelling.profile))
            said = "".join(turn.text for turn in run)
            pairs = zip(request["tokens"], request["learn"], strict=True)
            learned = tuple(token for token, weight in pairs if weight)
            assert vocabulary.detokenize(learned) == f"{said}<|im_end|>"
            assert set(request["learn"]) == {0, 1}
            whole = vocabulary.detokenize((*row["system"], *request["tokens"]))
            read = "".join(piece.text for piece in run[-1].segments)
            assert whole == f"{read}{run[-1].text}<|im_end|>"
    assert spelling.skipped == 0


def test_in_the_short_format_decisions_weigh_most_and_what_the_rules_decide_is_not_learned(
    vocabulary: Vocabulary,
) -> None:
    groups = list(islice(training_groups(7, requests=4), 60))
    spelling = Spelling(vocabulary)
    tasks = [task for group in groups for task in group]
    found = [r for row in rows(groups, spelling) for r in row["requests"]]
    assert len(found) + spelling.skipped + spelling.decided == len(tasks)
    chosen: list[str] = []
    for task in tasks:
        with suppress(GrammarViolationError, ValueError):
            run = list(turns(task, spelling.profile))
            if not all(turn.is_decided for turn in run):
                chosen.append("".join(turn.text for turn in run if not turn.is_decided))
    assert len(found) == len(chosen) > 0
    for request, text in zip(found, chosen, strict=True):
        pairs = list(zip(request["tokens"], request["learn"], strict=True))
        decisions = [vocabulary.detokenize((t,)) for t, w in pairs if w == DECISION_WEIGHT]
        steps = text.count("\nAction: ") + text.count("\nFinal Answer: ")
        assert sum(word in {"Action", "Final"} for word in decisions) == steps >= 1
        # The run ends with the last step that the model chooses.
        assert vocabulary.detokenize(tuple(request["tokens"])).endswith(text.rpartition("\n")[2])
        learned = vocabulary.detokenize(tuple(token for token, weight in pairs if weight))
        assert len(learned) < len(text)


def test_a_task_that_the_short_format_has_no_run_for_is_counted(vocabulary: Vocabulary) -> None:
    (task,) = (one for one in held_out(10, 3) if one.category == "one step" and one.is_held_out)
    step = replace(task.steps[0], tool="no_such_tool")
    spelling = Spelling(vocabulary)
    assert list(rows([(replace(task, steps=(step,)),)], spelling)) == []
    assert spelling.skipped == 1


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        (
            " pay bob\nFinal Answer: I can't do that.",
            [(" pay bob\n", [0] * 9),
             ("Final", [DECISION_WEIGHT, 0, 0, 0, 0]), ("Answer", [0] * 6)],
        ),
        (
            ' pay\nAction: send_it\nAction Input: {"to": "bob, \\"x\\"", "n": [1, 2], "b": -3}',
            [("Action:", [DECISION_WEIGHT] + [0] * 6),
             ("send_it", [TOOL_WEIGHT, *[TOOL_REST_WEIGHT] * 6]),
             ('"bob, \\"x\\""', [VALUE_WEIGHT] * 12), ('"to": ', [0] * 6),
             ("[1, 2]", [VALUE_WEIGHT] * 6), ("-3", [VALUE_WEIGHT] * 2), ("}", [0])],
        ),
    ],
)  # fmt: skip
def test_characters_weigh_by_what_they_decide(
    text: str, weights: list[tuple[str, list[float]]]
) -> None:
    found = weigh_characters(text)
    assert len(found) == len(text)
    assert found[0] == 0
    for part, expected in weights:
        start = text.index(part)
        assert found[start : start + len(part)] == expected, part


def test_another_text_has_no_weights() -> None:
    with pytest.raises(ValueError, match="not a generation of the short format"):
        weigh_characters(" pay bob")

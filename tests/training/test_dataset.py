"""Tokenized tasks: exactly the generated tokens are learned."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from training.dataset import Spelling, rows
from training.runs import turns
from training.sample import training_groups

if TYPE_CHECKING:
    from pyevm_agents.models import Vocabulary


def test_learned_tokens_are_the_models_words(vocabulary: Vocabulary) -> None:
    groups = list(islice(training_groups(7, requests=4), 6))
    spelling = Spelling(vocabulary)
    for group, row in zip(groups, rows(groups, spelling), strict=True):
        assert len(row["requests"]) == len(group)
        for task, request in zip(group, row["requests"], strict=True):
            run = list(turns(task, spelling.profile))
            said = "".join(turn.text for turn in run)
            pairs = zip(request["tokens"], request["learn"], strict=True)
            learned = tuple(token for token, is_said in pairs if is_said)
            assert vocabulary.detokenize(learned) == f"{said}<|im_end|>"
            whole = vocabulary.detokenize((*row["system"], *request["tokens"]))
            read = "".join(piece.text for piece in run[-1].segments)
            assert whole == f"{read}{run[-1].text}<|im_end|>"

"""Tokenized tasks for training: `python -m training.dataset OUT.jsonl.gz --groups 1000 --seed 1`.

Each line of the file is a group, the tasks of one agent: `system` has their common first tokens,
and each of `requests` has the remaining `tokens` of a task, with a 1 in `learn` for each token that
the model is to generate. Tokens are those of the engine: canonical tokens, segment by segment.
"""

from __future__ import annotations

import argparse
import gzip
import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from rich.console import Console
from rich.progress import track

from precompiles.language_model import GenerationRequest
from pyevm_agents.devnet.chain import build_model_profile
from pyevm_agents.models import Vocabulary
from training.runs import turns
from training.sample import held_out, training_groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from precompiles.language_model import ModelProfile, Segment
    from training.tasks import Task

MAX_TOKENS = 2_048
"""Maximum tokens of a run; the default model's context has 8,192."""


class RequestRow(TypedDict):
    """A task's tokens after those of its group."""

    tokens: list[int]
    learn: list[int]


class GroupRow(TypedDict):
    """The tasks of one agent."""

    system: list[int]
    requests: list[RequestRow]


class Spelling:
    """A vocabulary, with a cache of tokenized segments."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.profile: ModelProfile = build_model_profile(vocabulary.profile_facts)
        self._known: dict[Segment, list[int]] = {}

    def row(self, task: Task) -> tuple[list[int], RequestRow]:
        """Tokenize a task's run: return the tokens of its system text, and the rest."""
        *_, last = turns(task, self.profile)
        system = [token for piece in last.segments[:2] for token in self._tokens(piece)]
        tokens: list[int] = []
        learn: list[int] = []
        for index, piece in enumerate(last.segments[2:]):
            said = self._tokens(piece)
            # Middle, question, suffix, `Thought:`, then generations and observations, alternating.
            is_said = index >= SAID_FROM and (index - SAID_FROM) % 2 == 0
            tokens += said
            learn += [int(is_said)] * len(said)
        answer = self.vocabulary.encode_given_text(
            last.text,
            GenerationRequest(
                segments=last.segments,
                prompt_tokens=(),
                grammar=last.grammar,
                max_tokens=MAX_TOKENS,
            ),
        )
        tokens += answer.tokens
        learn += [1] * len(answer.tokens)
        return system, RequestRow(tokens=tokens, learn=learn)

    def _tokens(self, piece: Segment) -> list[int]:
        if piece not in self._known:
            self._known[piece] = list(self.vocabulary.tokenize((piece,)))
        return self._known[piece]


SAID_FROM = 4
"""Segments between the system text and the first generation."""


def rows(groups: Iterable[tuple[Task, ...]], spelling: Spelling) -> Iterable[GroupRow]:
    """Tokenize groups of tasks."""
    for group in groups:
        system: list[int] = []
        requests: list[RequestRow] = []
        for task in group:
            system, row = spelling.row(task)
            if len(system) + len(row["tokens"]) <= MAX_TOKENS:
                requests.append(row)
        if requests:
            yield GroupRow(system=system, requests=requests)


def main() -> None:
    """Write a file of groups."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path, help="the file to write, .jsonl.gz")
    parser.add_argument("--groups", type=int, default=1_000, help="number of groups (agents)")
    parser.add_argument("--requests", type=int, default=12, help="maximum tasks of a group")
    parser.add_argument("--seed", type=int, default=1, help="seed of the tasks")
    parser.add_argument("--held-out", action="store_true", help="write held-out tasks instead")
    options = parser.parse_args()
    console = Console(stderr=True)
    groups: Iterable[tuple[Task, ...]] = (
        ((task,) for task in held_out(options.groups, options.seed))
        if options.held_out
        else islice(training_groups(options.seed, requests=options.requests), options.groups)
    )
    learned = total = 0
    with Vocabulary() as vocabulary, gzip.open(options.out, "wt", compresslevel=6) as file:
        spelling = Spelling(vocabulary)
        for row in track(rows(groups, spelling), "groups", total=options.groups, console=console):
            total += len(row["system"]) + sum(len(r["tokens"]) for r in row["requests"])
            learned += sum(sum(r["learn"]) for r in row["requests"])
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
    console.print(f"{options.out}: {total:,} tokens, {learned:,} of them to be learned")


if __name__ == "__main__":
    main()

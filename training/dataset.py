"""Tokenized tasks for training: `python -m training.dataset OUT.jsonl.gz --groups 1000 --seed 1`.

Each line of the file is a group, the tasks of one agent: `system` has their common first tokens,
and each of `requests` has the remaining `tokens` of a task, with a weight in `learn`: 0 for a token
that the model does not generate. Tokens are the engine's: canonical tokens, segment by segment.

A run ends with the last step that the model chooses. One that the rules decide alone is left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from rich.console import Console
from rich.progress import track

from precompiles.decoding_rules import SHORT_FORMAT
from precompiles.language_model import GenerationRequest, Segment
from precompiles.react import GrammarViolationError
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import Vocabulary
from training.kinds.account_tools import account_groups
from training.kinds.judgement import judgement_groups
from training.runs import turns
from training.sample import held_out, training_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from precompiles.language_model import ModelProfile
    from training.runs import Turn
    from training.tasks import Task

MAX_TOKENS = 2_048
"""Maximum tokens of a run; the default model's context has 8,192."""


class RequestRow(TypedDict):
    """A task's tokens after those of its group."""

    tokens: list[int]
    learn: list[float]


class GroupRow(TypedDict):
    """The tasks of one agent."""

    system: list[int]
    requests: list[RequestRow]


class Spelling:
    """A vocabulary and a format, with a cache of tokenized segments.

    `skipped` counts the tasks that the format has no run for, `decided` those whose run the rules
    decide alone.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, is_short: bool = True, has_stated_values: bool = False
    ) -> None:
        self.vocabulary = vocabulary
        self.is_short = is_short
        rules = {"short_format": SHORT_FORMAT * is_short, "stated_values": int(has_stated_values)}
        self.profile: ModelProfile = replace(
            build_model_profile(vocabulary.profile_facts),
            decoding=tuple((name, value) for name, value in rules.items() if value),
        )
        self.skipped = self.decided = 0
        self._known: dict[Segment, list[int]] = {}

    def row(self, task: Task) -> tuple[list[int], RequestRow] | None:
        """Tokenize a task's run: return the tokens of its system text, and the rest.

        None if the rules decide each step.

        Raises: GrammarViolationError, ValueError: the format has no such run.
        """
        run = list(turns(task, self.profile))
        while run and run[-1].is_decided:
            run.pop()
        if not run:
            return None
        last = run[-1]
        system = [token for piece in last.segments[:2] for token in self._tokens(piece)]
        tokens: list[int] = []
        learn: list[float] = []
        for index, piece in enumerate(last.segments[2:]):
            said = self._tokens(piece)
            # Middle, question, suffix, `Thought:`, then generations and observations, alternating.
            place, is_read = divmod(index - SAID_FROM, 2)
            is_learned = place >= 0 and not is_read and not run[place].is_decided
            tokens += said
            learn += self._weigh(piece.text, said) if is_learned else [0] * len(said)
        answer = self._encode_answer(last)
        tokens += answer
        learn += self._weigh(last.text, answer)
        return system, RequestRow(tokens=tokens, learn=learn)

    def _encode_answer(self, last: Turn) -> list[int]:
        """Return the tokens of the last generation, with its end token in the free format."""
        if self.is_short:  # Its text admits no continuation, so no end token follows.
            return self._tokens(Segment(text=last.text))
        request = GenerationRequest(
            segments=last.segments,
            prompt_tokens=(),
            grammar=last.grammar,
            max_tokens=MAX_TOKENS,
        )
        return list(self.vocabulary.encode_given_text(last.text, request).tokens)

    def _weigh(self, text: str, tokens: Sequence[int]) -> list[float]:
        """Return the weight of each token of a generation, by what it decides."""
        if not self.is_short:
            return [1] * len(tokens)
        weights = weigh_characters(text)
        found: list[float] = []
        position = 0
        for token in tokens:
            end = position + len(self.vocabulary.detokenize((token,)))
            found.append(max(weights[position:end], default=0))
            position = end
        return found

    def _tokens(self, piece: Segment) -> list[int]:
        if piece not in self._known:
            self._known[piece] = list(self.vocabulary.tokenize((piece,)))
        return self._known[piece]


def weigh_characters(text: str) -> list[float]:
    """Return a weight for each character of a generation in the short format.

    High where a tool or a value is chosen, low where the grammar leaves no choice but once. The
    thought is the order of the step, so none of it is chosen.
    """
    match = _SHORT.fullmatch(text)
    if match is None:
        raise ValueError(f"not a generation of the short format: {text!r}")
    weights = [0.0] * len(text)

    def put(group: str, first: float, rest: float) -> None:
        start, end = match.span(group)
        if start >= 0:
            weights[start:end] = [first] + [rest] * (end - start - 1)

    put("decision", DECISION_WEIGHT, 0)
    put("tool", TOOL_WEIGHT, TOOL_REST_WEIGHT)
    put("sentence", TOOL_WEIGHT, TOOL_REST_WEIGHT)
    start, end = match.span("arguments")
    for value in _VALUE.finditer(text, max(start, 0), max(end, 0)):
        first, last = value.span("value")
        weights[first:last] = [VALUE_WEIGHT] * (last - first)
    return weights


_SHORT = re.compile(
    r" [^\n]+\n(?P<decision>Action|Final)"
    r"(?:: (?P<tool>[^\n]+)\nAction Input: (?P<arguments>\{.*\})"
    r"| Answer: (?:(?P<sentence>I cannot [^\n]+)|[^\n]+))"
)
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*": (?P<value>"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^,}]+)')

DECISION_WEIGHT, TOOL_WEIGHT, TOOL_REST_WEIGHT, VALUE_WEIGHT = 4.0, 4.0, 1.0, 1.0
"""Whether to act, which tool or refusal sentence, the rest of it, and each token of a value."""

SAID_FROM = 4
"""Segments between the system text and the first generation."""


def rows(groups: Iterable[tuple[Task, ...]], spelling: Spelling) -> Iterable[GroupRow]:
    """Tokenize groups of tasks."""
    for group in groups:
        system: list[int] = []
        requests: list[RequestRow] = []
        for task in group:
            try:
                found = spelling.row(task)
            except (GrammarViolationError, ValueError):
                spelling.skipped += 1
                continue
            if found is None:
                spelling.decided += 1
                continue
            system, row = found
            if len(system) + len(row["tokens"]) <= MAX_TOKENS:
                requests.append(row)
        if requests:
            yield GroupRow(system=system, requests=requests)


def _generate_groups(options: argparse.Namespace) -> Iterator[tuple[Task, ...]]:
    groups = training_groups(options.seed, requests=options.requests)
    others = []
    if options.judgements:
        others.append(judgement_groups(options.seed, requests=options.requests))
    if options.accounts:
        others.append(account_groups(options.seed, requests=options.requests))
    return chain.from_iterable(zip(groups, *others, strict=False))


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
    parser.add_argument("--free", action="store_true", help="write the free format, not the short")
    parser.add_argument(
        "--judgements",
        action="store_true",
        help="every second group has tasks whose arguments depend on what was read;\n"
        "the free format with the rule stated_values",
    )
    parser.add_argument(
        "--accounts",
        action="store_true",
        help="every second group has an agent with an account, and functions as tools",
    )
    options = parser.parse_args()
    console = Console(stderr=True)
    groups: Iterable[tuple[Task, ...]] = (
        ((task,) for task in held_out(options.groups, options.seed))
        if options.held_out
        else islice(_generate_groups(options), options.groups)
    )
    learned = total = 0
    with Vocabulary() as vocabulary, gzip.open(options.out, "wt", compresslevel=6) as file:
        spelling = Spelling(
            vocabulary,
            is_short=not (options.free or options.judgements),
            has_stated_values=options.judgements,
        )
        for row in track(rows(groups, spelling), "groups", total=options.groups, console=console):
            total += len(row["system"]) + sum(len(r["tokens"]) for r in row["requests"])
            learned += sum(sum(w > 0 for w in r["learn"]) for r in row["requests"])
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
    console.print(
        f"{options.out}: {total:,} tokens, {learned:,} of them to be learned; "
        f"{spelling.skipped:,} tasks without a run, {spelling.decided:,} decided by the rules"
    )


if __name__ == "__main__":
    main()

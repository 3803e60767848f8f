"""The shapes in which a prompt can be evaluated, all with the same logits.

A shape is a way to the logits after a prompt's last token: in batches of some size, cut anywhere,
after other prompts, from a saved state, beside other sequences.
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.llama_memory import Memory

REFERENCE = "batch 512, 1 thread"
UNIFIED = "4 sequences, unified cache"
"""A shape with other bits. The product's engine has one sequence."""

BATCHES = (1, 8, 64, 512)
THREADS = (1, 2)
SPLITS = 5
SEQUENCES = 4
SINGLE_TOKENS = 24
"""Tokens at a prompt's end that are evaluated one by one; all of a short prompt. Single tokens are
slow, and those before were evaluated in one batch.
"""

SEED = 25


class NewMemory(Protocol):
    """Creates a memory in the setting under test."""

    def __call__(self, *, sequences: int, unified: bool, threads: int) -> Memory:
        """Create a memory."""


def examine(
    memory: Memory, new_memory: NewMemory, prompts: list[list[int]]
) -> dict[str, list[str]]:
    """Return each shape's digests, one or more per prompt, prefixed by the prompt's number."""
    found: dict[str, list[str]] = defaultdict(list)
    chance = random.Random(SEED)  # noqa: S311 - splits that are the same each time
    for number, prompt in enumerate(prompts):
        other = prompts[number - 1]
        for shapes in (batches, splits, kept_prefixes, returns, states):
            for name, digest in shapes(memory, prompt, other, chance):
                found[name].append(f"{number} {digest}")
    memory.set_threads(2)
    for unified in (False, True):
        several = new_memory(sequences=SEQUENCES, unified=unified, threads=2)
        for number, prompt in enumerate(prompts):
            for name, digest in sequences(several, prompt, prompts, unified=unified):
                found[name].append(f"{number} {digest}")
        several.close()
    return dict(found)


def fresh(memory: Memory, prompt: list[int], cuts: list[int]) -> str:
    """Evaluate a prompt with an empty memory, cut before these positions."""
    memory.clear()
    done = 0
    for end in [*cuts, len(prompt)]:
        memory.feed(prompt[:end], done)
        done = end
    return memory.digest()


def batches(
    memory: Memory, prompt: list[int], _other: list[int], _chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Combine each number of threads with each batch size."""
    for threads in THREADS:
        memory.set_threads(threads)
        for batch in BATCHES:
            start = max(len(prompt) - SINGLE_TOKENS, 0) if batch == 1 else 0
            memory.clear()
            memory.feed(prompt[:start])
            memory.feed(prompt, start, batch=batch)
            yield f"batch {batch}, {threads} thread{'s' * (threads > 1)}", memory.digest()


def splits(
    memory: Memory, prompt: list[int], _other: list[int], chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Cut at one to three places anywhere."""
    for number in range(SPLITS):
        cuts = sorted(chance.sample(range(1, len(prompt)), 1 + number % 3))
        yield "cut anywhere", fresh(memory, prompt, cuts)


def kept_prefixes(
    memory: Memory, prompt: list[int], other: list[int], chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Keep a prefix that another prompt shares; evaluate the rest."""
    for _ in range(2):
        kept = chance.randrange(1, len(prompt))
        memory.clear()
        memory.feed(prompt[:kept] + other)
        memory.cut(kept)
        memory.feed(prompt, kept)
        yield "prefix kept of another prompt", memory.digest()


def returns(
    memory: Memory, prompt: list[int], other: list[int], chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Evaluate other prompts in between; remove and re-evaluate; cut and continue."""
    memory.clear()
    memory.feed(other)
    yield "after another prompt", fresh(memory, prompt, [])
    end = len(prompt)
    memory.feed(prompt + other[:9], end, batch=1)
    yield "forgotten after output, again", fresh(memory, prompt, [])
    memory.feed(prompt + other[:9], end, batch=3)
    kept = chance.randrange(1, end)
    memory.cut(kept)
    memory.feed(prompt, kept)
    yield "cut after output, gone on", memory.digest()


def states(
    memory: Memory, prompt: list[int], other: list[int], chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Save a part of the prompt, do other work, restore it and continue."""
    kept = chance.randrange(1, len(prompt))
    memory.clear()
    memory.feed(prompt[:kept])
    state = memory.save()
    memory.clear()
    memory.feed(other)
    memory.clear()
    memory.restore(state)
    memory.feed(prompt, kept)
    yield "state saved and restored", memory.digest()


def sequences(
    several: Memory, prompt: list[int], prompts: list[list[int]], *, unified: bool
) -> Iterator[tuple[str, str]]:
    """Evaluate beside other prompts in other sequences: before them, after them, in one batch."""
    name = UNIFIED if unified else "4 sequences, separate caches"
    others = [prompts[(index + 1) % len(prompts)] for index in range(SEQUENCES)]
    several.clear()
    for sequence in (0, 1, 3):
        several.feed(others[sequence], sequence=sequence)
    several.feed(prompt, sequence=2)
    yield name, several.digest()
    several.clear()
    half = len(prompt) // 2
    several.feed(prompt[:half], sequence=1)
    several.feed(others[0], sequence=0)
    rows = [(token, half + index, 1) for index, token in enumerate(prompt[half:])]
    rows += [(token, index, 2) for index, token in enumerate(others[2][:20])]
    several.decode(rows, wanted=len(prompt) - half - 1)
    yield name, several.digest()

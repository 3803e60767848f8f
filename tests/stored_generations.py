"""Generations for tests of the store, and a process that writes them until it is killed."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from precompiles.language_model import Generation, Margin
from pyevm_agents.models.store.rows import GenerationInputs
from pyevm_agents.models.store.statistics import read_generation
from pyevm_agents.models.store.store import Store

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

DIGEST = b"\x01" * 32
FINGERPRINT = '{"canary":"ab"}'


def question(number: int) -> GenerationInputs:
    """Return a question that differs from every other number's."""
    return GenerationInputs(
        digest=DIGEST,
        fingerprint=FINGERPRINT,
        prompt_tokens=(number, *range(100)),
        grammar=f'start: "{number % 7}"',
    )


def generation(number: int, *, length: int | None = None, tokens: int = 40) -> Generation:
    """Return the generation for a question: all of it, or its first tokens."""
    chance = random.Random(number)  # noqa: S311 - the same for each number
    whole = Generation(
        text=f"answer {number}",
        tokens=tuple(chance.randrange(49_152) for _ in range(tokens)),
        forced_tokens=number % 5,
        is_complete=True,
        margin=Margin(gap=chance.random(), token_index=0, chosen="ä", other="\n"),
    )
    if length is None or length >= tokens:
        return whole
    return replace(whole, tokens=whole.tokens[:length], is_complete=False)


def sound(store: Store) -> bool:
    """Return whether SQLite and every row are undamaged."""
    assert store.connection is not None
    assert store.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    keys = [row[0] for row in store.connection.execute("SELECT key FROM generations")]
    for one in keys:
        found = read_generation(store, one)
        assert found is not None
        number = found.question.prompt_tokens[0]
        whole = generation(number)
        assert found.question == question(number)
        assert found.generation in {
            whole,
            generation(number, length=len(found.generation.tokens)),
        }
    (uses,) = store.connection.execute("SELECT count(*) FROM uses").fetchone()
    return bool(uses == len(keys))


def write_until_killed(path: Path, seed: int, max_bytes: int, said: Connection) -> None:
    """Write, lengthen, read and use generations, in an order of the seed's."""
    chance = random.Random(seed)  # noqa: S311 - an order
    store = Store(path, max_bytes=max_bytes)
    said.send("ready")
    while True:
        number = chance.randrange(400)
        store.put(question(number), generation(number, length=chance.choice((5, 20, None))))
        key = question(chance.randrange(400)).compute_key()
        if store.get(key) is not None:
            store.record_use(key)
        assert store.trouble is None, store.trouble

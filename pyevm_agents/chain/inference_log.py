"""What models said in a block: kept with it, so that it comes to the same whatever answers by then.

A script that is set from outside, or another run of the same question, would say something else.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from precompiles.language_model import Generation, Margin
from pyevm_agents.errors import EngineFault
from pyevm_agents.vm import AgentComputation, hash_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth.abc import ComputationAPI

    from precompiles.language_model import GenerationRequest, LanguageModel, Segment


def encode_generations(computations: Sequence[ComputationAPI]) -> bytes | None:
    """Return what models said in transactions, in order, as a row; None where none was asked."""
    entries = [
        {"prompt": prompt, "said": _serialize_generation(generation)}
        for computation in computations
        for prompt, generation in _iter_generations(computation)
    ]
    return json.dumps(entries).encode() if entries else None


class ReplayModel:
    """A language model that says again what was said. Implements `LanguageModel`."""

    def __init__(self, model: LanguageModel, entries: Iterator[Any]) -> None:
        """Say it in its order.

        Input: the model itself, for its tokens; the entries of a row, which models share.
        """
        self._model = model
        self._entries = entries

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self._model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return what was said next.

        Raises: EngineFault: to another prompt, or nothing.
        """
        entry = next(self._entries, None)
        if entry is None or entry["prompt"] != hash_prompt(request):
            raise EngineFault(
                "what the models said in this block is kept for other prompts than it has now; the "
                "rows of the chain are damaged, or of another version: keep a new chain"
            )
        form = entry["said"]
        margin = None if form["margin"] is None else Margin(**form["margin"])
        return Generation(**{**form, "tokens": tuple(form["tokens"]), "margin": margin})


def decode_generations(row: bytes) -> Iterator[Any]:
    """Return the entries of a row."""
    return iter(json.loads(row))


def _serialize_generation(generation: Generation) -> dict[str, object]:
    """Write a generation; `dataclasses.asdict` would copy each token."""
    form = {field.name: getattr(generation, field.name) for field in fields(generation)}
    return form | {"margin": None if generation.margin is None else asdict(generation.margin)}


def _iter_generations(computation: ComputationAPI) -> Iterator[tuple[str, Generation]]:
    """Yield the prompts' digests and what was said, in order: a call of the executor calls none."""
    left = [computation]
    while left:
        call = left.pop()
        if isinstance(call, AgentComputation) and call.generation is not None:
            yield call.generation
        left.extend(reversed(call.children))

"""The generations of a block, stored alongside: a replay gives the same results.

A script that was set later, or another model, would generate other text.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from precompiles.language_model import Confidence, Generation, Margin
from pyevm_agents.errors import EngineFault
from pyevm_agents.vm import AgentComputation, hash_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth.abc import ComputationAPI

    from precompiles.language_model import GenerationRequest, LanguageModel, Segment


def encode_generations(computations: Sequence[ComputationAPI]) -> bytes | None:
    """Return the generations of transactions, in order, as a row, or None."""
    entries = [
        {"prompt": prompt, "said": _serialize_generation(generation)}
        for computation in computations
        for prompt, generation in _iter_generations(computation)
    ]
    return json.dumps(entries).encode() if entries else None


class ReplayModel:
    """A language model that repeats stored generations in order. Implements `LanguageModel`."""

    def __init__(self, model: LanguageModel, entries: Iterator[Any]) -> None:
        """Create a replay.

        Input:
            model: the model itself, for the tokenizer.
            entries: of a row; shared by all models of the chain.
        """
        self._model = model
        self._entries = entries

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self._model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the next stored generation.

        Raises: EngineFault: the next one is of another prompt, or missing.
        """
        entry = next(self._entries, None)
        if entry is None or entry["prompt"] != hash_prompt(request):
            raise EngineFault(
                "the stored generations of this block are of other prompts: the chain's database "
                "is damaged, or of another version; store a new chain"
            )
        return _deserialize_generation(entry["said"])


def decode_generations(row: bytes) -> Iterator[Any]:
    """Return an iterator over the entries of a row."""
    return iter(json.loads(row))


def _serialize_generation(generation: Generation) -> dict[str, object]:
    """Return a generation as a dictionary; `dataclasses.asdict` would copy each token."""
    form = {field.name: getattr(generation, field.name) for field in fields(generation)}
    form["margin"] = None if generation.margin is None else asdict(generation.margin)
    if generation.confidence is None:
        del form["confidence"]  # Rows of the free format have no such field.
    else:
        form["confidence"] = asdict(generation.confidence)
    for name in ("is_free", "tail_tokens"):
        if not form[name]:
            del form[name]
    return form


def _deserialize_generation(form: dict[str, Any]) -> Generation:
    margin, confidence = form["margin"], form.get("confidence")
    return Generation(
        text=form["text"],
        tokens=tuple(form["tokens"]),
        forced_tokens=form["forced_tokens"],
        is_complete=form["is_complete"],
        margin=None if margin is None else Margin(**margin),
        confidence=None if confidence is None else Confidence(surprisal=confidence["surprisal"]),
        is_free=form.get("is_free", False),
        tail_tokens=form.get("tail_tokens", 0),
    )


def _iter_generations(computation: ComputationAPI) -> Iterator[tuple[str, Generation]]:
    """Yield prompt digests and generations in the order of execution."""
    left = [computation]
    while left:
        call = left.pop()
        if isinstance(call, AgentComputation) and call.generation is not None:
            yield call.generation
        left.extend(reversed(call.children))

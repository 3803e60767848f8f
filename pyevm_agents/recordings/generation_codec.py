"""Encoder and decoder of model requests and generations, for chain fixtures and cassettes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from precompiles.language_model import Confidence, Generation, Margin, Segment
from pyevm_agents.models.fakes.recorded import Exchange

if TYPE_CHECKING:
    from pyevm_agents.recordings.canonical_json import Json
    from pyevm_agents.recordings.json_reader import JsonReader


def normalize_exchange(exchange: Exchange) -> Exchange:
    """Remove the fields that depend on the models' caches from an exchange.

    Tokens are the same for a generation that the model cut and for one cut out of a longer cached
    one; but the number of forced tokens and the margin are known only in the first case.
    """
    generation = exchange.generation
    if generation is None or generation.is_complete:
        return exchange
    return replace(
        exchange, generation=replace(generation, forced_tokens=0, margin=None, confidence=None)
    )


def encode_exchange(exchange: Exchange) -> dict[str, Json]:
    """Encode an exchange as JSON."""
    return {
        "model": exchange.model,
        "prompt": [
            {"text": segment.text, "isTemplate": segment.is_template}
            for segment in exchange.segments
        ],
        "promptTokens": list(exchange.prompt_tokens),
        "grammar": exchange.grammar,
        "maxTokens": exchange.max_tokens,
        "generation": None
        if exchange.generation is None
        else _encode_generation(exchange.generation),
    }


def read_exchange(node: JsonReader) -> Exchange:
    """Decode an exchange.

    Raises: FixtureError: malformed; the message names the field.
    """
    grammar, limit, generation = node["grammar"], node["maxTokens"], node["generation"]
    return Exchange(
        model=node["model"].read_text(),
        segments=tuple(
            Segment(text=part["text"].read_text(), is_template=part["isTemplate"].read_boolean())
            for part in node["prompt"].iter_items()
        ),
        prompt_tokens=tuple(token.read_integer() for token in node["promptTokens"].iter_items()),
        grammar=None if grammar.value is None else grammar.read_text(),
        max_tokens=None if limit.value is None else limit.read_integer(),
        generation=None if generation.value is None else _read_generation(generation),
    )


def encode_margin(margin: Margin | None) -> Json:
    """Return a margin as JSON; null without one."""
    if margin is None:
        return None
    return {
        "gap": float(margin.gap),
        "tokenIndex": margin.token_index,
        "chosen": margin.chosen,
        "other": margin.other,
    }


def _encode_generation(generation: Generation) -> Json:
    confidence = generation.confidence
    form: dict[str, Json] = {
        "text": generation.text,
        "tokens": list(generation.tokens),
        "forcedTokens": generation.forced_tokens,
        "isComplete": generation.is_complete,
        "margin": encode_margin(generation.margin),
    }
    if confidence is not None:  # Omitted in the free format, whose recordings are older.
        form["confidence"] = {"surprisal": confidence.surprisal}
    if generation.is_free:
        form["isFree"] = True
    if generation.tail_tokens:
        form["tailTokens"] = generation.tail_tokens
    return form


def _read_generation(node: JsonReader) -> Generation:
    margin = node["margin"]
    return Generation(
        text=node["text"].read_text(),
        tokens=tuple(token.read_integer() for token in node["tokens"].iter_items()),
        forced_tokens=node["forcedTokens"].read_integer(),
        is_complete=node["isComplete"].read_boolean(),
        margin=None
        if margin.value is None
        else Margin(
            gap=margin["gap"].read_real(),
            token_index=margin["tokenIndex"].read_integer(),
            chosen=margin["chosen"].read_text(),
            other=margin["other"].read_text(),
        ),
        confidence=_read_confidence(node),
        is_free=node["isFree"].read_boolean() if "isFree" in node else False,
        tail_tokens=node["tailTokens"].read_integer() if "tailTokens" in node else 0,
    )


def _read_confidence(node: JsonReader) -> Confidence | None:
    if "confidence" not in node:
        return None
    return Confidence(surprisal=node["confidence"]["surprisal"].read_score())

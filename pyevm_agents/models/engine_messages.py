"""Messages between a model and the engine (a child process): a 4-byte length, then JSON."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from precompiles.language_model import ClauseWords, ScoredClause, Scoring, ToolWords

if TYPE_CHECKING:
    from typing import IO


LENGTH = struct.Struct(">I")


class FileMessage(TypedDict):
    """A file to load. Size and modification time identify the hashed file."""

    path: str
    size_bytes: int
    mtime_ns: int


class LoadMessage(TypedDict):
    """The files and settings that a child process loads."""

    model: FileMessage
    adapter: FileMessage | None
    vocabulary_only: bool
    threads: int
    context_tokens: int | None
    prefix_cache_bytes: int


class FactsMessage(TypedDict):
    """Facts of a loaded model. A restarted child of the same model must report the same."""

    name: str
    architecture: str
    context_tokens: int
    vocabulary_tokens: int
    chat_template: str | None
    bos_text: str
    eos_text: str
    adds_bos: bool
    repacked: bool
    canary: str
    decoding: list[tuple[str, int]]
    chooser: str


class MarginMessage(TypedDict):
    """The closest decision of a generation; fields as in `language_model.Margin`."""

    gap: float
    token_index: int
    chosen: str
    other: str


class ClauseMessage(TypedDict):
    """A possible thought; fields as in `language_model.ScoredClause`."""

    text: str
    words: list[str]
    counts: list[int]
    tools: list[int]


class ToolMessage(TypedDict):
    """A tool as input of a router; fields as in `language_model.ToolWords`."""

    name: list[str]
    description: list[str]
    parameters: list[str]
    counts: list[int]


class ScoringMessage(TypedDict):
    """Input of the scores of a generation; fields as in `language_model.Scoring`."""

    tools: list[ToolMessage]
    names: list[str]
    clauses: list[ClauseMessage]
    router_weight: int


class StatsMessage(TypedDict):
    """Evaluation counts of a generation; fields as in `EvaluationStats`."""

    evaluated_tokens: int
    reused_tokens: int
    restored_tokens: int


class EngineReply(TypedDict, total=False):
    """A reply of the child: any number of progress replies, then one of the others."""

    progress: tuple[str, int, int, str]
    error: str
    message: str
    tokens: list[int]
    text: str
    forced_tokens: int
    is_complete: bool
    margin: MarginMessage | None
    surprisal: int | None
    tool_scores: list[int]
    tail_tokens: int
    work: StatsMessage
    facts: FactsMessage
    system_info: str
    backends: list[str]
    machine: str
    engine: str
    guidance: str
    logits: str


class EngineRequest(TypedDict, total=False):
    """A request of the parent. `operation` is a key of `worker.OPERATIONS`."""

    operation: str
    load: LoadMessage
    segments: list[tuple[str, bool]]
    tokens: list[int]
    grammar: str
    text: str
    max_tokens: int
    known_tokens: list[int]
    scoring: ScoringMessage | None
    wants_progress: bool
    """Send progress replies. Used by `generate` and `load`."""


def encode_scoring(scoring: Scoring) -> ScoringMessage:
    """Return a scoring as a message."""
    return ScoringMessage(
        tools=[
            ToolMessage(
                name=list(tool.name),
                description=list(tool.description),
                parameters=list(tool.parameters),
                counts=list(tool.counts),
            )
            for tool in scoring.tools
        ],
        names=list(scoring.names),
        clauses=[
            ClauseMessage(
                text=clause.text,
                words=list(clause.words.words),
                counts=list(clause.words.counts),
                tools=list(clause.tools),
            )
            for clause in scoring.clauses
        ],
        router_weight=scoring.router_weight,
    )


def decode_scoring(message: ScoringMessage) -> Scoring:
    """Return the scoring of a message."""
    return Scoring(
        tools=tuple(
            ToolWords(
                tuple(tool["name"]),
                tuple(tool["description"]),
                tuple(tool["parameters"]),
                _read_counts(tool["counts"]),
            )
            for tool in message["tools"]
        ),
        names=tuple(message["names"]),
        clauses=tuple(
            ScoredClause(
                text=clause["text"],
                words=ClauseWords(tuple(clause["words"]), _read_counts(clause["counts"])),
                tools=tuple(clause["tools"]),
            )
            for clause in message["clauses"]
        ),
        router_weight=message["router_weight"],
    )


def _read_counts(counts: list[int]) -> tuple[int, int, int]:
    numbers, addresses, texts = counts
    return numbers, addresses, texts


def write_message(stream: IO[bytes], message: EngineRequest | EngineReply) -> None:
    """Write one message to a pipe.

    Raises:
        OSError: the other process is gone.
    """
    body = json.dumps(message).encode()
    rest = memoryview(LENGTH.pack(len(body)) + body)
    while rest:  # An unbuffered stream writes only what fits into the pipe.
        rest = rest[stream.write(rest) :]
    stream.flush()


def _read_message(stream: IO[bytes]) -> bytes | None:
    head = _read_bytes(stream, LENGTH.size)
    return None if head is None else _read_bytes(stream, *LENGTH.unpack(head))


def _read_bytes(stream: IO[bytes], count: int) -> bytes | None:
    """Read `count` bytes; return None if the stream ends earlier."""
    data = bytearray()
    while len(data) < count:
        piece = stream.read(count - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def read_request(stream: IO[bytes]) -> EngineRequest | None:
    """Read one request; return None at the end of the stream (the parent is gone)."""
    body = _read_message(stream)
    request: EngineRequest | None = None if body is None else json.loads(body)
    return request


def read_reply(stream: IO[bytes]) -> EngineReply | None:
    """Read one reply; return None at the end of the stream (the child is gone)."""
    body = _read_message(stream)
    reply: EngineReply | None = None if body is None else json.loads(body)
    return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationStats:
    """Evaluation counts of a generation, which affect time only and differ between hosts."""

    evaluated_tokens: int
    """Prompt and output tokens that were decoded for this generation."""

    reused_tokens: int
    """Prompt tokens whose evaluation was reused from earlier calls."""

    restored_tokens: int
    """Reused tokens that were restored from the prefix cache."""

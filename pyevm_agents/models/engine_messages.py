"""Messages between a model and the engine (a child process): a 4-byte length, then JSON."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing import IO


LENGTH = struct.Struct(">I")


class FileMessage(TypedDict):
    """A file to load. Size and modification time identify the hashed file."""

    path: str
    size_bytes: int
    mtime_ns: int


class CanaryMessage(TypedDict):
    """A canary that was computed before, and where: see `canary.compute_hardware_digest`."""

    hardware: str
    canary: str


class LoadMessage(TypedDict):
    """The files and settings that a child process loads."""

    model: FileMessage
    adapter: FileMessage | None
    vocabulary_only: bool
    threads: int
    context_tokens: int | None
    prefix_cache_bytes: int
    kept_canary: CanaryMessage | None
    """Holds for these files and this engine; None to compute it."""


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
    tail_tokens: int
    work: StatsMessage
    facts: FactsMessage
    hardware: str
    """As in `CanaryMessage`; empty without weights."""

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
    scoring: str | None
    """A value of `language_model.Scoring`."""

    wants_progress: bool
    """Send progress replies. Used by `generate` and `load`."""


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

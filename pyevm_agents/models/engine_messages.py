"""Messages between a model and the engine in its child process: a length, then JSON."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing import IO


LENGTH = struct.Struct(">I")


class FileMessage(TypedDict):
    """A file that a child is to load. The stamp tells whether it is the one that was hashed."""

    path: str
    size_bytes: int
    mtime_ns: int


class LoadMessage(TypedDict):
    """What a child is to load."""

    model: FileMessage
    adapter: FileMessage | None
    vocabulary_only: bool
    threads: int
    context_tokens: int | None
    prefix_cache_bytes: int


class FactsMessage(TypedDict):
    """What a child has loaded. A fresh child for the same model must say the same."""

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


class MarginMessage(TypedDict):
    """The closest decision of a generation; the fields are those of `language_model.Margin`."""

    gap: float
    token_index: int
    chosen: str
    other: str


class StatsMessage(TypedDict):
    """What a generation had to evaluate; the fields are those of `EvaluationStats`."""

    evaluated_tokens: int
    reused_tokens: int
    restored_tokens: int


class EngineReply(TypedDict, total=False):
    """An answer of the child: progress as often as it likes, then one of the others."""

    progress: tuple[str, int, int, str]
    error: str
    message: str
    tokens: list[int]
    text: str
    forced_tokens: int
    is_complete: bool
    margin: MarginMessage | None
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
    wants_progress: bool
    """Of `generate` and `load`."""


def write_message(stream: IO[bytes], message: EngineRequest | EngineReply) -> None:
    """Send one message.

    Raises:
        OSError: the other side is gone.
    """
    body = json.dumps(message).encode()
    rest = memoryview(LENGTH.pack(len(body)) + body)
    while rest:  # A stream without a buffer takes what fits into the pipe.
        rest = rest[stream.write(rest) :]
    stream.flush()


def _read_message(stream: IO[bytes]) -> bytes | None:
    head = _read_bytes(stream, LENGTH.size)
    return None if head is None else _read_bytes(stream, *LENGTH.unpack(head))


def _read_bytes(stream: IO[bytes], count: int) -> bytes | None:
    """Return so many bytes; None where the stream ends before."""
    data = bytearray()
    while len(data) < count:
        piece = stream.read(count - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def read_request(stream: IO[bytes]) -> EngineRequest | None:
    """Receive one request, or None where the stream ends: the parent is gone."""
    body = _read_message(stream)
    request: EngineRequest | None = None if body is None else json.loads(body)
    return request


def read_reply(stream: IO[bytes]) -> EngineReply | None:
    """Receive one reply, or None where the stream ends: the child is gone."""
    body = _read_message(stream)
    reply: EngineReply | None = None if body is None else json.loads(body)
    return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationStats:
    """What a generation had to evaluate: time alone, which differs from host to host."""

    evaluated_tokens: int
    """Tokens of prompt and output that were decoded for it."""

    reused_tokens: int
    """Tokens of the prompt that earlier calls had evaluated already."""

    restored_tokens: int
    """Those among them that came back from a prefix set aside."""

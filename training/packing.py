"""A dataset's rows, and how they become sequences: many requests behind one system prompt.

A row is a group: `{"system": [token, …], "requests": [{"tokens": [token, …], "learn": [0, 1, …]},
…]}`. Each request stands behind the same system tokens and knows nothing of its neighbours: its
positions begin where the system's end, and it attends to the system and to itself alone. So the
system prompt, most of an example's tokens, is computed once for all of a group.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GZIP_MAGIC = b"\x1f\x8b"


class _RequestRow(TypedDict):
    tokens: list[int]
    learn: list[int]


class _Row(TypedDict):
    system: list[int]
    requests: list[_RequestRow]


class DatasetError(Exception):
    """A dataset's file can't be read, or a row of it is not a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What follows a system prompt, and which of its tokens the model is to write."""

    tokens: tuple[int, ...]
    learn: tuple[bool, ...]

    @property
    def learned_tokens(self) -> int:
        """How many of the tokens are learned."""
        return sum(self.learn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Requests behind one system prompt."""

    system: tuple[int, ...]
    requests: tuple[Request, ...]

    @property
    def learned_tokens(self) -> int:
        """How many tokens of all requests are learned."""
        return sum(request.learned_tokens for request in self.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """All groups of a file."""

    groups: tuple[Group, ...]
    sha256: str
    """Of the lines, not of their compressed form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One sequence: the system's tokens, then each request's."""

    tokens: torch.Tensor
    positions: torch.Tensor
    system_tokens: int
    lengths: tuple[int, ...]
    """Tokens of each request."""

    rows: torch.Tensor
    """Indices of the tokens after which one is learned; one for each of `targets`."""

    targets: torch.Tensor

    def to(self, device: torch.device | str) -> Packed:
        """Return the same sequence on a device."""
        return Packed(
            tokens=self.tokens.to(device),
            positions=self.positions.to(device),
            system_tokens=self.system_tokens,
            lengths=self.lengths,
            rows=self.rows.to(device),
            targets=self.targets.to(device),
        )


def read_dataset(path: Path, *, vocabulary_tokens: int) -> Dataset:
    """Read a file of JSON lines, gzipped or not.

    Raises:
        DatasetError: it can't be read, has no line, or a line is not a group of this vocabulary.
    """
    try:
        data = path.read_bytes()
        text = gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"The dataset {path} can't be read: {error}; write it again") from error
    groups = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            groups.append(_group_of(json.loads(line), vocabulary_tokens))
        except (ValueError, TypeError, KeyError) as error:
            raise DatasetError(
                f"Line {number} of the dataset {path} is not a group: "
                f"{type(error).__name__}: {error}; see training/packing.py for its form"
            ) from error
    if not groups:
        raise DatasetError(f"The dataset {path} has no line; write it again")
    return Dataset(groups=tuple(groups), sha256=hashlib.sha256(text).hexdigest())


def _group_of(row: _Row, vocabulary_tokens: int) -> Group:
    system = tuple(row["system"])
    requests = tuple(_request_of(request) for request in row["requests"])
    tokens = {token for request in requests for token in request.tokens}.union(system)
    if not system or not requests:
        raise ValueError("a group has a system prompt and at least one request")
    if min(tokens) < 0 or max(tokens) >= vocabulary_tokens:
        raise ValueError(
            f"tokens from {min(tokens)} to {max(tokens)}; the base has 0 to {vocabulary_tokens - 1}"
        )
    return Group(system=system, requests=requests)


def _request_of(row: _RequestRow) -> Request:
    tokens, learn = row["tokens"], row["learn"]
    if len(tokens) != len(learn):
        raise ValueError(f"{len(tokens)} tokens with {len(learn)} marks of what to learn")
    if 1 not in learn:
        raise ValueError("a request of which nothing is learned")
    return Request(tokens=tuple(tokens), learn=tuple(map(bool, learn)))


def pack(group: Group, *, max_tokens: int) -> Iterator[Packed]:
    """Lay a group out as sequences of at most `max_tokens`, or of one request where that is longer.

    Requests come shortest first: neighbours of one length are computed together. What follows a
    request's last learned token has no effect and is left out.
    """
    requests = sorted((_trimmed(request) for request in group.requests), key=_length)
    room = max_tokens - len(group.system)
    taken: list[Request] = []
    for request in requests:
        if taken and sum(map(_length, taken)) + _length(request) > room:
            yield _packed(group.system, taken)
            taken = []
        taken.append(request)
    if taken:
        yield _packed(group.system, taken)


def _length(request: Request) -> int:
    return len(request.tokens)


def _trimmed(request: Request) -> Request:
    end = max(index for index, is_learned in enumerate(request.learn) if is_learned)
    # The last token is only predicted; it stays, for a request may be of that one token.
    return Request(tokens=request.tokens[: end + 1], learn=request.learn[: end + 1])


def _packed(system: tuple[int, ...], requests: list[Request]) -> Packed:
    tokens, positions = list(system), list(range(len(system)))
    rows, targets = [], []
    for request in requests:
        start = len(tokens)
        for index, is_learned in enumerate(request.learn):
            if is_learned:
                # A request's first token follows the system's last.
                rows.append(start + index - 1 if index else len(system) - 1)
                targets.append(request.tokens[index])
        tokens += request.tokens
        positions += range(len(system), len(system) + len(request.tokens))
    return Packed(
        tokens=torch.tensor(tokens),
        positions=torch.tensor(positions),
        system_tokens=len(system),
        lengths=tuple(map(_length, requests)),
        rows=torch.tensor(rows),
        targets=torch.tensor(targets),
    )

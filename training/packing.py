"""Datasets, and packing of many requests after one system prompt into sequences.

A row is a group: `{"system": [token, …], "requests": [{"tokens": [token, …], "learn": [0, 4, …]},
…]}`, where `learn` has the weight of each token in the loss. All requests follow the same system
tokens and are independent: a request's positions continue the system's, and it attends only to the
system and to itself. So the system prompt, most of an example's tokens, is computed once per group.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
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
    learn: list[float]


class _Row(TypedDict):
    system: list[int]
    requests: list[_RequestRow]


class DatasetError(Exception):
    """A dataset can't be read, or a row of it is not a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Tokens after a system prompt, and the weight of each in the loss."""

    tokens: tuple[int, ...]
    learn: tuple[float, ...]
    """0 for a token that is not trained on."""

    @property
    def learned_tokens(self) -> int:
        """Number of tokens that are trained on."""
        return sum(weight > 0 for weight in self.learn)

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return sum(self.learn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Requests with a common system prompt."""

    system: tuple[int, ...]
    requests: tuple[Request, ...]

    @property
    def learned_tokens(self) -> int:
        """Number of tokens of all requests that are trained on."""
        return sum(request.learned_tokens for request in self.requests)

    @property
    def weight(self) -> float:
        """Sum of the weights of all requests."""
        return sum(request.weight for request in self.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """All groups of a file."""

    groups: tuple[Group, ...]
    sha256: str
    """SHA-256 of the uncompressed lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A sequence: the system's tokens, then those of each request."""

    tokens: torch.Tensor
    positions: torch.Tensor
    system_tokens: int
    lengths: tuple[int, ...]
    """Number of tokens of each request."""

    rows: torch.Tensor
    """Indices of the tokens before the learned ones; one for each of `targets`."""

    targets: torch.Tensor
    weights: torch.Tensor
    """Weight of each of `targets` in the loss."""

    def to(self, device: torch.device | str) -> Packed:
        """Return the same sequence on a device."""
        return Packed(
            tokens=self.tokens.to(device),
            positions=self.positions.to(device),
            system_tokens=self.system_tokens,
            lengths=self.lengths,
            rows=self.rows.to(device),
            targets=self.targets.to(device),
            weights=self.weights.to(device),
        )


def read_dataset(path: Path, *, vocabulary_tokens: int) -> Dataset:
    """Read a file of JSON lines, gzipped or not.

    Raises:
        DatasetError: it can't be read or is empty, or a line is not a group of this vocabulary.
    """
    try:
        data = path.read_bytes()
        text = gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"dataset {path} can't be read: {error}; write it again") from error
    groups = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            groups.append(_group_of(json.loads(line), vocabulary_tokens))
        except (ValueError, TypeError, KeyError) as error:
            raise DatasetError(
                f"line {number} of dataset {path} is not a group: "
                f"{type(error).__name__}: {error}; see training/packing.py for the format"
            ) from error
    if not groups:
        raise DatasetError(f"dataset {path} is empty; write it again")
    return Dataset(groups=tuple(groups), sha256=hashlib.sha256(text).hexdigest())


def _group_of(row: _Row, vocabulary_tokens: int) -> Group:
    system = tuple(row["system"])
    requests = tuple(_request_of(request) for request in row["requests"])
    tokens = {token for request in requests for token in request.tokens}.union(system)
    if not system or not requests:
        raise ValueError("a group must have a system prompt and at least one request")
    if min(tokens) < 0 or max(tokens) >= vocabulary_tokens:
        raise ValueError(
            f"tokens from {min(tokens)} to {max(tokens)}: must be 0 to {vocabulary_tokens - 1}"
        )
    return Group(system=system, requests=requests)


def _request_of(row: _RequestRow) -> Request:
    tokens, learn = row["tokens"], row["learn"]
    if len(tokens) != len(learn):
        raise ValueError(f"{len(tokens)} tokens but {len(learn)} items in `learn`")
    if not all(0 <= weight < math.inf for weight in learn):
        raise ValueError(f"weights from {min(learn)} to {max(learn)}: must be finite, at least 0")
    if not any(learn):
        raise ValueError("a request must have at least one learned token")
    return Request(tokens=tuple(tokens), learn=tuple(map(float, learn)))


def pack(group: Group, *, max_tokens: int) -> Iterator[Packed]:
    """Pack a group into sequences of at most `max_tokens`, unless a single request is longer.

    Requests are sorted by length, because neighbours of similar length are computed together.
    Tokens after a request's last learned one have no effect and are left out.
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
    # The last token is only predicted; it is kept, because a request may consist of it alone.
    return Request(tokens=request.tokens[: end + 1], learn=request.learn[: end + 1])


def _packed(system: tuple[int, ...], requests: list[Request]) -> Packed:
    tokens, positions = list(system), list(range(len(system)))
    rows, targets, weights = [], [], []
    for request in requests:
        start = len(tokens)
        for index, weight in enumerate(request.learn):
            if weight:
                # A request's first token follows the system's last one.
                rows.append(start + index - 1 if index else len(system) - 1)
                targets.append(request.tokens[index])
                weights.append(weight)
        tokens += request.tokens
        positions += range(len(system), len(system) + len(request.tokens))
    return Packed(
        tokens=torch.tensor(tokens),
        positions=torch.tensor(positions),
        system_tokens=len(system),
        lengths=tuple(map(_length, requests)),
        rows=torch.tensor(rows),
        targets=torch.tensor(targets),
        weights=torch.tensor(weights),
    )

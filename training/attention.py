"""Attention in a packed sequence: system tokens to themselves, each request to system and itself.

There is no mask over the whole sequence, since its cost is quadratic in the length: six times as
much for 24 requests. Requests of similar length are computed together, padded to the longest of
them. Heads that share keys and values become additional rows of one head, so keys are not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BUNCH_REQUESTS = 8
"""Maximum requests computed together. More are not faster, and need more padding."""

MAX_PADDING = 1.1
"""Maximum ratio of the longest to the shortest request of a bunch."""


@dataclass(frozen=True, slots=True)
class Bunch:
    """Neighbouring requests that are computed together."""

    lengths: tuple[int, ...]
    mask: torch.Tensor
    """Attention mask of each row: longest request x (system + longest request)."""


def bunches(system_tokens: int, lengths: Sequence[int], device: torch.device) -> Iterator[Bunch]:
    """Split a sequence's requests, shortest first, into bunches."""
    taken: list[int] = []
    for length in lengths:
        if taken and (len(taken) == BUNCH_REQUESTS or length > MAX_PADDING * taken[0]):
            yield _bunch(system_tokens, taken, device)
            taken = []
        taken.append(length)
    if taken:
        yield _bunch(system_tokens, taken, device)


def _bunch(system_tokens: int, lengths: list[int], device: torch.device) -> Bunch:
    longest = max(lengths)
    # Padding follows a request's own tokens, which do not attend to later ones.
    seen = torch.ones(longest, system_tokens + longest, dtype=torch.bool, device=device)
    return Bunch(tuple(lengths), seen.tril(system_tokens))


def attend(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    system_tokens: int,
    layout: Sequence[Bunch],
) -> torch.Tensor:
    """Compute the attention output of each token of a packed sequence.

    Input:
        queries: tokens x heads x head width; keys and values have fewer heads, each for several
            neighbouring heads of the queries.

    Output:
        Same shape as the queries.
    """
    sizes = [system_tokens, *(sum(bunch.lengths) for bunch in layout)]
    queries_of, keys_of, values_of = (part.split(sizes) for part in (queries, keys, values))
    system_keys, system_values = keys_of[0], values_of[0]
    pieces = [_attend_system(queries_of[0], system_keys, system_values)]
    for index, bunch in enumerate(layout, start=1):
        pieces.append(
            _attend_bunch(
                bunch,
                queries_of[index],
                _with_system(system_keys, keys_of[index], bunch),
                _with_system(system_values, values_of[index], bunch),
            )
        )
    return torch.cat(pieces)


def _attend_system(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    shared = queries.shape[1] // keys.shape[1]
    keys, values = (part.repeat_interleave(shared, dim=1) for part in (keys, values))
    seen = scaled_dot_product_attention(
        *(part.transpose(0, 1).unsqueeze(0) for part in (queries, keys, values)), is_causal=True
    )
    return seen.squeeze(0).transpose(0, 1)


def _with_system(system: torch.Tensor, own: torch.Tensor, bunch: Bunch) -> torch.Tensor:
    """Return requests x heads x (system + longest) x head width."""
    padded = _padded(own, bunch).transpose(1, 2)
    repeated = system.transpose(0, 1).expand(len(padded), -1, -1, -1)
    return torch.cat([repeated, padded], dim=2)


def _padded(part: torch.Tensor, bunch: Bunch) -> torch.Tensor:
    """Return requests x longest x heads x head width."""
    longest = max(bunch.lengths)
    if min(bunch.lengths) == longest:
        return part.view(len(bunch.lengths), longest, *part.shape[1:])
    return torch.nn.utils.rnn.pad_sequence(list(part.split(bunch.lengths)), batch_first=True)


def _attend_bunch(
    bunch: Bunch, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    requests, kv_heads, _, width = keys.shape
    shared, longest = queries.shape[1] // kv_heads, max(bunch.lengths)
    rows = _padded(queries, bunch).view(requests, longest, kv_heads, shared, width)
    seen = scaled_dot_product_attention(
        rows.permute(0, 2, 3, 1, 4).reshape(requests, kv_heads, shared * longest, width),
        keys,
        values,
        attn_mask=bunch.mask.repeat(shared, 1),
    )
    seen = seen.view(requests, kv_heads, shared, longest, width).permute(0, 3, 1, 2, 4)
    seen = seen.reshape(requests, longest, kv_heads * shared, width)
    if min(bunch.lengths) == longest:
        return seen.flatten(0, 1)
    return torch.cat([piece[:length] for piece, length in zip(seen, bunch.lengths, strict=True)])

"""What a generation cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a generation had to evaluate: time alone, which differs from host to host."""

    evaluated_tokens: int
    """Tokens of prompt and output that were decoded for it."""

    reused_tokens: int
    """Tokens of the prompt that earlier calls had evaluated already."""

    restored_tokens: int
    """Those among them that came back from a prefix set aside."""

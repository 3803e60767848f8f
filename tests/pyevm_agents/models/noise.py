"""Logits without a model: noise that is a function of the tokens, and grammars for it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from eth_typing import Address

from precompiles.abi import ParamDescription, ParamType
from precompiles.grammar import build_grammar
from precompiles.tool_metadata import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pyevm_agents.models.llama.bindings import Llama


@dataclass(frozen=True)
class Noise:
    """An evaluator that generates noise, preferring certain tokens."""

    vocabulary_tokens: int
    seed: str
    liked: Sequence[int] = ()
    liking: float = 4.0

    def evaluate(
        self,
        tokens: list[int],
        report: Callable[[int, int], None] | None = None,  # noqa: ARG002 - as `Evaluator`
    ) -> NDArray[np.float32]:
        noise = _noise(self.vocabulary_tokens, f"{self.seed} {tokens}").copy()
        noise[list(self.liked)] += self.liking
        return noise


@lru_cache(maxsize=64)
def _noise(vocabulary_tokens: int, seed: str) -> NDArray[np.float32]:
    digest = hashlib.sha256(seed.encode()).digest()
    return np.random.default_rng(list(digest)).standard_normal(vocabulary_tokens, dtype=np.float32)


@dataclass(frozen=True)
class Saying:
    """An evaluator that prefers given tokens after a prompt of one token."""

    vocabulary_tokens: int
    wanted: Sequence[Sequence[int]]
    """For each position the tokens, the most preferred first."""

    def evaluate(
        self,
        tokens: list[int],
        report: Callable[[int, int], None] | None = None,  # noqa: ARG002 - as `Evaluator`
    ) -> NDArray[np.float32]:
        logits = np.zeros(self.vocabulary_tokens, dtype=np.float32)
        position = len(tokens) - 1
        for rank, token in enumerate(self.wanted[position] if position < len(self.wanted) else ()):
            logits[token] = 10.0 - rank
        return logits


def tool(name: str, *parameters: tuple[str, ParamType]) -> Tool:
    return Tool(
        address=Address(b"\1" * 20),
        name=name,
        description="",
        parameters=tuple(
            ParamDescription(name=parameter, description="", param_type=param_type)
            for parameter, param_type in parameters
        ),
    )


GRAMMARS = {
    "wallet": build_grammar(
        [
            tool("DeployTool", ("asset", ParamType.ADDRESS), ("amount", ParamType.UINT)),
            tool("WithdrawTool", ("asset", ParamType.ADDRESS), ("amount", ParamType.UINT)),
            tool("ViewBalanceTool", ("asset", ParamType.ADDRESS)),
        ],
        ["USDC", "DAI", "addr1"],
    ),
    "every type": build_grammar(
        [
            tool("Note", ("text", ParamType.STRING), ("xs", ParamType.INT_ARRAY)),
            tool("Swap_v2", ("to", ParamType.ADDRESS), ("bs", ParamType.BOOL_ARRAY)),
            tool("mint", ("amount", ParamType.INT)),
            tool("List", ("ss", ParamType.STRING_ARRAY)),
        ],
        ["USDC", "addr1", "addr2", "vault.eth"],
    ),
    "answers": build_grammar([], []),
    "other scripts": build_grammar(
        [tool("量子", ("été", ParamType.STRING)), tool("emoji😀", ("数", ParamType.UINT))], []
    ),
}


def tastes(llama: Llama) -> dict[str, list[int]]:
    """Return the tokens to prefer, by their text."""
    pieces = [llama.piece(token) for token in range(llama.vocabulary_tokens)]
    ends = llama.end_tokens()

    def such(test: Callable[[bytes], bool]) -> list[int]:
        return [token for token, piece in enumerate(pieces) if test(piece)] + ends

    return {
        "anything": ends,
        "other scripts": such(lambda piece: piece[:1] >= b"\x80" or b"\n" in piece),
        "white space": such(bytes.isspace),
        "short": such(lambda piece: len(piece) <= 2),
        "digits": such(lambda piece: piece.isdigit() or b'"' in piece or b"\n" in piece),
        "escapes": such(lambda piece: b'"' in piece or b"\\" in piece or b"\n" in piece),
        "special spellings": such(
            lambda piece: piece in {b"<", b"|", b"im", b"_", b"end", b">", b"start", b"\n"}
        ),
    }

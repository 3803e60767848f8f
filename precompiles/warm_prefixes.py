"""Warm prefixes: the prompt tokens that a transaction has already paid for.

A prompt's tokens are grouped in blocks of 32, `h_i = keccak(model ‖ h_(i-1) ‖ block_i)`. Slot `h_i`
in the transient storage of the executor's account holds the number of the prefix that last used the
block, and that prefix's length in blocks. One more slot lists the numbers of the `WARM_PREFIXES`
live prefixes, most recent last. A block is warm while the last prefix that used it is live. Every
use renews a block: a block is warm exactly while contained in some live prefix. A revert undoes
marks, as transient storage does.

Source: docs/architecture.md#warm-prompt-tokens; EIP-1153, EIP-2929.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from eth_utils import keccak

from precompiles.spec import EXECUTOR_ADDRESS, PROMPT_BLOCK_TOKENS, WARM_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import StateAPI

_LIVE_SLOT = 1
"""Transient slot of the live prefixes' numbers; `tool_metadata` uses 0, marks use digests."""

_NUMBER_BYTES = 8
_ROOT = bytes(32)


class WarmPrompt:
    """A prompt as a chain of block digests, with warm marks."""

    def __init__(self, state: StateAPI, model_digest: bytes, tokens: Sequence[int]) -> None:
        """Compute the digests of the full blocks of `tokens`; the remainder is always cold."""
        self._state = state
        self._slots = [int.from_bytes(h, "big") for h in _block_digests(model_digest, tokens)]
        self._live = self._read_live()

    @property
    def warm_tokens(self) -> int:
        """Number of tokens from the start of the prompt that the transaction has paid for."""
        blocks = 0
        for slot in self._slots:
            number, _ = self._read_mark(slot)
            if number not in self._live:
                break
            blocks += 1
        return blocks * PROMPT_BLOCK_TOKENS

    def mark_paid(self) -> None:
        """Make the prompt the most recent live prefix; the least recent one is dropped.

        The prompt replaces a live prefix that the prompt continues.
        """
        if not self._slots:
            return
        live = list(self._live)
        number = self._next_number()
        for position, slot in enumerate(self._slots, start=1):
            earlier, earlier_blocks = self._read_mark(slot)
            if earlier in live and earlier_blocks == position:
                live.remove(earlier)
            self._write_mark(slot, number, len(self._slots))
        self._write_live([*live, number][-WARM_PREFIXES:])

    def _next_number(self) -> int:
        return max(self._live, default=0) + 1

    def _read_mark(self, slot: int) -> tuple[int, int]:
        mark = self._state.get_transient_storage(EXECUTOR_ADDRESS, slot)
        if not mark:
            return 0, 0
        return int.from_bytes(mark[:_NUMBER_BYTES], "big"), int.from_bytes(
            mark[_NUMBER_BYTES:], "big"
        )

    def _write_mark(self, slot: int, number: int, blocks: int) -> None:
        mark = number.to_bytes(_NUMBER_BYTES, "big") + blocks.to_bytes(_NUMBER_BYTES, "big")
        self._state.set_transient_storage(EXECUTOR_ADDRESS, slot, mark)

    def _read_live(self) -> tuple[int, ...]:
        packed = self._state.get_transient_storage(EXECUTOR_ADDRESS, _LIVE_SLOT)
        return tuple(
            int.from_bytes(packed[at : at + _NUMBER_BYTES], "big")
            for at in range(0, len(packed), _NUMBER_BYTES)
        )

    def _write_live(self, numbers: Sequence[int]) -> None:
        self._live = tuple(numbers)
        packed = b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in numbers)
        self._state.set_transient_storage(EXECUTOR_ADDRESS, _LIVE_SLOT, packed)


def _block_digests(model_digest: bytes, tokens: Sequence[int]) -> list[bytes]:
    digests: list[bytes] = []
    digest = _ROOT
    for start in range(0, len(tokens) - PROMPT_BLOCK_TOKENS + 1, PROMPT_BLOCK_TOKENS):
        block = tokens[start : start + PROMPT_BLOCK_TOKENS]
        packed = struct.pack(f">{PROMPT_BLOCK_TOKENS}I", *block)
        digest = keccak(model_digest + digest + packed)
        digests.append(digest)
    return digests

"""Search for the text that tokenises slowest per byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.attacks.case import encode_calldata
from pyevm_agents.bench.measurement.rounds import time_work

if TYPE_CHECKING:
    from pyevm_agents.bench.attacks.case import AttackTarget

TRIED_BYTES = 4_096
"""Bytes of each text that is tried."""

UNITS = {
    "control characters": "\x01",
    "spaces": " ",
    "one letter": "a",
    "digits": "7",
    "line breaks": "\n",
    "two cases": "aA",
    "emoji": "\U0001f600",
    "cuneiform": "\U00012031",
    "combining accents": "\u0301",
    "line separators": "\u2028",
    "no-break spaces": "\u00a0",
    "control tokens": "<|im_start|>",
    "control tokens, all text between them different": "<|im_start|>{}",
    "beginnings of control tokens": "<|",
    "apostrophes": "'",
    "equals signs": "=",
    "merges": "the",
    "0x": "0x",
}
"""Texts that some tokenisers handle badly: single bytes, long words, deep merges, splits. Each is
repeated, with a counter at `{}`.
"""


def find_worst_unit(target: AttackTarget) -> str:
    """Return the text that tokenises slowest per byte."""

    def time_unit(name: str) -> float:
        data = encode_calldata(prompt=repeat_unit(UNITS[name], TRIED_BYTES))
        return min(time_work(lambda: target.count_prompt_tokens(data)) for _ in range(2))

    return max(UNITS, key=time_unit)


def repeat_unit(unit: str, size_bytes: int) -> str:
    """Return repetitions of a unit, at most `size_bytes` long."""
    if "{}" not in unit:
        return unit * (size_bytes // len(unit.encode()))
    text = "".join(unit.format(index) for index in range(size_bytes // len(unit) + 1))
    return text[:size_bytes]

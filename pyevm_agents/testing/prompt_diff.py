"""Differences of prompts: changed lines, and of long lines the changed parts."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from pyevm_agents.display import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from precompiles.language_model import Segment

CONTEXT_LINES = 2
MAX_LINES = 60
"""Lines of a difference."""

MAX_LINE_CHARACTERS = 160
"""A longer line is cut around its first change."""

CHARACTERS_BEFORE = 40
"""Characters before the first change of a line that is cut."""

END_LINES = 6
"""Lines of a prompt's end."""


def join_segments(segments: Iterable[Segment]) -> str:
    """Return a prompt as one text."""
    return "".join(segment.text for segment in segments)


def diff_prompts(recorded: str, now: str) -> str:
    """Return the lines in which two texts differ, as a unified diff."""
    lines = [
        *difflib.unified_diff(
            recorded.split("\n"),
            now.split("\n"),
            "recorded",
            "now",
            n=CONTEXT_LINES,
            lineterm="",
        )
    ]
    short_lines = [*_shorten_lines(lines)]
    if len(short_lines) > MAX_LINES:
        short_lines = [*short_lines[:MAX_LINES], f"… {len(short_lines) - MAX_LINES:,} more lines"]
    return "\n".join(short_lines)


def find_closest(prompts: Sequence[str], prompt: str) -> int:
    """Return the index of the prompt with the most characters in common, from both ends."""
    return max(range(len(prompts)), key=lambda index: _count_shared(prompts[index], prompt))


def format_end(text: str) -> str:
    """Return a text's last lines."""
    lines = text.rstrip().split("\n")
    cut = ["…"] if len(lines) > END_LINES else []
    return "\n".join([*cut, *(sanitize(line, MAX_LINE_CHARACTERS) for line in lines[-END_LINES:])])


def _count_shared(text: str, other: str) -> int:
    start = _count_common_prefix(text, other)
    rest = text[start:][::-1], other[start:][::-1]
    return start + _count_common_prefix(*rest)


def _count_common_prefix(text: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    both = enumerate(zip(text, other, strict=False))
    return next((index for index, (a, b) in both if a != b), min(len(text), len(other)))


def _shorten_lines(lines: Sequence[str]) -> Iterator[str]:
    """Cut long lines around changes: a removed line precedes the replacement."""
    for index, line in enumerate(lines):
        other = ""
        if line.startswith("-"):
            other = next(
                (candidate for candidate in lines[index:] if candidate.startswith("+")), ""
            )
        elif line.startswith("+"):
            other = next(
                (candidate for candidate in reversed(lines[:index]) if candidate.startswith("-")),
                "",
            )
        yield line[:1] + _shorten_line(line[1:], other[1:])


def _shorten_line(line: str, other: str) -> str:
    if len(line) <= MAX_LINE_CHARACTERS:
        return sanitize(line)
    start = max(0, _count_common_prefix(line, other) - CHARACTERS_BEFORE)
    part = line[start : start + MAX_LINE_CHARACTERS]
    before = "…" if start else ""
    after = "…" if start + MAX_LINE_CHARACTERS < len(line) else ""
    return before + sanitize(part) + after

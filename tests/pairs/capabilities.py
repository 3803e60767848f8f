"""The capabilities of this product, and what happens where two of them meet.

A story is a test that executes two capabilities together. What it says is the pair's line in
docs/combinations.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Test = TypeVar("Test", bound="Callable[..., None]")


class Capability(Enum):
    """A capability, under its name in docs/combinations.md."""

    EMBEDDED = "embedded"
    CALLBACK = "callback"
    NUMERIC = "numeric"
    RETRIEVAL = "retrieval"
    NESTED = "nested"
    RUNS = "runs"
    COUNCILS = "councils"
    VERSIONS = "versions"
    TREASURIES = "treasuries"
    FORKS = "forks"


PAIRS = tuple(combinations(Capability, 2))
"""All pairs, in the order of the capabilities."""


@dataclass(frozen=True)
class Story:
    """A test of a pair."""

    function: str
    says: str


STORIES: dict[tuple[Capability, Capability], list[Story]] = {}
"""The stories of each pair. The files of stories fill it when they are imported."""


def story(first: Capability, second: Capability, says: str) -> Callable[[Test], Test]:
    """Make a test the story of a pair, whose capabilities come in their order.

    Input: says: what happens, in a sentence or two of Markdown.
    """
    assert (first, second) in PAIRS

    def register(test: Test) -> Test:
        STORIES.setdefault((first, second), []).append(Story(test.__name__, says))
        return test

    return register

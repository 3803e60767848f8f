"""The facts of an agent's base prompt: native currency, names, and functions that can't be called.

    ETH is the native currency.                         the symbol of the chain's currency
    jonas is 0x4478…                                    a name of an address
    I cannot call mint because only the owner may.      a refusal sentence

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from precompiles.short_format.english import (
    AUXILIARIES,
    DETERMINERS,
    JOINTS,
    PREPOSITIONS,
    QUESTION_WORDS,
    SUBJECTS,
)
from precompiles.short_format.tokens import LETTER, fold_case
from precompiles.spec import MAX_REFUSAL_SENTENCES
from precompiles.stated_values import is_free

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SENTENCE_START = "I cannot "
"""Beginning of a refusal sentence."""

_NATIVE = re.compile(
    r"(?<![0-9A-Za-z])(?P<symbol>[0-9A-Za-z]{1,16}) is the native (?:currency|token)", re.ASCII
)
_WORD = re.compile(f"[0-9{LETTER}]{{2,}}")
_ACRONYM = re.compile("[A-Z]{2}")
_HANDLE = re.compile("(?<![0-9A-Za-z_])addr[0-9]+(?![0-9A-Za-z_])")
_REFUSED = re.compile(
    rf"{SENTENCE_START}call (?P<name>[A-Za-z_$][0-9A-Za-z_$]*)(?: of \S+)? because "
)
_COMMON = (
    DETERMINERS
    | PREPOSITIONS
    | AUXILIARIES
    | SUBJECTS
    | JOINTS
    | QUESTION_WORDS
    | frozenset(("address", "account", "known", "wallet"))
)
"""Words that name nobody."""

DEFAULT_NATIVE = "ETH"


def read_native(base_prompt: str) -> str:
    """Return the symbol of the native currency; `ETH` by default."""
    found = _NATIVE.search(base_prompt)
    return DEFAULT_NATIVE if found is None else found["symbol"]


def find_prose(base_prompt: str, handles: Sequence[str]) -> Mapping[str, str]:
    """Return the handles without a name that one word of a line stands for, by that word.

    Lower-case words of two letters, and words of two of these lines, name nothing.

    Input:  the base prompt, with handles in place of addresses; the handles.
    """
    known = set(handles)
    owners: dict[str, set[str]] = {}
    for line in base_prompt.split("\n"):
        if line.startswith(SENTENCE_START):
            continue
        said = set(_HANDLE.findall(line)) & known
        words = set(_WORD.findall(line)) - said if said else set()
        for word in words:
            if len(word) > len("of") or _ACRONYM.fullmatch(word):
                owners.setdefault(fold_case(word), set()).update(said)
    return {
        word: next(iter(of))
        for word, of in sorted(owners.items())
        if len(of) == 1 and word not in _COMMON
    }


def find_sentences(base_prompt: str) -> tuple[str, ...]:
    """Return the first `MAX_REFUSAL_SENTENCES` different refusal sentences of a base prompt.

    A sentence with a control character or `0x`, or longer than an answer, does not count.

    Input:  the base prompt, with handles in place of addresses.
    """
    lines = base_prompt.replace("\r\n", "\n").split("\n")
    found = (line for line in lines if line.startswith(SENTENCE_START) and is_free(line))
    return tuple(islice(dict.fromkeys(found), MAX_REFUSAL_SENTENCES))


def read_refused(sentence: str) -> str:
    """Return the name of the function that a refusal sentence is about, or an empty text."""
    found = _REFUSED.match(sentence)
    return found["name"] if found else ""

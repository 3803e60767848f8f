"""Phrases to find among tokens, the longest first; and the stems of words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from precompiles.short_format.tokens import Token

Kind = TypeVar("Kind")


class PhraseTable(Generic[Kind]):
    """Phrases by their kinds. Of phrases that begin at one token, the longest is found."""

    def __init__(self, phrases: Mapping[Kind, Iterable[str]]) -> None:
        """Index phrases; of one that has two kinds, the first kind counts."""
        self._by_first: dict[str, list[tuple[tuple[str, ...], Kind]]] = {}
        seen: set[tuple[str, ...]] = set()
        for kind, texts in phrases.items():
            for text in texts:
                words = tuple(_split_phrase(text))
                if words and words not in seen:
                    seen.add(words)
                    self._by_first.setdefault(words[0], []).append((words, kind))
        for entries in self._by_first.values():
            entries.sort(key=lambda entry: (-len(entry[0]), entry[0]))

    def match(self, tokens: Sequence[Token], at: int) -> tuple[int, Kind] | None:
        """Return end and kind of the longest phrase that begins at a token."""
        for words, kind in self._by_first.get(tokens[at].word, ()):
            end = at + len(words)
            if end <= len(tokens) and all(
                tokens[at + i].word == word for i, word in enumerate(words)
            ):
                return end, kind
        return None


def _split_phrase(text: str) -> Iterable[str]:
    for word in text.split():
        if word.endswith("'s") and len(word) > len("'s"):
            yield word.removesuffix("'s")
            yield "'s"
        else:
            yield word


_IRREGULAR = {
    "paid": "pay", "sent": "send", "gave": "give", "given": "give", "took": "take", "taken": "take",
    "bought": "buy", "sold": "sell", "lent": "lend", "kept": "keep", "lost": "lose", "made": "make",
    "withdrew": "withdraw", "withdrawn": "withdraw", "got": "get", "told": "tell", "won": "win",
    "held": "hold", "left": "leave", "met": "meet", "chose": "choose", "chosen": "choose",
    "wrote": "write", "written": "write", "spent": "spend", "went": "go", "gone": "go",
    "people": "person", "men": "man", "women": "woman", "children": "child", "shelves": "shelf",
    "swept": "sweep", "fed": "feed", "drew": "draw", "drawn": "draw", "rang": "ring", "hid": "hide",
}  # fmt: skip
PAST = frozenset(
    "ate been began bent bit bled blew bore bought bound bred broke brought built came caught "  # noqa: SIM905
    "chose clung crept dealt did done drank drew drove dug fed fell felt fled flew forgot "
    "fought found froze gave given got grew had heard held hid hung kept knelt knew laid led "
    "left lent lit lost made meant met paid ran rang rode rose said sang sank sat saw sent "
    "shone shook shot slept slid sold sought spent spoke sprang spun stole stood struck stuck "
    "stung swam swept swore swung taken taught thought threw told took tore understood was "
    "went wept were withdrawn withdrew woke won wore wound written wrote".split()
)
"""Irregular forms of the past, which begin a report."""

_NO_PAST = frozenset(
    "need feed seed speed bleed embed shed wed bed red proceed exceed succeed".split()  # noqa: SIM905
)
_VOWELS = frozenset("aeiouy")
_LEAST = 3
_KEPT_STEMS = 4_096
"""Stems of words that are kept: a request of 2,048 characters has at most 1,024 words."""


@lru_cache(maxsize=_KEPT_STEMS)
def stem(word: str) -> str:
    """Return a stem that the forms of a word share: `deposits`, `depositing`, `deposited`.

    Input:  a word in lower case.
    """
    if word in _IRREGULAR:
        word = _IRREGULAR[word]
    if word.endswith("ies") and len(word) > len("ies") + 1:
        word = word[:-3] + "y"
    elif re.search(r"(?:s|x|z|ch|sh)es\Z", word):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > _LEAST:
        word = word[:-1]
    for suffix in ("ing", "ed"):
        base = word.removesuffix(suffix)
        if (
            base != word
            and len(base) >= _LEAST
            and not _VOWELS.isdisjoint(base)
            and word not in _NO_PAST
        ):
            word = base
            if word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    if word.endswith("e") and len(word) > _LEAST:
        word = word[:-1]
    if word.endswith("y") and len(word) > _LEAST:
        word = word[:-1] + "i"
    return word


def is_past(word: str) -> bool:
    """Return whether a word in lower case is a form of the past."""
    return word in PAST or (
        word.endswith("ed") and len(word) > len("need") and word not in _NO_PAST
    )


# -- typing errors -- #

_LEAST_CORRECTED = 5


_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_KEYS = {key: (row, place) for row, keys in enumerate(_ROWS) for place, key in enumerate(keys)}
"""Where the keys of an English keyboard are: row and place."""


def _is_slip(letter: str, other: str) -> bool:
    """Return whether a letter is typed for another: a vowel, or a neighbouring key."""
    if letter in _VOWELS and other in _VOWELS:
        return True
    if letter not in _KEYS or other not in _KEYS:
        return False
    (row, place), (other_row, other_place) = _KEYS[letter], _KEYS[other]
    return abs(row - other_row) <= 1 and abs(place - other_place) <= 1


def is_near(word: str, other: str) -> bool:
    """Return whether two words differ by one letter: another, a missing, or two exchanged ones."""
    if abs(len(word) - len(other)) > 1 or word == other:
        return word == other
    start = 0
    least = min(len(word), len(other))
    while start < least and word[start] == other[start]:
        start += 1
    if len(word) == len(other):
        is_swapped = (
            word[start : start + 2] == other[start : start + 2][::-1]
            and word[start + 2 :] == other[start + 2 :]
        )
        is_wrong = word[start + 1 :] == other[start + 1 :]
        return (is_wrong and _is_slip(word[start], other[start])) or is_swapped
    longer, shorter = (word, other) if len(word) > len(other) else (other, word)
    return longer[start + 1 :] == shorter[start:]


class Speller:
    """Known words, to find the one that a word with a typing error is meant to be."""

    def __init__(self, words: Iterable[str], base: Speller | None = None) -> None:
        """Index words by their first letters; shorter ones than five letters are not corrected.

        Input:  words, and a speller whose words are known as well.
        """
        self._base = base
        self._known = frozenset(words)
        self._stems = frozenset(map(stem, self._known))
        self._words: dict[str, list[str]] = {}
        for word in sorted(self._known):
            if len(word) >= _LEAST_CORRECTED:
                self._words.setdefault(word[0], []).append(word)

    def knows(self, word: str) -> bool:
        """Return whether a word, or another form of it, is known: `closed`."""
        is_own = word in self._known or stem(word) in self._stems
        return is_own or (self._base is not None and self._base.knows(word))

    def list_near(self, word: str) -> set[str]:
        """Return the known words that differ from a word by one letter."""
        own = {one for one in self._words.get(word[0], ()) if is_near(word, one)}
        return own if self._base is None else own | self._base.list_near(word)

    def correct(self, word: str) -> str:
        """Return the one known word that is near a word, else the word itself."""
        if len(word) < _LEAST_CORRECTED or not word.isalpha() or self.knows(word):
            return word
        near = self.list_near(word)
        return min(near) if len({stem(one) for one in near}) == 1 else word

    def turn(self, word: str) -> str:
        """Return the one known short word whose neighbouring letters are exchanged: `pya`."""
        if not _LEAST <= len(word) < _LEAST_CORRECTED or word in self._known:
            return word
        turned = {
            f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}" for at in range(len(word) - 1)
        }
        found = sorted(turned & self._known)
        return found[0] if len(found) == 1 else word

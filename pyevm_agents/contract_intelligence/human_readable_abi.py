"""Human-readable ABIs, as ethers and viem write them: `function pay(address to) returns (bool)`.

A text becomes the JSON form of an ABI entry. Names of structs are not resolved: a tuple's members
stand in the type, as in `tuple(address to, uint256 amount) order`.

Source: docs.ethers.org, "Human-Readable ABI"; abitype.dev.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHARACTERS = 4_096
"""Characters of an entry's text."""

MAX_NESTING = 16
"""Tuples in each other."""

MUTABILITIES = frozenset({"pure", "view", "payable", "nonpayable"})
VISIBILITIES = frozenset({"external", "public"})
LOCATIONS = frozenset({"calldata", "memory", "storage", "indexed"})
KINDS = frozenset({"function", "error", "event"})

_TOKEN = re.compile(r"\s*([A-Za-z_$][A-Za-z0-9_$]*|[0-9]+|[()\[\],;])")


class _TextError(ValueError):
    """A text is no entry."""


def expand_entry(entry: object) -> object:
    """Return the JSON form of an entry that is a text; every other value unchanged.

    Output: None for a text that is no function, error or event.
    """
    if not isinstance(entry, str):
        return entry
    try:
        return _Parser(entry).parse_entry()
    except _TextError:
        return None


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokenize(text)
        self._at = 0

    def parse_entry(self) -> Mapping[str, Any]:
        kind, name = self._take(KINDS), self._take_name()
        form: dict[str, Any] = {"type": kind, "name": name, "inputs": self._parse_parameters(0)}
        if kind == "function":
            form |= {"outputs": [], "stateMutability": "nonpayable"}
            self._parse_modifiers(form)
        elif kind == "event" and self._peek() == "anonymous":
            self._at += 1
            form["anonymous"] = True
        if self._peek() == ";":
            self._at += 1
        if self._peek():
            raise _TextError
        return form

    def _parse_modifiers(self, form: dict[str, Any]) -> None:
        while self._peek() not in {"", ";"}:
            word = self._next()
            if word in MUTABILITIES:
                form["stateMutability"] = word
            elif word == "returns":
                form["outputs"] = self._parse_parameters(0)
            elif word not in VISIBILITIES:
                raise _TextError

    def _parse_parameters(self, depth: int) -> list[dict[str, Any]]:
        self._take({"("})
        found: list[dict[str, Any]] = []
        while self._peek() != ")":
            if found:
                self._take({","})
            found.append(self._parse_parameter(depth))
        self._at += 1
        return found

    def _parse_parameter(self, depth: int) -> dict[str, Any]:
        if depth > MAX_NESTING:
            raise _TextError
        form: dict[str, Any] = {"name": ""}
        if self._peek() == "tuple":
            self._at += 1
        if self._peek() == "(":
            form |= {"components": self._parse_parameters(depth + 1), "type": "tuple"}
        else:
            form["type"] = self._take_name()
            if form["type"] == "address" and self._peek() == "payable":
                self._at += 1
        form["type"] += self._parse_sizes()
        while self._peek() in LOCATIONS:
            form |= {"indexed": True} if self._next() == "indexed" else {}
        if self._peek() not in {",", ")"}:
            form["name"] = self._take_name()
        return form

    def _parse_sizes(self) -> str:
        text = ""
        while self._peek() == "[":
            self._at += 1
            size = self._next() if self._peek().isdecimal() else ""
            self._take({"]"})
            text += f"[{size}]"
        return text

    def _take(self, words: frozenset[str] | set[str]) -> str:
        word = self._next()
        if word not in words:
            raise _TextError
        return word

    def _take_name(self) -> str:
        word = self._next()
        if not word[:1].isidentifier() and word[:1] != "$":
            raise _TextError
        return word

    def _next(self) -> str:
        word = self._peek()
        if not word:
            raise _TextError
        self._at += 1
        return word

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""


def _tokenize(text: str) -> list[str]:
    stripped = text.strip()
    if len(stripped) > MAX_CHARACTERS:
        raise _TextError
    tokens, at = [], 0
    while at < len(stripped):
        match = _TOKEN.match(stripped, at)
        if match is None:
            raise _TextError
        tokens.append(match[1])
        at = match.end()
    return tokens

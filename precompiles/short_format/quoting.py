"""Texts without quotes: quoted where the request has a plan only with quotes.

    title: Tax roll of 1788        title: "Tax roll of 1788"
    Log: wind from the north.      Log: "wind from the north".

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import re

from precompiles.short_format.phrases import stem

_TAIL = re.compile(r"\A[^:\n]*:(?!//)[ \t]*(?P<tail>[^\n\"\u201c\u201d]+?)\s*\Z")
_LABELLED = re.compile(
    r"\b(?P<label>[A-Za-z]{2,30})[ \t]*[:=](?!//)[ \t]*"
    r"(?P<text>[^\n,;.:=\"\u201c\u201d]+?)[ \t]*(?=[\n.]|\Z)"
)
_FIRST = re.compile(
    r"\A[ \t]*(?i:(?:please )?(?:add |make |post |a )?new)\b[^:\n]{1,40}"
    r":?[ \t]*(?:\n[ \t]*[-*\u2022])?"
    r"[ \t]*(?P<text>[^\n,;.:=\d\"\u201c\u201d]+?)[ \t]*(?=[\n,])"
)
NEXT = re.compile(r"[.!?;][ \t]+(?=[A-Za-z])")
"""The end of a sentence before another one."""

_LABEL_IN = re.compile(r"[A-Za-z0-9]:[ \t]")
_LINES = re.compile(
    r":[ \t]*(?P<lines>(?:\n[ \t]*(?:[-*\u2022]|[0-9]{1,2}[.)])[ \t]*[^\n\"]+)+)\s*\Z"
)
_BULLET = re.compile(r"\n[ \t]*(?:[-*\u2022]|[0-9]{1,2}[.)])[ \t]*")


def quote_labelled(question: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Return a request with the words after the names of texts and a colon as quotations.

    `title: Tax roll of 1788` up to the end of a sentence without a comma.
    """

    def quote(found: re.Match[str]) -> str:
        if stem(found["label"].lower()) not in labels:
            return found[0]
        return f'{found["label"]}: "{found["text"]}"'

    quoted = _LABELLED.sub(quote, question)
    return () if quoted == question else (quoted,)


def quote_first(question: str) -> tuple[str, ...]:
    """Return a request with the first of several items after `new …:` as a quotation."""
    found = _FIRST.search(question)
    if found is None:
        return ()
    start, end = found.span("text")
    return (f'{question[:start]}"{question[start:end]}"{question[end:]}',)


def quote_tails(question: str) -> tuple[str, ...]:
    """Return a request with the text after the first colon as a quotation, or one for each line."""
    lines = _LINES.search(question)
    if lines is not None:
        items = [item.strip() for item in _BULLET.split(lines["lines"]) if item.strip()]
        return (question[: lines.start()] + ": " + ", ".join(f'"{item}"' for item in items),)
    tail = _TAIL.search(question)
    if tail is None:
        return ()
    start, text = tail.start("tail"), tail["tail"]
    if _LABEL_IN.search(text):
        # `Tags: oil, sea; title: Waves` has two texts.
        return ()
    more = NEXT.search(text)
    if more is None:
        return (f'{question[:start]}"{text}"',)
    # `Log: wind from the north. Close shower 3.` has an order after the text.
    return (f'{question[:start]}"{text[: more.start()]}"{text[more.start() :]}',)

"""The node's page with recorded answers, in one file of HTML that loads nothing.

The content security policy of the file allows its own script and style by digest, and nothing else.
Texts of contracts and models are in a block of JSON, in which no markup is left.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import orjson

from pyevm_agents.display import sanitize
from pyevm_agents.errors import FixtureError
from pyevm_agents.rpc.codec import encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

NODE, CASSETTE = "node", "cassette"
"""What a recording is of: a node's chain, or generations without a chain."""

GENERATOR = '<meta name="generator" content="pyevm-agents show">'
"""Marks files that may be overwritten."""

MARK_BYTES = 1_024
"""The mark is within these first bytes."""

RECORDING = re.compile(r'<script type="application/json" id="recorded">(.*?)</script>', re.DOTALL)

_JSON_ESCAPES = str.maketrans(
    {each: f"\\u{ord(each):04x}" for each in ("<", ">", "&", "\u2028", "\u2029")}
)
"""Without these, no text ends a script element, begins a comment, or ends a line of JavaScript."""

_UNSAFE_IN_SCRIPT = re.compile(r"<(?=/script|script|!--)", re.IGNORECASE)
"""Starts of what has a meaning to HTML within a script element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPage:
    """The content of a page."""

    title: str
    results: Mapping[str, str]
    """JSON of results, by the canonical JSON of `[method, params]`."""

    kind: str = NODE
    route: str = "#/"
    """The view at the beginning."""

    note: str = ""
    """What is missing, in a sentence."""


def describe_omissions(omissions: Sequence[str]) -> str:
    """Return a page's note about omissions of a recording, or an empty text."""
    if not omissions:
        return ""
    return f"This recording leaves out {' and '.join(omissions)}: it would be too large."


def render_recorded_page(page: RecordedPage) -> str:
    """Return the HTML of a page."""
    folder = files("pyevm_agents.server") / "page"
    style = (folder / "app.css").read_text(encoding="utf-8")
    script = _UNSAFE_IN_SCRIPT.sub(r"\\x3c", (folder / "app.js").read_text(encoding="utf-8"))
    policy = (
        f"default-src 'none'; script-src {_compute_source(script)}; "
        f"style-src {_compute_source(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = html.escape(sanitize(_replace_surrogates(page.title)))
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
{GENERATOR}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title} · pyevm-agents</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. It loads nothing from anywhere.</noscript>
<script type="application/json" id="recorded">{_format_recording(page)}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def read_recorded_page(text: str) -> RecordedPage:
    """Return the content of a page that `render_recorded_page` wrote.

    Raises:
        FixtureError: another file, or altered.
    """
    match = RECORDING.search(text)
    try:
        form = orjson.loads(match[1]) if match is not None else {}  # It limits the levels.
        results = {str(key): encode(value).decode() for key, value in form["results"].items()}
        texts = {name: str(form[name]) for name in ("title", "kind", "route", "note")}
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise FixtureError("no recorded page, or an altered one") from error
    return RecordedPage(results=results, **texts)


def is_replaceable(path: Path) -> bool:
    """Return whether a page may be written to a path: no file is there, an empty one, or a page."""
    try:
        with path.open("rb") as file:
            start = file.read(MARK_BYTES)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not start or GENERATOR.encode() in start


def _format_recording(page: RecordedPage) -> str:
    """Return JSON in which no character has a meaning in HTML."""
    fields = {
        "title": _replace_surrogates(page.title),
        "kind": page.kind,
        "route": page.route,
        "note": _replace_surrogates(page.note),
    }
    results = ",".join(f"{json.dumps(key)}:{text}" for key, text in page.results.items())
    return f'{json.dumps(fields)[:-1]},"results":{{{results}}}}}'.translate(_JSON_ESCAPES)


def _replace_surrogates(text: str) -> str:
    """Return a text that UTF-8 can encode: a file's name may have other bytes."""
    return text.encode(errors="replace").decode()


def _compute_source(text: str) -> str:
    """Return a text's source expression. Source: CSP level 3, section 2.3.1, "hash-source"."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"

"""Recorded pages: one file, whose policy allows its own script and style, and no text as markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import FixtureError
from pyevm_agents.rpc.codec import encode
from pyevm_agents.server.recorded_page import (
    GENERATOR,
    RecordedPage,
    describe_omissions,
    is_replaceable,
    read_recorded_page,
    render_recorded_page,
)
from tests.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BUILD = ROOT / "pyevm_agents" / "server" / "page"
MAX_OWN_BYTES = 1_000
"""Bytes of a page beside its script, its style and its recording: tags, policy and title."""

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></style><img src=x onerror=alert(2)>",
    '"><meta http-equiv=refresh content=0;url=https://example.org>',
    "\u2028alert(3)\u2029",
    "\u202etxt.exe\u2066\x00\x1b[31m",
    "&lt;script&gt; &#60;b&#62;",
)


class Elements(HTMLParser):
    """What a browser finds in a page: elements, and the texts of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = tag
        if tag in {"script", "style", "title"}:
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.texts:
            self.texts[self._open][-1] += data


def build_page(text: str) -> RecordedPage:
    return RecordedPage(
        title=text, note=text, results={json.dumps(["m", [text]]): json.dumps({text: [text]})}
    )


UNSAFE = "<(?=/script|script|!--)"
"""Starts of what has a meaning to HTML within a script element."""


def test_the_policy_names_the_digests_of_the_script_and_the_style() -> None:
    elements = Elements(render_recorded_page(build_page("a")))
    (policy,) = (each["content"] for name, each in elements.found if "http-equiv" in each)
    assert policy is not None
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    script, style = elements.texts["script"][1], elements.texts["style"][0]
    for name, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert directives.pop(name) == f"'sha256-{digest}'"
    assert directives.pop("img-src") == "data:"
    assert set(directives) == {"default-src", "base-uri", "form-action"}
    assert set(directives.values()) == {"'none'"}
    built = (BUILD / "app.js").read_text()
    assert not re.search(UNSAFE, script, re.IGNORECASE)
    assert script == re.sub(UNSAFE, r"\\x3c", built, flags=re.IGNORECASE)
    assert style == (BUILD / "app.css").read_text()


def test_a_page_is_one_file_that_names_no_other() -> None:
    elements = Elements(render_recorded_page(build_page("a")))
    attributes = {key for _, found in elements.found for key in found}
    assert attributes.isdisjoint({"src", "href", "srcset", "action", "style"})
    assert not [name for name in attributes if name.startswith("on")]
    assert [each.get("type") for name, each in elements.found if name == "script"] == [
        "application/json",
        "module",
    ]
    assert not re.search(r"url\((?!['\"]?data:)|@import", elements.texts["style"][0])


def test_a_page_adds_little_to_its_parts() -> None:
    page = build_page("a" * 1_000)
    own = len(render_recorded_page(page)) - sum(
        len((BUILD / name).read_text()) for name in ("app.js", "app.css")
    )
    assert own < MAX_OWN_BYTES + 6 * 1_000 + len("".join(page.results))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_no_markup(text: str) -> None:
    page = build_page(text)
    html = render_recorded_page(page)
    html.encode()
    plain = Elements(render_recorded_page(build_page("a")))
    elements = Elements(html)
    assert [name for name, _ in elements.found] == [name for name, _ in plain.found]
    recording = elements.texts["script"][0]
    assert not set("<>&\u2028\u2029") & set(recording)
    assert json.loads(recording) == {
        "title": text,
        "kind": "node",
        "route": "#/",
        "note": text,
        "results": {json.dumps(["m", [text]]): {text: [text]}},
    }
    assert read_recorded_page(html) == RecordedPage(
        title=text,
        note=text,
        results={key: encode(json.loads(value)).decode() for key, value in page.results.items()},
    )


def test_a_text_that_is_no_unicode_is_replaced() -> None:
    html = render_recorded_page(RecordedPage(title="a\ud800", note="b\ud800", results={}))
    page = read_recorded_page(html.encode().decode())
    assert (page.title, page.note) == ("a?", "b?")


def test_a_deep_trace_is_read_again() -> None:
    deep = "[" * 600 + "]" * 600
    page = RecordedPage(title="a", results={'["m",[]]': deep})
    assert read_recorded_page(render_recorded_page(page)) == page


@pytest.mark.parametrize(
    "text",
    [
        "",
        GENERATOR,
        '<script type="application/json" id="recorded">[]</script>',
        '<script type="application/json" id="recorded">{"results": 3}</script>',
        '<script type="application/json" id="recorded">{"results": {}}</script>',
        '<script type="application/json" id="recorded">{</script>',
        f'<script type="application/json" id="recorded">{"[" * 100_000}</script>',
    ],
)
def test_another_file_is_no_page(text: str) -> None:
    with pytest.raises(FixtureError, match="no recorded page, or an altered one"):
        read_recorded_page(text)


def test_only_pages_and_empty_files_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert is_replaceable(file)
    file.write_text("")
    assert is_replaceable(file)
    file.write_text(render_recorded_page(build_page("a")))
    assert is_replaceable(file)
    file.write_text("<!doctype html><title>Mine</title>" + " " * 2_000 + GENERATOR)
    assert not is_replaceable(file)
    assert not is_replaceable(tmp_path)


def test_a_note_says_what_is_left_out() -> None:
    assert describe_omissions(()) == ""
    note = describe_omissions(("1 of 2 blocks", "3 of 4 accounts"))
    assert note.startswith("This recording leaves out 1 of 2 blocks and 3 of 4 accounts")

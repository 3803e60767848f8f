"""The page's files: their headers, who gets them, and that nobody gets them with `--no-ui`."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from pyevm_agents.server import ServerOptions
from pyevm_agents.server.page_files import CONTENT_TYPES, accepts_html
from tests.serving import Served, message, serve

CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
"""What browsers send when they open a URL."""

PATHS = [*CONTENT_TYPES]


def page_file(path: str) -> bytes:
    name = path.removeprefix("/") or "index.html"
    return (files("pyevm_agents.server") / "page" / name).read_bytes()


def policy_of(headers: dict[str, str]) -> dict[str, str]:
    directives = headers["Content-Security-Policy"].split("; ")
    return dict(directive.split(" ", 1) for directive in directives)


@pytest.mark.parametrize("path", PATHS)
def test_a_browser_gets_the_files_with_strict_headers(path: str) -> None:
    async def talk(served: Served) -> None:
        response = await served.http("GET", path=path, Accept=CHROMIUM)
        assert (response.status, response.body) == (200, page_file(path))
        assert response.headers["Content-Type"] == CONTENT_TYPES[path]
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert response.headers["Cache-Control"] == "no-cache"
        own = f"127.0.0.1:{served.port}"
        assert policy_of(response.headers) == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self' data:",
            "connect-src": f"'self' ws://{own} wss://{own}",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
        }
        head = await served.http("HEAD", path=path, Accept=CHROMIUM)
        assert head.headers["Content-Length"] == str(len(response.body))
        assert head.headers["Content-Security-Policy"]

    serve(talk)


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_the_browser_has_is_not_sent_again(path: str) -> None:
    async def talk(served: Served) -> None:
        first = await served.http("GET", path=path, Accept=CHROMIUM)
        tag = first.headers["ETag"]
        again = await served.http("GET", path=path, Accept=CHROMIUM, If_None_Match=tag)
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
        changed = await served.http("GET", path=path, Accept=CHROMIUM, If_None_Match='"0"')
        assert (changed.status, changed.body) == (200, first.body)

    serve(talk)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (CHROMIUM, True),
        ("TEXT/HTML", True),
        ("application/json, text/html;q=0.1", True),
        ("*/*", False),
        ("", False),
        ("text/*", False),
        ("text/html;q=0, */*", False),
        ("text/html; q=0.00", False),
        ("application/xhtml+xml", False),
        ("text/html5", False),
    ],
)
def test_only_clients_that_name_html_get_the_page(accept: str, *, wanted: bool) -> None:
    async def talk(served: Served) -> None:
        response = await served.http("GET", Accept=accept)
        assert response.headers["Content-Type"].startswith("text/html" if wanted else "text/plain")
        assert (b"curl -H" in response.body) is not wanted

    assert accepts_html({"Accept": accept}) is wanted
    serve(talk)


@pytest.mark.parametrize(
    "path",
    [
        *("/index.html", "/app.js.map", "/app.js/", "/APP.JS", "//app.js", "/page/app.js"),
        *("/../options.py", "/%2e%2e/options.py", "/app.js%00", "/anything"),
    ],
)
def test_other_paths_have_the_text_for_clients(path: str) -> None:
    async def talk(served: Served) -> None:
        response = await served.http("GET", path=path, Accept=CHROMIUM)
        assert response.headers["Content-Type"].startswith("text/plain")
        assert b"curl -H" in response.body
        assert "Content-Security-Policy" not in response.headers

    serve(talk)


@pytest.mark.parametrize("path", PATHS)
def test_a_server_without_a_page_has_no_route(path: str) -> None:
    async def talk(served: Served) -> None:
        response = await served.http("GET", path=path, Accept=CHROMIUM)
        assert response.headers["Content-Type"].startswith("text/plain")
        assert b"curl -H" in response.body
        assert served.server.page_url is None

    serve(talk, options=ServerOptions(port=0, serves_page=False))


@pytest.mark.parametrize("path", PATHS)
def test_pages_of_other_hosts_and_origins_get_nothing(path: str) -> None:
    async def talk(served: Served) -> None:
        foreign = await served.http("GET", path=path, Accept=CHROMIUM, Host="evil.example")
        assert (foreign.status, foreign.body[:5]) == (403, b"Host ")
        origin = await served.http("GET", path=path, Accept=CHROMIUM, Origin="http://evil.example")
        assert (origin.status, origin.body[:7]) == (403, b"Origin ")

    serve(talk)


@pytest.mark.parametrize("host", ["[::1]:{port}", "localhost:{port}", "127.0.0.1:{port}"])
def test_each_name_of_this_machine_gets_the_page(host: str) -> None:
    async def talk(served: Served) -> None:
        own = host.format(port=served.port)
        response = await served.http("GET", Accept=CHROMIUM, Host=own)
        assert (response.status, response.body) == (200, page_file("/"))
        asked = await served.http(body=message("echo", 1), Host=own, Origin=f"http://{own}")
        assert asked.json["result"] == [1]

    serve(talk)


@pytest.mark.parametrize("host", ["[::1]:8545", "x;script-src *", "a b", "a,b", "ü"])
def test_a_policy_names_no_host_that_it_can_not(host: str) -> None:
    async def talk(served: Served) -> None:
        response = await served.http("GET", path="/app.js", Host=host)
        assert response.status == 200
        assert policy_of(response.headers)["connect-src"] == "'self'"
        assert policy_of(response.headers)["script-src"] == "'self'"

    serve(talk, options=ServerOptions(port=0, allowed_hosts=frozenset({"*"})))


@pytest.mark.parametrize("path", PATHS)
def test_requests_are_answered_at_the_pages_paths(path: str) -> None:
    async def talk(served: Served) -> None:
        own = f"http://127.0.0.1:{served.port}"
        response = await served.http(body=message("echo", 1), path=path, Origin=own)
        assert response.json["result"] == [1]

    serve(talk)


def test_the_page_names_its_own_files_alone_and_has_no_inline_code() -> None:
    text = page_file("/").decode()
    assert {*re.findall(r'(?:src|href)="([^"]+)"', text)} == {"/app.js", "/app.css"}
    assert re.findall(r"<style|<script(?![^>]* src=)|\son\w+=|\sstyle=", text) == []

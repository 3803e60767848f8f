"""A head that contradicts itself is refused by both servers, alike."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.server.origin_checks import AccessPolicy
from pyevm_agents.server.request_head import RequestHead, check_head
from tests.deadlines import HANG_SECONDS
from tests.echo_service import EchoService
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.control.served_plane import open_served_plane
from tests.serving import serve_in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

EVIL = "evil.example"

REFUSED = {
    "two hosts": "POST / HTTP/1.1|Host: {own}|Host: evil.example|Content-Length: 0",
    "two hosts, own last": "POST / HTTP/1.1|Host: evil.example|Host: {own}|Content-Length: 0",
    "the same host twice": "POST / HTTP/1.1|Host: {own}|host: {own}|Content-Length: 0",
    "two origins": "POST / HTTP/1.1|Host: {own}|Origin: http://evil.example|Origin: http://{own}"
    "|Content-Length: 0",
    "two origins, own first": "POST / HTTP/1.1|Host: {own}|Origin: http://{own}"
    "|Origin: http://evil.example|Content-Length: 0",
    "two lengths": "POST / HTTP/1.1|Host: {own}|Content-Length: 0|Content-Length: 5",
    "length and coding": "POST / HTTP/1.1|Host: {own}|Content-Length: 5|Transfer-Encoding: chunked",
    "coding and length": "POST / HTTP/1.1|Host: {own}|Transfer-Encoding: chunked|Content-Length: 5",
    "two codings": "POST / HTTP/1.1|Host: {own}|Transfer-Encoding: chunked"
    "|Transfer-Encoding: identity",
    "another coding": "POST / HTTP/1.1|Host: {own}|Transfer-Encoding: gzip, chunked",
    "length of letters": "POST / HTTP/1.1|Host: {own}|Content-Length: +5",
    "two types": "POST / HTTP/1.1|Host: {own}|Content-Type: application/json"
    "|Content-Type: text/plain|Content-Length: 0",
    "no host": "POST / HTTP/1.1|Content-Length: 0",
    "no host, old version": "POST / HTTP/1.0|Content-Length: 0",
    "another host": "POST / HTTP/1.1|Host: evil.example|Content-Length: 0",
    "another origin": "POST / HTTP/1.1|Host: {own}|Origin: http://evil.example|Content-Length: 0",
    "target of another host": "POST http://evil.example/ HTTP/1.1|Host: {own}|Content-Length: 0",
    "target of another port": "POST http://127.0.0.1:1/ HTTP/1.1|Host: {own}|Content-Length: 0",
    "target with a user": "POST http://{own}@evil.example/ HTTP/1.1|Host: {own}|Content-Length: 0",
    "target of another scheme": "POST file://{own}/ HTTP/1.1|Host: {own}|Content-Length: 0",
    "target without a path": "POST evil.example HTTP/1.1|Host: {own}|Content-Length: 0",
}
"""Heads; `|` ends a line."""

ADMITTED = {
    "a path": "GET / HTTP/1.1|Host: {own}",
    "a URL": "GET http://{own}/ HTTP/1.1|Host: {own}",
    "the own origin": "GET / HTTP/1.1|Host: {own}|Origin: http://{own}",
    "a program's origin": "GET / HTTP/1.1|Host: {own}|Origin: A program",
}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """URLs of both servers."""
    folder = tmp_path_factory.mktemp("agents")
    with ExitStack() as stack:
        plane = stack.enter_context(open_served_plane(make_agent(folder).path, folder))
        yield {"plane": plane.url, "node": stack.enter_context(serve_in_thread(EchoService()))}


def send_head(url: str, head: str) -> int:
    """Send the lines of a head; return the status of the answer."""
    own = urlsplit(url).netloc
    text = head.format(own=own).replace("|", "\r\n") + "\r\nConnection: close\r\n\r\n"
    host, _, port = own.partition(":")
    with socket.create_connection((host, int(port)), timeout=HANG_SECONDS) as connection:
        connection.sendall(text.encode())
        with connection.makefile("rb") as reader:
            return int(reader.readline().split()[1])


@pytest.mark.parametrize("server", ["plane", "node"])
@pytest.mark.parametrize("head", REFUSED.values(), ids=REFUSED)
def test_an_ambiguous_or_foreign_head_is_refused(
    servers: dict[str, str], server: str, head: str
) -> None:
    assert send_head(servers[server], head) in {400, 403, 501}


@pytest.mark.parametrize("server", ["plane", "node"])
@pytest.mark.parametrize("head", ADMITTED.values(), ids=ADMITTED)
def test_a_head_with_one_meaning_is_answered(
    servers: dict[str, str], server: str, head: str
) -> None:
    # The control plane has nothing at `/`.
    assert send_head(servers[server], head) == (404 if server == "plane" else 200)


HEADERS = st.tuples(
    st.sampled_from(["host", "origin", "content-length", "transfer-encoding", "x-any"]),
    st.sampled_from(["localhost:1", EVIL, "http://localhost:1", f"http://{EVIL}", "5", "chunked"]),
)


@given(
    target=st.sampled_from(["/", "*", "http://localhost:1/", f"http://{EVIL}/", EVIL, "file://x"]),
    headers=st.lists(HEADERS, max_size=6),
)
def test_what_is_admitted_names_this_server_alone(
    target: str, headers: list[tuple[str, str]]
) -> None:
    explain = AccessPolicy(bound_host="127.0.0.1").explain_refusal
    head = RequestHead.decode(
        target.encode(), [(name.encode(), value.encode()) for name, value in headers]
    )
    if check_head(head, explain) is not None:
        return
    named = [value for name, value in headers if name == "host"]
    assert named == ["localhost:1"]
    assert EVIL not in target
    assert all(EVIL not in value for name, value in headers if name == "origin")
    assert sum(name in {"content-length", "transfer-encoding"} for name, _ in headers) <= 1

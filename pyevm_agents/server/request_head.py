"""The head of an HTTP request, checked once and by all servers: it must have one meaning.

A proxy in front, or a check behind, may read another host, origin or length in a head that
contradicts itself. So such a head is refused as a whole, before its parts are looked at.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BAD_REQUEST, FORBIDDEN = 400, 403

SHOWN_CHARACTERS = 100
"""Characters of a target in a reason."""

SINGLE_HEADERS = ("host", "origin", "content-length", "transfer-encoding", "content-type")
"""Headers of which a second one would be another answer to the same question."""

FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRefusal:
    """Why a request is refused."""

    status: int
    reason: str

    @property
    def is_last(self) -> bool:
        """Whether the connection has to end: where the next request begins isn't known."""
        return self.status == BAD_REQUEST


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request as it was sent."""

    target: str
    """The second word of the request line."""

    headers: tuple[tuple[str, str], ...]
    """Names in lower case, and values, in their order."""

    @classmethod
    def decode(cls, target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> RequestHead:
        """Return the head of bytes."""
        return cls(
            target.decode("latin-1"),
            tuple(
                (name.decode("latin-1").lower(), text.decode("latin-1")) for name, text in headers
            ),
        )

    @property
    def path(self) -> str:
        """The target without scheme and host, which an absolute one has."""
        if self.target.startswith("/"):
            return self.target
        return "/" + self.target.partition("://")[2].partition("/")[2]

    def get(self, name: str) -> str | None:
        """Return a header that stands once; None without one."""
        return next((value for each, value in self.headers if each == name), None)


def check_head(
    head: RequestHead, explain_access: Callable[[str | None, str | None], str | None]
) -> HeadRefusal | None:
    """Return why a request is refused; None to accept.

    Input:  the head; the function that returns why a `Host` and an `Origin` are refused.
    Source: RFC 9112, sections 3.2 (one Host, targets) and 6.1 (length).
    """
    ambiguity = _find_ambiguity(head)
    if ambiguity is not None:
        return HeadRefusal(status=BAD_REQUEST, reason=ambiguity)
    reason = explain_access(head.get("host"), head.get("origin"))
    return None if reason is None else HeadRefusal(status=FORBIDDEN, reason=reason)


def _find_ambiguity(head: RequestHead) -> str | None:
    """Return how a head contradicts itself, or None."""
    counts = Counter(name for name, _ in head.headers)
    for name in SINGLE_HEADERS:
        if counts[name] > 1:
            return f"The request has more than one {name.title()} header; send one."
    if counts.keys() >= FRAMING_HEADERS:
        return "The request has both Content-Length and Transfer-Encoding; send one."
    length, coding = head.get("content-length"), head.get("transfer-encoding")
    if length is not None and not (length.isascii() and length.isdigit()):
        return f"Content-Length {length[:SHOWN_CHARACTERS]!r}: must be digits."
    if coding is not None and coding.strip().lower() != "chunked":
        return f"Transfer-Encoding {coding[:SHOWN_CHARACTERS]!r}: must be chunked."
    return _find_other_host(head)


def _find_other_host(head: RequestHead) -> str | None:
    """Return how a target names another host than `Host`, or None.

    A target is a path, `*` of OPTIONS, a URL, or the host of CONNECT.
    """
    if head.target.startswith("/") or head.target == "*":
        return None
    scheme, separator, rest = head.target.partition("://")
    if separator and scheme.lower() not in {"http", "ws"}:
        return f"Target {head.target[:SHOWN_CHARACTERS]!r}: must be a path, or a URL with http."
    named = (rest if separator else head.target).partition("/")[0].partition("?")[0]
    if named.lower() != (head.get("host") or "").lower():
        return f"The target's host {named[:SHOWN_CHARACTERS]!r} is not that of the Host header."
    return None

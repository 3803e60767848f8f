"""Files of the node's page, and headers: nothing of another host is loaded or may run.

The files are built from `page/` and are part of the package. A browser gets the page at `/`, where
`Accept` names HTML; other clients see a text.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Mapping

HTML = "text/html"

CONTENT_TYPES = {
    "/": f"{HTML}; charset=utf-8",
    "/app.js": "text/javascript; charset=utf-8",
    "/app.css": "text/css; charset=utf-8",
}
"""Content types by path: the only paths of the page. Its views are in the URL's fragment."""

ETAG_CHARACTERS = 32

_POLICY_HOST = re.compile(r"[a-z0-9.-]+(?::[0-9]{1,5})?")
"""A host and port that a content security policy can name. It can't name an IPv6 address; there
`'self'` must do. Source: CSP level 3, section 2.3.1, "host-source"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """A file of the page."""

    content_type: str
    body: bytes
    etag: str
    """The `ETag` header: a digest of the body, in quotes."""


class PageFiles:
    """The page's files, read once."""

    def __init__(self) -> None:
        """Read the files."""
        folder = files("pyevm_agents.server") / "page"
        self._files = {
            path: _build_file(
                content_type, (folder / (path.removeprefix("/") or "index.html")).read_bytes()
            )
            for path, content_type in CONTENT_TYPES.items()
        }

    def answer(self, request: web.BaseRequest) -> web.Response | None:
        """Return the response of a GET or HEAD request; None if not for the page."""
        file = self._files.get(request.path)
        if file is None or (request.path == "/" and not accepts_html(request.headers)):
            return None
        headers = {**_build_headers(request.headers.get("Host", "")), "ETag": file.etag}
        if file.etag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        return web.Response(body=file.body, headers={**headers, "Content-Type": file.content_type})


def accepts_html(headers: Mapping[str, str]) -> bool:
    """Return whether a request's `Accept` names HTML, as browsers' navigations do."""
    for entry in headers.get("Accept", "").lower().split(","):
        media_type, *parameters = (part.replace(" ", "") for part in entry.split(";"))
        if media_type == HTML:
            return not any(re.fullmatch(r"q=0(?:\.0*)?", parameter) for parameter in parameters)
    return False


def _build_file(content_type: str, body: bytes) -> PageFile:
    digest = hashlib.sha256(body).hexdigest()[:ETAG_CHARACTERS]
    return PageFile(content_type=content_type, body=body, etag=f'"{digest}"')


def _build_headers(host: str) -> dict[str, str]:
    """Return the headers of the page's files.

    Input: the request's `Host`, of which the page may open WebSockets. Older browsers don't count
           these as `'self'`.
    """
    name = host.lower()
    sockets = f" ws://{name} wss://{name}" if _POLICY_HOST.fullmatch(name) else ""
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": f"'self'{sockets}",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "Vary": "Accept",
        "X-Content-Type-Options": "nosniff",
    }

"""Access checks: `Host` against DNS rebinding, `Origin` against foreign web pages.

A page of any site can send requests to this machine's ports. The browser then sends the page's site
in `Origin`. A site whose name resolves to 127.0.0.1 is the same origin to the browser, but the name
is in `Host`. An IP address in `Host` cannot be rebound.

Pages of other ports of this machine and browser extensions are foreign as well: a development
server may serve any code. A value without `://` that is not `null` comes from no page: programs put
their names there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address

from pyevm_agents.errors import ConfigError

_ORIGIN = re.compile(r"null|[a-z][a-z0-9+.-]*://(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])?(?::[0-9]{1,5})?")
"""An origin as browsers serialize it: `null`, or scheme, host and port, in ASCII and lower case.
Source: the HTML standard, "ASCII serialization of an origin"."""

_WILDCARD = re.compile(r"(?P<start>[a-z]+://[^/*]+:|[a-z-]+-extension://)\*")
"""An allowed origin with `*` in place of a port or of an extension's ID."""

SHOWN_CHARACTERS = 100
"""Characters of a rejected header in the reason."""


def require_allowed_origin(text: str) -> str:
    """Return an allowed origin unchanged.

    Raises: ConfigError: it has a `*` where none is understood, so that it would allow nothing.
    """
    allowed = _normalize_origin(text)
    if "*" in allowed and allowed != "*" and not _WILDCARD.fullmatch(allowed):
        raise ConfigError(
            f"allowed origin {text!r}: * must stand alone, for a port as in http://localhost:*, or "
            "for an extension's ID as in chrome-extension://*; name each other origin"
        )
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """Access rules of a server.

    Raises: ConfigError: an allowed origin would allow nothing.
    """

    bound_host: str
    allowed_hosts: frozenset[str] = frozenset()
    allowed_origins: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Validate the allowed origins."""
        for origin in sorted(self.allowed_origins):
            require_allowed_origin(origin)

    def explain_refusal(self, host: str | None, origin: str | None) -> str | None:
        """Return the reason to reject a request with these headers; None to accept."""
        if not self._is_own_host(host):
            return (
                f"Host {_quote_header(host)} is not allowed. If you trust it, allow "
                f"{_quote_header(_parse_host(host or ''))} with --allow-host."
            )
        if origin is not None:
            return self._explain_origin(host or "", origin)
        return None

    def is_cors_allowed(self, origin: str | None) -> bool:
        """Return whether a page of an origin may read responses: only if configured."""
        if origin is None or not (origin.isascii() and origin.isprintable()):
            return False  # A response header repeats it.
        return _can_be_of_page(origin) and self._is_allowed(origin)

    def _is_allowed(self, origin: str) -> bool:
        return any(_matches(_normalize_origin(each), origin) for each in self.allowed_origins)

    def _is_own_host(self, host: str | None) -> bool:
        if "*" in self.allowed_hosts:
            return True
        if host is None:
            return False
        name = _parse_host(host)
        own = {_parse_host(allowed) for allowed in (*self.allowed_hosts, self.bound_host)}
        if name in own or _is_loopback(name):
            return True
        # A server bound to the network can be reached by any address of the machine.
        return _is_address(name) and not _is_loopback(_normalize_host(self.bound_host))

    def _explain_origin(self, host: str, origin: str) -> str | None:
        """Return the reason to reject a request with this `Origin`; None to accept."""
        if self._is_allowed(origin) or not _can_be_of_page(origin):
            return None
        if not _is_origin(origin):
            return (
                f"Origin {_quote_header(origin)}: must be scheme://host:port, as browsers send it."
            )
        if _normalize_origin(origin) == f"http://{host.lower()}":
            return None
        return (
            f"Origin {_quote_header(origin)} is not allowed. If you trust its pages, start the "
            f"node with --allow-origin {_normalize_origin(origin)[:SHOWN_CHARACTERS]}"
        )


def _parse_host(authority: str) -> str:
    """Return the host of `host:port`, such as `[::1]:8545`."""
    if authority.startswith("["):
        return _normalize_host(authority[1:].partition("]")[0])
    # An option may have an IPv6 address without brackets and port.
    return _normalize_host(authority if authority.count(":") > 1 else authority.partition(":")[0])


def _normalize_host(name: str) -> str:
    return name.strip().removesuffix(".").lower()


def _normalize_origin(origin: str) -> str:
    return origin.strip().rstrip("/").lower()


def _can_be_of_page(origin: str) -> bool:
    """Return whether a browser may have sent this `Origin`, even in a form that is not understood.

    Source: the HTML standard, "ASCII serialization of an origin".
    """
    return "://" in origin or _normalize_origin(origin).startswith("null")


def _is_origin(text: str) -> bool:
    return _ORIGIN.fullmatch(text.lower()) is not None and text.isascii()


def _matches(allowed: str, origin: str) -> bool:
    """Return whether an allowed origin, which may have a wildcard, is that of a request."""
    wildcard = _WILDCARD.fullmatch(allowed)
    if allowed == "*" or wildcard is None:
        return allowed in {"*", _normalize_origin(origin)}
    start = wildcard["start"]
    rest = _normalize_origin(origin).removeprefix(start)
    return origin.lower().startswith(start) and re.fullmatch(r"[0-9a-z-]+", rest) is not None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return _is_address(name) and ip_address(name).is_loopback


def _quote_header(header: str | None) -> str:
    return "(none)" if header is None else repr(header[:SHOWN_CHARACTERS])

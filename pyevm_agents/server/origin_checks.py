"""Who is answered: `Host` against DNS rebinding, `Origin` against other people's web pages.

A page of any site may ask this machine's ports. The browser then says the page's site in `Origin`;
a site that points its own name to 127.0.0.1 is the same origin to the browser, but its name is in
`Host`. A number in `Host` is no name that anybody could point elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

EXTENSION_SCHEMES = frozenset({"chrome-extension", "moz-extension", "safari-web-extension"})
"""What a wallet in the browser comes from; no page can."""

SHOWN_CHARACTERS = 100
"""How much of a refused header the reason repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """The rules of one server."""

    bound_host: str
    allowed_hosts: frozenset[str] = frozenset()
    allowed_origins: frozenset[str] = frozenset()

    def explain_refusal(self, host: str | None, origin: str | None) -> str | None:
        """Say why a request with these headers is not answered; None if it is."""
        if not self._is_own_host(host):
            return (
                f"Host {_quote_header(host)} is not this server's. If you trust it, allow the host "
                f"{_quote_header(_parse_host(host or ''))}, as --allow-host does."
            )
        if origin is not None and not self._is_trusted_origin(origin):
            return (
                f"Origin {_quote_header(origin)} is not trusted. If you trust that site, allow the "
                "origin, as --allow-origin does."
            )
        return None

    def is_cors_allowed(self, origin: str | None) -> bool:
        """Say whether a page of that origin may read answers: only where that was asked for."""
        if origin is None or not origin.isascii():  # The answer is to repeat it as a header.
            return False
        return "*" in self.allowed_origins or _normalize_origin(origin) in _normalize_origins(
            self.allowed_origins
        )

    def _is_own_host(self, host: str | None) -> bool:
        if "*" in self.allowed_hosts:
            return True
        if host is None:
            return False
        name = _parse_host(host)
        own = {_parse_host(allowed) for allowed in (*self.allowed_hosts, self.bound_host)}
        if name in own or _is_loopback(name):
            return True
        # Bound to the network, the server is reached by whatever addresses the machine has.
        return _is_address(name) and not _is_loopback(_normalize_host(self.bound_host))

    def _is_trusted_origin(self, origin: str) -> bool:
        if self.is_cors_allowed(origin):
            return True
        try:
            parts = urlsplit(origin)
            name = parts.hostname
        except ValueError:
            return False
        if parts.scheme in EXTENSION_SCHEMES:
            return True
        return name is not None and (_is_loopback(name) or name == _normalize_host(self.bound_host))


def _parse_host(authority: str) -> str:
    """Return the host of `host:port`, of which `[::1]:8545` is one."""
    if authority.startswith("["):
        return _normalize_host(authority[1:].partition("]")[0])
    # An address of IPv6 without its brackets and port, as an option may name it.
    return _normalize_host(authority if authority.count(":") > 1 else authority.partition(":")[0])


def _normalize_host(name: str) -> str:
    return name.strip().removesuffix(".").lower()


def _normalize_origin(origin: str) -> str:
    return origin.strip().rstrip("/").lower()


def _normalize_origins(origins: frozenset[str]) -> set[str]:
    return {_normalize_origin(origin) for origin in origins}


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

"""Access checks: `Host` against DNS rebinding, `Origin` against foreign web pages.

A page of any site can send requests to this machine's ports. The browser then sends the page's site
in `Origin`. A site whose name resolves to 127.0.0.1 is the same origin to the browser, but its name
is in `Host`. An IP address in `Host` cannot be rebound.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

EXTENSION_SCHEMES = frozenset({"chrome-extension", "moz-extension", "safari-web-extension"})
"""Origins of browser extensions such as wallets; a page cannot have them."""

SHOWN_CHARACTERS = 100
"""Characters of a rejected header in the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """Access rules of a server."""

    bound_host: str
    allowed_hosts: frozenset[str] = frozenset()
    allowed_origins: frozenset[str] = frozenset()

    def explain_refusal(self, host: str | None, origin: str | None) -> str | None:
        """Return the reason to reject a request with these headers; None to accept it."""
        if not self._is_own_host(host):
            return (
                f"Host {_quote_header(host)} is not allowed. If you trust it, allow "
                f"{_quote_header(_parse_host(host or ''))} with --allow-host."
            )
        if origin is not None and not self._is_trusted_origin(origin):
            return (
                f"Origin {_quote_header(origin)} is not allowed. If you trust it, allow it with "
                "--allow-origin."
            )
        return None

    def is_cors_allowed(self, origin: str | None) -> bool:
        """Return whether a page of an origin may read responses: only if it is configured."""
        if origin is None or not origin.isascii():  # A response header repeats it.
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
        # A server bound to the network can be reached by any address of the machine.
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
    """Return the host of `host:port`, such as `[::1]:8545`."""
    if authority.startswith("["):
        return _normalize_host(authority[1:].partition("]")[0])
    # An option may have an IPv6 address without brackets and port.
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

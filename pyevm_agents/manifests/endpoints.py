"""The endpoints of a manifest: those of the control plane that serves the agent.

A control plane listens where its operator says, so a folder can't know the address. `api` and `mcp`
that are missing, or name a loopback host, stand for the control plane that serves the agent. Others
are public addresses that the owner chose, and stay.
"""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.manifests.agent_manifest import PackageManifest

MCP_PATH = "/mcp"
"""Path of the MCP endpoint of a control plane."""

SCHEMES = frozenset({"http", "https"})


def build_endpoints(url: str) -> dict[str, str]:
    """Return the endpoints of a control plane at a URL."""
    return {"api": url, "mcp": url + MCP_PATH}


def build_listening_url(host: str, port: int) -> str:
    """Return the URL of a server that listens on a host; of loopback for all addresses."""
    with_brackets = f"[{host}]" if ":" in host else host
    shown = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not bound here
    return f"http://{shown.get(with_brackets, with_brackets)}:{port}"


def require_public_url(text: str) -> str:
    """Return the public URL of a control plane, without a slash at the end.

    Raises: ConfigError: not a URL of HTTP, or one with a query or a user.
    """
    try:
        parts = urlsplit(text)
        is_plain = not (parts.query or parts.fragment or "@" in parts.netloc)
        is_url = parts.scheme in SCHEMES and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        is_plain = is_url = False
    if not (is_plain and is_url) or any(each.isspace() for each in text):
        raise ConfigError(
            f"public URL {text!r:.80}: must be like https://agents.example, without a query"
        )
    return text.rstrip("/")


def name_endpoints(manifest: PackageManifest, served: Mapping[str, str]) -> PackageManifest:
    """Return a manifest with the endpoints of the control plane that serves the agent.

    Input: the manifest; the control plane's endpoints, none for one that serves no port.
    """
    kept = {
        name: url
        for name, url in manifest.endpoints.items()
        if name not in served or not _is_loopback(url)
    }
    return replace(manifest, endpoints={**served, **kept})


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

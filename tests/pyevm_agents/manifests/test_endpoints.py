"""Endpoints of manifests: those of the control plane that serves the agent, or the owner's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.agent_manifest import PackageManifest
from pyevm_agents.manifests.endpoints import (
    build_endpoints,
    build_listening_url,
    name_endpoints,
    require_public_url,
)

SERVED = build_endpoints("http://127.0.0.1:19110")
PUBLIC = "https://agents.example"


def build_manifest(**endpoints: str) -> PackageManifest:
    return PackageManifest(
        name="A", slug="a", version="0.1.0", description="A", endpoints=endpoints
    )


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, SERVED),
        ({"api": "http://127.0.0.1:3001", "mcp": "http://127.0.0.1:3001/mcp"}, SERVED),
        ({"api": "http://localhost:3001"}, SERVED),
        ({"api": "http://[::1]:3001", "mcp": "http://plane.localhost/mcp"}, SERVED),
        ({"api": PUBLIC}, {**SERVED, "api": PUBLIC}),
        ({"web": "http://localhost:3000"}, {**SERVED, "web": "http://localhost:3000"}),
        ({"a2a": PUBLIC, "mcp": PUBLIC}, {**SERVED, "a2a": PUBLIC, "mcp": PUBLIC}),
    ],
)
def test_a_local_address_stands_for_whoever_serves(
    own: dict[str, str], expected: dict[str, str]
) -> None:
    named = name_endpoints(build_manifest(**own), SERVED)
    assert named.endpoints == expected
    assert name_endpoints(named, SERVED) == named
    assert name_endpoints(build_manifest(**own), {}).endpoints == own


URLS = st.sampled_from([
    PUBLIC, "http://127.0.0.1:1", "http://10.0.0.7:3001", "http://127.8.9.1/x", "https://localhost",
])  # fmt: skip


@given(st.dictionaries(st.sampled_from(["api", "mcp", "web", "a2a", "oasf"]), URLS))
def test_only_local_addresses_of_the_control_plane_are_replaced(own: dict[str, str]) -> None:
    named = name_endpoints(build_manifest(**own), SERVED).endpoints
    assert {**SERVED, **own}.keys() == named.keys()
    for name, url in named.items():
        is_local = own.get(name, "").startswith(("http://127.", "https://localhost"))
        is_replaced = name in SERVED and (name not in own or is_local)
        assert url == (SERVED[name] if is_replaced else own[name])


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"), ("10.0.0.7", "http://10.0.0.7:80"),
        ("0.0.0.0", "http://127.0.0.1:80"), ("", "http://127.0.0.1:80"),  # noqa: S104 - not bound
        ("::1", "http://[::1]:80"), ("::", "http://[::1]:80"),
    ],
)  # fmt: skip
def test_a_listening_server_has_an_address_that_clients_reach(host: str, url: str) -> None:
    assert build_listening_url(host, 80) == url


@pytest.mark.parametrize("text", [PUBLIC, PUBLIC + "/", PUBLIC + ":8443/agents/", "http://[::1]:1"])
def test_a_public_url(text: str) -> None:
    assert require_public_url(text) == text.rstrip("/")


@pytest.mark.parametrize(
    "text",
    ["agents.example", "ftp://agents.example", "https://", "https://a b", f"{PUBLIC}?x=1",
     f"{PUBLIC}#x", "https://me:secret@agents.example", "https://a:99999999", "http://[::1"],
)  # fmt: skip
def test_what_is_no_public_url_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        require_public_url(text)

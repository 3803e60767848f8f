"""Access checks by `Host` and `Origin`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.server.origin_checks import AccessPolicy

LOCAL = AccessPolicy(bound_host="127.0.0.1")
OPEN = AccessPolicy(bound_host="0.0.0.0")  # noqa: S104 - nothing is bound
NAMED = AccessPolicy(
    bound_host="Node.Example.",
    allowed_hosts=frozenset({"Dev.Example:8545", "fe80::1"}),
    allowed_origins=frozenset({"https://App.example/", "http://10.0.0.1:3000"}),
)
ANY = AccessPolicy(
    bound_host="127.0.0.1", allowed_hosts=frozenset({"*"}), allowed_origins=frozenset({"*"})
)

LOOPBACK = ["localhost", "LocalHost:8545", "app.localhost", "localhost.:1"]
LOOPBACK += ["127.0.0.1:8545", "127.9.9.9", "[::1]", "[::1]:8545"]
STRANGE = ["", ":", "[", "]", "[::1", "evil.example", "127.0.0.1.evil.example", "localhost.evil:1"]


@pytest.mark.parametrize("access", [LOCAL, OPEN, NAMED, ANY])
@pytest.mark.parametrize("host", LOOPBACK)
def test_this_machine_is_answered(access: AccessPolicy, host: str) -> None:
    assert access.explain_refusal(host, None) is None


@pytest.mark.parametrize("access", [LOCAL, OPEN, NAMED])
@pytest.mark.parametrize("host", [host for host in STRANGE if host != "[::1"])
def test_other_names_are_refused(access: AccessPolicy, host: str) -> None:
    reason = access.explain_refusal(host, None)
    assert reason is not None
    assert reason.startswith(f"Host {host!r} is not allowed. If you trust it, allow")
    assert ANY.explain_refusal(host, None) is None


@pytest.mark.parametrize("host", ["192.0.2.7", "192.0.2.7:8545", "[2001:db8::1]:8545"])
def test_numbers_are_answered_where_the_network_may_ask(host: str) -> None:
    assert LOCAL.explain_refusal(host, None) is not None
    assert OPEN.explain_refusal(host, None) is None
    assert NAMED.explain_refusal(host, None) is None


@pytest.mark.parametrize("host", ["node.example", "NODE.example.:1", "dev.example", "[fe80::1]:80"])
def test_names_that_were_allowed(host: str) -> None:
    assert NAMED.explain_refusal(host, None) is None
    assert LOCAL.explain_refusal(host, None) is not None


def test_no_host_is_refused() -> None:
    assert LOCAL.explain_refusal(None, None) is not None
    assert ANY.explain_refusal(None, None) is None


@pytest.mark.parametrize(
    "origin",
    ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1", "chrome-extension://abc"],
)
def test_pages_of_this_machine_and_wallets_need_an_option(origin: str) -> None:
    reason = LOCAL.explain_refusal("localhost", origin)
    assert reason is not None
    assert reason.endswith(f"start the node with --allow-origin {origin}")
    allowed = AccessPolicy(bound_host="127.0.0.1", allowed_origins=frozenset({origin}))
    assert allowed.explain_refusal("localhost", origin) is None
    assert allowed.is_cors_allowed(origin)


@pytest.mark.parametrize("host", ["localhost:8545", "127.0.0.1:8545", "[::1]:8545", "LOCALHOST"])
def test_the_nodes_own_origin_may_ask(host: str) -> None:
    assert LOCAL.explain_refusal(host, f"http://{host}") is None
    assert LOCAL.explain_refusal(host, f"http://{host}0") is not None
    assert not LOCAL.is_cors_allowed(f"http://{host}")


def test_a_wildcard_is_a_port_or_an_extension() -> None:
    access = AccessPolicy(
        bound_host="127.0.0.1",
        allowed_origins=frozenset({"http://localhost:*", "chrome-extension://*"}),
    )
    for origin in ("http://localhost:3000", "http://LOCALHOST:1", "chrome-extension://abc"):
        assert access.is_cors_allowed(origin)
    for origin in (
        *("http://localhost", "https://localhost:3000", "http://localhost.evil:1"),
        *("moz-extension://abc", "https://evil.example", "null"),
    ):
        assert not access.is_cors_allowed(origin)


@pytest.mark.parametrize(
    "origin",
    [
        *("null", "https://evil.example", "http://localhost.evil.example", "file://"),
    ],
)
def test_other_pages_may_not(origin: str) -> None:
    assert LOCAL.explain_refusal("localhost", origin) is not None
    assert not LOCAL.is_cors_allowed(origin)
    assert ANY.explain_refusal("localhost", origin) is None
    assert ANY.is_cors_allowed(origin)


@pytest.mark.parametrize(
    "allowed", ["https://*", "https://*.example", "http://*:3000", "*.x", "**"]
)
def test_a_wildcard_that_would_allow_nothing_is_refused(allowed: str) -> None:
    with pytest.raises(ConfigError, match=r"allowed origin .*: \* must stand alone"):
        AccessPolicy(bound_host="127.0.0.1", allowed_origins=frozenset({allowed}))


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.com\\@localhost", "http://user@localhost", "http://evil.example/localhost"),
        *(
            "http://localhost?",
            "http://[",
            "NULL/",
            "null, null",
            "https://a!b.example",
            "https://\udc99",
        ),
        *("http://localhost, http://evil.example", "http://localhost:", "http://localhost:123456"),
    ],
)
def test_what_a_page_may_have_sent_in_another_form_is_refused(origin: str) -> None:
    for access in (LOCAL, OPEN, NAMED):
        reason = access.explain_refusal("localhost", origin)
        assert reason is not None
        assert reason.startswith(f"Origin {origin!r}")
        assert not access.is_cors_allowed(origin)
    assert ANY.explain_refusal("localhost", origin) is None


@pytest.mark.parametrize("origin", ["Titanoboa", "localhost", "localhost:8545", "boa/0.2 (x)", ""])
def test_the_name_of_a_program_is_no_origin_of_a_page(origin: str) -> None:
    """The library titanoboa sends `Origin: Titanoboa`; a browser sends scheme://host or `null`."""
    for access in (LOCAL, OPEN, NAMED, ANY):
        assert access.explain_refusal("localhost", origin) is None
        assert not access.is_cors_allowed(origin), "no page reads the response"
        if access is not ANY:
            assert access.explain_refusal("evil.example", origin) is not None


def test_what_no_header_can_repeat_is_not_repeated() -> None:
    for origin in ("https://\udc99", "https://ü", "https://a\x00b"):
        assert not ANY.is_cors_allowed(origin)


@given(st.text(min_size=1).filter(lambda text: "*" not in text))
def test_an_origin_that_the_option_accepts_is_allowed(origin: str) -> None:
    named = AccessPolicy(bound_host="127.0.0.1", allowed_origins=frozenset({origin}))
    assert named.explain_refusal("localhost", origin) is None
    assert ANY.explain_refusal("localhost", origin) is None


def test_pages_that_were_allowed() -> None:
    for origin in ("https://app.example", "HTTPS://APP.example", "http://10.0.0.1:3000"):
        assert NAMED.explain_refusal("localhost", origin) is None
        assert NAMED.is_cors_allowed(origin)
    for origin in ("http://app.example", "https://app.example:444", "http://10.0.0.1"):
        assert NAMED.explain_refusal("localhost", origin) is not None
    assert NAMED.explain_refusal("localhost", "http://node.example:3000") is not None
    assert not NAMED.is_cors_allowed(None)


@given(st.none() | st.text(), st.none() | st.text())
def test_any_header_is_judged(host: str | None, origin: str | None) -> None:
    for access in (LOCAL, OPEN, NAMED):
        access.explain_refusal(host, origin)
        assert not (access.is_cors_allowed(origin) and access.explain_refusal("localhost", origin))

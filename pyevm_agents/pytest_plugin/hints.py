"""Hints on errors that pytest, Hypothesis and Python raise where the test kit is used wrongly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from pyevm_agents.testing.chain import AgentChain  # noqa: F401 - of what is stashed

CHAIN_FIXTURES = frozenset(("accounts", "agent_chain", "as_account", "deploy", "model", "w3"))
MODULE_CHAIN = "module_agent_chain"

CHAIN = pytest.StashKey["AgentChain"]()
"""The chain of a test, from the fixture's set-up to its end."""

SCOPE_MISMATCH = re.compile(r"ScopeMismatch: .* fixture (\w+) with a (\w+) scoped")
"""Source: `_pytest.fixtures.FixtureRequest._check_scope`."""

AWAIT_ERROR = re.compile(r"AttributeDict.*can't be (used in 'await' expression|awaited)")
"""Python's message about `await` before a receipt of web3.py."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a hint to the message of an error."""
    if call.excinfo is not None:
        error = call.excinfo.value
        hint = find_hint(error, getattr(item, "fixturenames", ()))
        if hint is not None and isinstance(error, pytest.fail.Exception):
            error.msg = f"{error.msg}\n{hint}"
        elif hint is not None:
            error.add_note(hint)
    return (yield)


def find_hint(error: BaseException, fixtures: list[str] | tuple[str, ...]) -> str | None:
    """Return a hint on an error; None if not about the test kit.

    Input: the error; the names of the test's fixtures.
    """
    text = str(error)
    mismatch = SCOPE_MISMATCH.match(text)
    if mismatch is not None and mismatch[1] in CHAIN_FIXTURES:
        return _describe_wider_chain(mismatch[1], mismatch[2])
    is_chain_test = not CHAIN_FIXTURES.isdisjoint(fixtures)
    if type(error).__name__ in {"DeadlineExceeded", "FailedHealthCheck"} and is_chain_test:
        return (
            "A test with an agent chain needs @adversary_settings() of pyevm_agents.testing above "
            "@given: no deadline, and one chain for all examples, each of which runs in `with "
            "adversary.on(agent_chain):` or `with agent_chain.isolated():`"
        )
    if isinstance(error, TypeError) and AWAIT_ERROR.search(text):
        return "AgentChain.ask returns the receipt itself: call it without await"
    return None


def _describe_wider_chain(fixture: str, scope: str) -> str:
    member = {"agent_chain": ""}.get(fixture, f".{fixture}")
    if scope in {"class", "module"}:
        return (
            f"Each test has its own {fixture}. In a fixture of {scope} scope, use {MODULE_CHAIN}"
            f"{member}: the module's tests share that chain, and each is rolled back at its end"
        )
    return (
        f"Each test has its own {fixture}. In a fixture of {scope} scope, open a chain with "
        "`with AgentChain() as chain:` and run each test in `with chain.rolled_back():`"
    )

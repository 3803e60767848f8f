"""web3.py's tests of connections that last, over a session in this process."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

WHY = "web3.py or pytest-asyncio is not installed: pip install pyevm-agents[web3] pytest-asyncio"

pytest_asyncio = pytest.importorskip("pytest_asyncio", reason=WHY)
web3 = pytest.importorskip("web3", reason=WHY)
suite = import_module("web3._utils.module_testing.persistent_connection_provider")
provider = import_module("pyevm_agents.rpc.web3_provider")

# The tests themselves drop coroutines that they never await.
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine:RuntimeWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.conformance.web3.conftest import World


async def _connected(world: World) -> AsyncIterator[Any]:
    async with web3.AsyncWeb3(provider.PersistentAgentProvider(world.service)) as w3:
        yield w3


async_w3 = pytest_asyncio.fixture(_connected, name="async_w3")

TestPersistent = suite.PersistentConnectionProviderTest

"""web3.py's tests of connections that last, over a session in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("web3", reason="web3.py is not installed: pip install pyevm-agents[web3]")
pytest_asyncio = pytest.importorskip(
    "pytest_asyncio", reason="web3.py's tests need pytest-asyncio"
)

from web3 import AsyncWeb3
from web3._utils.module_testing.persistent_connection_provider import (
    PersistentConnectionProviderTest,
)

from pyevm_agents.provider import PersistentAgentProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.web3.conftest import World


class TestPersistent(PersistentConnectionProviderTest):  # type: ignore[misc]
    @pytest_asyncio.fixture
    async def async_w3(self, world: World) -> AsyncIterator[AsyncWeb3[Any]]:
        async with AsyncWeb3(PersistentAgentProvider(world.service)) as w3:
            yield w3

"""web3.py's module tests, synchronous, over a node in this process."""

from __future__ import annotations

import pytest

WHY = "web3.py or pytest-asyncio is not installed: pip install pyevm-agents[web3] pytest-asyncio"

pytest.importorskip("pytest_asyncio", reason=WHY)
suites = pytest.importorskip("web3._utils.module_testing", reason=WHY)

# The tests themselves drop coroutines that they never await.
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine:RuntimeWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


class TestEth(suites.EthModuleTest):  # type: ignore[misc]
    pass


class TestNet(suites.NetModuleTest):  # type: ignore[misc]
    pass


class TestWeb3(suites.Web3ModuleTest):  # type: ignore[misc]
    def _check_web3_client_version(self, client_version: str) -> None:
        assert client_version.startswith("pyevm-agents/")


class TestDebug(suites.GoEthereumDebugModuleTest):  # type: ignore[misc]
    pass


class TestTxPool(suites.GoEthereumTxPoolModuleTest):  # type: ignore[misc]
    pass


class TestAdmin(suites.GoEthereumAdminModuleTest):  # type: ignore[misc]
    pass

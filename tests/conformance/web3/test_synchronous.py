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


def _check(_: object, client_version: str) -> None:
    assert client_version.startswith("anvil-compatible/pyevm-agents/")


TestEth = suites.EthModuleTest
TestNet = suites.NetModuleTest
TestWeb3 = type("TestWeb3", (suites.Web3ModuleTest,), {"_check_web3_client_version": _check})
TestDebug = suites.GoEthereumDebugModuleTest
TestTxPool = suites.GoEthereumTxPoolModuleTest
TestAdmin = suites.GoEthereumAdminModuleTest

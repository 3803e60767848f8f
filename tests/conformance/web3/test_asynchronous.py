"""web3.py's module tests, asynchronous, over a node in this process."""

from __future__ import annotations

from importlib import import_module

import pytest

WHY = "web3.py or pytest-asyncio is not installed: pip install pyevm-agents[web3] pytest-asyncio"

pytest.importorskip("pytest_asyncio", reason=WHY)
suites = pytest.importorskip("web3._utils.module_testing", reason=WHY)
admin = import_module("web3._utils.module_testing.go_ethereum_admin_module")
web3_module = import_module("web3._utils.module_testing.web3_module")

# The tests themselves drop coroutines that they never await.
pytestmark = pytest.mark.filterwarnings(
    "ignore:coroutine:RuntimeWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def _check(_: object, client_version: str) -> None:
    assert client_version.startswith("anvil-compatible/pyevm-agents/")


TestAsyncEth = suites.AsyncEthModuleTest
TestAsyncNet = suites.AsyncNetModuleTest
TestAsyncWeb3 = type(
    "TestAsyncWeb3", (web3_module.AsyncWeb3ModuleTest,), {"_check_web3_client_version": _check}
)
TestAsyncDebug = suites.GoEthereumAsyncDebugModuleTest
TestAsyncTxPool = suites.GoEthereumAsyncTxPoolModuleTest
TestAsyncAdmin = admin.GoEthereumAsyncAdminModuleTest

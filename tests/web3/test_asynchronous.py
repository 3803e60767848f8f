"""web3.py's module tests, asynchronous, over a node in this process."""

from __future__ import annotations

import pytest

pytest.importorskip("web3", reason="web3.py is not installed: pip install pyevm-agents[web3]")
pytest.importorskip("pytest_asyncio", reason="web3.py's tests need pytest-asyncio")

from web3._utils import module_testing as suites
from web3._utils.module_testing.go_ethereum_admin_module import GoEthereumAsyncAdminModuleTest
from web3._utils.module_testing.web3_module import AsyncWeb3ModuleTest


class TestAsyncEth(suites.AsyncEthModuleTest):  # type: ignore[misc]
    pass


class TestAsyncNet(suites.AsyncNetModuleTest):  # type: ignore[misc]
    pass


class TestAsyncWeb3(AsyncWeb3ModuleTest):  # type: ignore[misc]
    def _check_web3_client_version(self, client_version: str) -> None:
        assert client_version.startswith("pyevm-agents/")


class TestAsyncDebug(suites.GoEthereumAsyncDebugModuleTest):  # type: ignore[misc]
    pass


class TestAsyncTxPool(suites.GoEthereumAsyncTxPoolModuleTest):  # type: ignore[misc]
    pass


class TestAsyncAdmin(GoEthereumAsyncAdminModuleTest):  # type: ignore[misc]
    pass

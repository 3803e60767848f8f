"""web3.py's module tests, synchronous, over a node in this process."""

from __future__ import annotations

import pytest

pytest.importorskip("web3", reason="web3.py is not installed: pip install pyevm-agents[web3]")
pytest.importorskip("pytest_asyncio", reason="web3.py's tests need pytest-asyncio")

from web3._utils import module_testing as suites


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

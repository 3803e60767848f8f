"""eth-tester's suite for backends, on a node."""

from __future__ import annotations

import pytest

WHY = "eth-tester is not installed: pip install eth-tester"

pytest.importorskip("eth_tester", reason=WHY)

from eth_tester import EthereumTester  # noqa: E402 - there is one now
from eth_tester.utils.backend_testing import BaseTestBackendDirect  # noqa: E402

from tests.conformance.eth_tester_backend import NodeBackend  # noqa: E402


@pytest.fixture
def eth_tester() -> EthereumTester:
    return EthereumTester(backend=NodeBackend())


class TestBackend(BaseTestBackendDirect):  # type: ignore[misc] - eth-tester has no types
    pass

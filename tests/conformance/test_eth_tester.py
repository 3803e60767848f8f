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


class TestBackend(BaseTestBackendDirect):  # type: ignore[misc]  # eth-tester has no types
    pass


NOT_HERE = {
    "test_get_fee_history": "eth-tester's oldest block is 1 always, and it tells no next base fee",
    "test_revert_cleans_up_invalidated_pending_block_filters": (
        "as geth, the node tells of a block by its hash also when it was undone"
    ),
}
for name, reason in NOT_HERE.items():
    pytest.mark.xfail(reason=reason, strict=True)(getattr(TestBackend, name))

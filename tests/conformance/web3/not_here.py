"""web3.py's module tests that this node does not pass, each with the reason.

The twelve of `Admin` are in no figure: they start and stop geth's servers and add peers.
"""

from __future__ import annotations

NO_ADMIN = "admin_* steers geth's network, files and servers; this node has no such methods"

OTHER_ERROR = (
    "web3.py raises Web3RPCError for every error that a node returns, and the test wants "
    "Web3ValueError, which only an encoder in web3.py's own process would raise"
)
WEB3_BUG = "web3.py 8.0.0 fails on typed data before it sends anything (async_map_if_collection)"
TEXT_ONLY = "the test compares an address as bytes with one as text"

NOT_HERE: dict[str, str] = {
    "TestEth::test_invalid_eth_sign_typed_data": OTHER_ERROR,
    "TestAsyncEth::test_invalid_eth_sign_typed_data": WEB3_BUG,
    "TestAsyncEth::test_eth_sign_typed_data": WEB3_BUG,
    "TestAsyncEth::test_async_eth_sign_transaction[bytes]": TEXT_ONLY,
    "TestAdmin": NO_ADMIN,
    "TestAsyncAdmin": NO_ADMIN,
}
"""By class, by class and test, or by those and the parameters."""

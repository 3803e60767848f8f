"""Reads while another client reverts the chain: one chain's answer, or "header not found"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address
from eth_utils import to_hex

from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import RefusedError, Served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import BlockHeaderAPI

LOGGER = Address(b"\x10" * 20)
LOG0 = bytes.fromhex("5f5fa000")
BLOCKS = 4
PLACES = range(1, 9)
"""The reads of a header, before one of which the chain is reverted."""

READS: dict[str, tuple[str, list[Any]]] = {
    "logs": ("eth_getLogs", [{"fromBlock": "earliest", "toBlock": "latest"}]),
    "logs of the head": ("eth_getLogs", [{}]),
    "logs to a number": ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": hex(BLOCKS)}]),
    "fees": ("eth_feeHistory", ["0x4", "latest", [50]]),
    "fees of the pending block": ("eth_feeHistory", ["0x4", "pending"]),
    "fees to a number": ("eth_feeHistory", ["0x3", "0x3"]),
    "block": ("eth_getBlockByNumber", ["0x3", True]),
    "receipts": ("eth_getBlockReceipts", ["0x3"]),
    "traces": ("debug_traceBlockByNumber", ["0x3", {"tracer": "callTracer"}]),
    "filtered traces": ("trace_filter", [{"fromBlock": "0x1", "toBlock": "latest"}]),
    "call": ("eth_call", [{"to": to_hex(LOGGER)}, "0x3"]),
    "search": ("ots_searchTransactionsBefore", [to_hex(LOGGER), 0, 25]),
    "raw block": ("debug_getRawBlock", ["0x3"]),
    "proof": ("eth_getProof", [to_hex(LOGGER), [], "0x3"]),
}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    it = Served(codes={LOGGER: LOG0})
    yield it
    it.close()


def revert_at(
    chain: Any,  # noqa: ANN401 - its method is replaced
    place: int,
    revert: Callable[[], object],
) -> Callable[[int], BlockHeaderAPI]:
    """Return the chain's `header`, which reverts the chain before a read."""
    read, reads = chain.header, iter(range(1, 1_000_000))

    def header(number: int) -> BlockHeaderAPI:
        if next(reads) == place:
            revert()
        found: BlockHeaderAPI = read(number)
        return found

    return header


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("mines_again", [False, True])
def test_a_revert_between_two_reads(
    served: Served, monkeypatch: pytest.MonkeyPatch, name: str, *, mines_again: bool
) -> None:
    method, params = READS[name]
    call = {"from": to_hex(ADDRESSES[0]), "to": to_hex(LOGGER), "gas": hex(50_000)}
    for place in PLACES:
        start = served.ask("evm_snapshot")
        served.ask("evm_mine")
        snapshot = served.ask("evm_snapshot")
        for _ in range(BLOCKS - 1):
            served.ask("eth_sendTransaction", call)

        def revert(snapshot: str = snapshot) -> None:
            assert served.ask("evm_revert", snapshot)
            for _ in range(BLOCKS if mines_again else 0):
                served.ask("eth_sendTransaction", call)

        with monkeypatch.context() as patch:
            chain = served.node.chain
            patch.setattr(chain, "header", revert_at(chain, place, revert))
            require_one_chain(ask_or_miss(served, method, params))
        assert served.ask("evm_revert", start)


def ask_or_miss(served: Served, method: str, params: list[Any]) -> Any:  # noqa: ANN401 - JSON
    """Return the result of a request; None if a block is not there any more."""
    try:
        return served.ask(method, *params)
    except RefusedError as error:
        if (error.code, error.message) != (-32000, "header not found"):
            raise
        return None


def require_one_chain(result: Any) -> None:  # noqa: ANN401 - JSON
    """Require that no two logs of one block have different block hashes."""
    if not isinstance(result, list) or not all(isinstance(each, dict) for each in result):
        return
    hashes = {(each.get("blockNumber"), each.get("blockHash")) for each in result}
    assert len(hashes) == len({number for number, _ in hashes})

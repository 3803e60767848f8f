"""eth_simulateV1 beyond execution-apis' suite: no persistent changes, and invalid requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_hex

from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, NOBODY
from tests.pyevm_agents.rpc.served import RefusedError
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

SENDER, CONTRACT = to_hex(ADDRESSES[0]), to_hex(NOBODY)
COUNTER = asm("PUSH0 SLOAD 0x01 ADD DUP1 PUSH0 SSTORE PUSH0 MSTORE 0x20 PUSH0 RETURN")
COUNT = {"from": SENDER, "to": CONTRACT}


def simulated(served: Served, *blocks: dict[str, Any], **options: object) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = served.ask(
        "eth_simulateV1", {"blockStateCalls": [*blocks], **options}, "latest"
    )
    return answer


def test_state_goes_on_from_call_to_call_and_block_to_block_and_nothing_is_kept(
    serve: Serve,
) -> None:
    served = serve(codes={NOBODY: COUNTER})
    for _ in range(2):
        blocks = simulated(served, {"calls": [COUNT, COUNT]}, {"calls": [COUNT]})
        results = [int(call["returnData"], 16) for block in blocks for call in block["calls"]]
        assert results == [1, 2, 3]
        assert blocks[1]["parentHash"] == blocks[0]["hash"]
    assert served.ask("eth_getStorageAt", CONTRACT, "0x0") == "0x" + "00" * 32
    assert served.ask("eth_blockNumber") == "0x0"
    assert served.ask("eth_call", COUNT) == f"0x{1:064x}"


def test_a_simulated_block_is_the_one_that_is_mined_with_the_same_circumstances(
    serve: Serve,
) -> None:
    """State root, receipts root, gas and bloom are equal; transactions differ by the signature."""
    served = serve(codes={NOBODY: COUNTER})
    call = COUNT | {
        "gas": "0x186a0",
        "maxFeePerGas": "0xb2d05e00",
        "maxPriorityFeePerGas": "0x1",
        "nonce": "0x0",
    }
    hash_of_mined = served.ask("eth_sendTransaction", call)
    number = served.ask("eth_getTransactionReceipt", hash_of_mined)["blockNumber"]
    mined = served.ask("eth_getBlockByNumber", number)
    block = {
        "blockOverrides": {
            "time": mined["timestamp"],
            "prevRandao": mined["mixHash"],
            "feeRecipient": mined["miner"],
            "gasLimit": mined["gasLimit"],
            "beaconRoot": mined["parentBeaconBlockRoot"],
        },
        "calls": [call],
    }
    (made,) = served.ask(
        "eth_simulateV1", {"blockStateCalls": [block], "validation": True}, "earliest"
    )
    for name in (
        "stateRoot",
        "receiptsRoot",
        "gasUsed",
        "baseFeePerGas",
        "logsBloom",
        "parentHash",
    ):
        assert made[name] == mined[name], name


def test_a_moved_precompile_does_its_work_elsewhere_in_its_block_alone(serve: Serve) -> None:
    served = serve()
    identity, other = f"0x{4:040x}", "0x" + "77" * 20
    call = {"to": other, "input": "0x1234"}
    moved = {"stateOverrides": {identity: {"movePrecompileToAddress": other}}, "calls": [call]}
    first, second = simulated(served, moved, {"calls": [call]})
    assert first["calls"][0]["returnData"] == "0x1234"
    assert second["calls"][0]["returnData"] == "0x"


def test_a_call_that_fails_says_why_and_the_next_goes_on(serve: Serve) -> None:
    served = serve(codes={NOBODY: asm("0xfe PUSH0 JUMP")})
    (block,) = simulated(served, {"calls": [COUNT | {"gas": "0xffff"}, {"from": SENDER}]})
    failed, fine = block["calls"]
    assert failed["status"] == "0x0"
    assert failed["error"] == {"code": -32015, "message": "invalid jump destination"}
    assert fine["status"] == "0x1"


@pytest.mark.parametrize(
    ("block", "code", "told"),
    [
        ({"blockOverrides": {"number": "0x0"}}, -38020, "block numbers must be in order: 0 <= 0"),
        ({"blockOverrides": {"number": "0x101"}}, -38026, "too many blocks"),
        ({"blockOverrides": {"time": "0x1"}}, -38021, "block timestamps must be in order: 1 <= "),
        ({"blockOverrides": {"colour": "0x1"}}, -32602, "unknown override: colour"),
        ({"calls": [COUNT | {"gas": "0xffffffff"}]}, -38015, "block gas limit reached"),
        ({"calls": [COUNT | {"gas": "0x5207"}]}, -38013, "intrinsic gas too low: have 20999"),
        ({"calls": [COUNT | {"value": hex(10**21)}]}, -38014, "insufficient funds"),
        ({"calls": [{"input": "0x" + "00" * 49_153}]}, -38025, "max initcode size exceeded"),
        (
            {"calls": [COUNT | {"maxPriorityFeePerGas": "0x2", "maxFeePerGas": "0x1"}]},
            -32602,
            "max priority fee per gas higher than max fee per gas",
        ),
        (
            {"stateOverrides": {CONTRACT: {"movePrecompileToAddress": SENDER}}},
            -32000,
            "is not a precompile",
        ),
        (
            {"stateOverrides": {CONTRACT: {"state": {}, "stateDiff": {}}}},
            -32602,
            "give state or stateDiff, not both",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_can_not_be(serve: Serve, block: dict[str, Any], code: int, told: str) -> None:
    with pytest.raises(RefusedError) as caught:
        simulated(serve(), block)
    assert (caught.value.code, told in caught.value.message) == (code, True), caught.value


@pytest.mark.parametrize(("nonce", "code"), [("0x1", -38011), ("0x0", None)])
def test_validation_asks_for_the_nonce(serve: Serve, nonce: str, code: int | None) -> None:
    call = COUNT | {"nonce": nonce, "maxFeePerGas": hex(10**10)}
    if code is None:
        simulated(serve(), {"calls": [call]}, validation=True)
        return
    with pytest.raises(RefusedError, match="nonce too high") as caught:
        simulated(serve(), {"calls": [call]}, validation=True)
    assert caught.value.code == code


@pytest.mark.parametrize(("fork", "most"), [("cancun", 6), ("prague", 9), ("osaka", 6)])
def test_a_call_has_the_blobs_of_a_transaction_at_most(serve: Serve, fork: str, most: int) -> None:
    def call(count: int) -> dict[str, Any]:
        return COUNT | {"type": "0x3", "blobVersionedHashes": ["0x01" + "00" * 31] * count}

    served = serve(codes={NOBODY: COUNTER}, fork=fork)
    simulated(served, {"calls": [call(most)]})
    with pytest.raises(RefusedError, match="too many blobs"):
        simulated(served, {"calls": [call(most + 1)]})


def test_blobs_without_a_fee_cost_nothing_where_fees_are_not_checked(serve: Serve) -> None:
    poor = "0x" + "77" * 20
    call = {
        "from": poor,
        "to": CONTRACT,
        "type": "0x3",
        "blobVersionedHashes": ["0x01" + "00" * 31],
    }
    (block,) = simulated(serve(codes={NOBODY: COUNTER}), {"calls": [call]})
    assert [result["status"] for result in block["calls"]] == ["0x1"]

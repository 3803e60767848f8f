"""Nodes of other forks than the default: features that are missing, and those of Osaka."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
import rlp
from eth_account import Account
from eth_utils import to_hex

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.block_rlp import decode_block
from pyevm_agents.chain.transactions import SET_CODE_TYPE, TransactionFields, sign
from pyevm_agents.config import ChainConfig
from pyevm_agents.rpc.transaction_params import parse_authorizations
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS
from tests.pyevm_agents.rpc.contracts_to_trace import CODES, COUNTER, OTHER, SENDER, send
from tests.pyevm_agents.rpc.served import RefusedError, Served
from tests.pyevm_agents.vm.test_osaka import VALID
from tests.thinking_node import ThinkingNode

if TYPE_CHECKING:
    from collections.abc import Callable

    Serve = Callable[..., Served]

FORKS = ("cancun", "prague", "osaka", "bpo1", "bpo2")
MOST_GAS = 1 << 24
BLOB = "0x01" + "aa" * 31
FULL = True

TYPES: dict[str, dict[str, Any]] = {
    "0x0": {"gasPrice": hex(5 * 10**9)},
    "0x1": {"gasPrice": hex(5 * 10**9), "accessList": [{"address": COUNTER, "storageKeys": []}]},
    "0x2": {},
    "0x3": {"blobVersionedHashes": [BLOB]},
}


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve(codes=CODES, fork="cancun")


def authorization() -> dict[str, str]:
    told = {"chainId": 31_337, "address": COUNTER, "nonce": 0}
    signed = Account.from_key(KEYS[1].to_bytes()).sign_authorization(told)
    return {
        "chainId": hex(31_337),
        "address": COUNTER,
        "nonce": "0x0",
        "yParity": hex(signed.y_parity),
        "r": hex(signed.r),
        "s": hex(signed.s),
    }


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("is_signed", [True, False])
def test_transactions_of_its_types_are_mined(
    served: Served,
    kind: str,
    is_signed: bool,
) -> None:
    sender: str = SENDER
    if not is_signed:
        sender = "0x" + "77" * 20
        served.ask("anvil_impersonateAccount", sender)
        served.ask("anvil_setBalance", sender, hex(10**18))
    sent = send(served, COUNTER, **{"from": sender}, **TYPES[kind])
    receipt = served.ask("eth_getTransactionReceipt", sent)
    assert (receipt["type"], receipt["status"]) == (kind, "0x1")
    assert served.ask("eth_getStorageAt", COUNTER, "0x0") == f"0x{1:064x}"
    assert served.ask("eth_getTransactionByHash", sent)["type"] == kind
    traced = served.ask("debug_traceTransaction", sent, {"tracer": "callTracer"})
    assert traced["gasUsed"] == receipt["gasUsed"]
    for tracer in ("prestateTracer", "4byteTracer", "flatCallTracer", None):
        served.ask("debug_traceTransaction", sent, {} if tracer is None else {"tracer": tracer})


def test_set_code_is_not_there_yet(served: Served) -> None:
    told = {
        "from": SENDER,
        "to": OTHER,
        "gas": hex(100_000),
        "authorizationList": [authorization()],
    }
    wanted = "transaction type( not supported:)? 4"
    asked: list[tuple[str, *tuple[Any, ...]]] = [
        ("eth_sendTransaction", told),
        ("eth_signTransaction", told),
        ("eth_fillTransaction", told),
        ("eth_call", told),
        ("eth_estimateGas", told),
        ("eth_createAccessList", told),
        ("eth_simulateV1", {"blockStateCalls": [{"calls": [told]}]}, "latest"),
    ]
    for method, *params in asked:
        with pytest.raises(RefusedError, match=wanted) as refused:
            served.ask(method, *params)
        assert refused.value.code in {-32000, -32602}, method
    fields = TransactionFields(
        kind=SET_CODE_TYPE,
        nonce=0,
        gas=100_000,
        to=ADDRESSES[1],
        max_fee_wei=10**10,
        authorizations=parse_authorizations([authorization()], "authorizationList"),
    )
    raw = sign(fields, KEYS[0], 31_337).encode()
    with pytest.raises(RefusedError, match="failed to decode signed transaction"):
        served.ask("eth_sendRawTransaction", to_hex(raw))
    assert served.ask("eth_blockNumber") == "0x0"


@pytest.mark.parametrize("fork", FORKS)
def test_calldata_has_a_floor_from_prague_on(serve: Serve, fork: str) -> None:
    served = serve(fork=fork)
    data = {"from": SENDER, "to": OTHER, "data": "0x" + "ff" * 1_000}
    least = 21_000 + (16 if fork == "cancun" else 40) * 1_000
    assert served.ask("eth_estimateGas", data) == hex(least)
    sent = send(served, OTHER, data=data["data"], gas=hex(least))
    assert served.ask("eth_getTransactionReceipt", sent)["gasUsed"] == hex(least)
    with pytest.raises(RefusedError, match=r"intrinsic gas too low|floor data gas"):
        send(served, OTHER, data=data["data"], gas=hex(least - 1))


@pytest.mark.parametrize(("fork", "most", "target"), [("cancun", 6, 3), ("prague", 9, 6)])
def test_blocks_have_their_number_of_blobs(serve: Serve, fork: str, most: int, target: int) -> None:
    served = serve(fork=fork)
    with pytest.raises(RefusedError, match=f"have {most + 1}, permitted {most}"):
        send(served, OTHER, blobVersionedHashes=[BLOB] * (most + 1))  # type: ignore[arg-type]
    for _ in range(8):
        send(served, OTHER, blobVersionedHashes=[BLOB] * most, maxFeePerBlobGas=hex(10**6))  # type: ignore[arg-type]
    header = served.ask("eth_getBlockByNumber", "latest", FULL)
    assert header["blobGasUsed"] == hex(most * 2**17)
    assert header["excessBlobGas"] == hex(7 * (most - target) * 2**17)
    history = served.ask("eth_feeHistory", "0x1", "latest", [])
    assert history["blobGasUsedRatio"] == [1.0]
    assert history["baseFeePerBlobGas"][-1] == served.ask("eth_blobBaseFee")
    current = served.ask("eth_config")["current"]
    assert (current["blobSchedule"]["max"], current["blobSchedule"]["target"]) == (most, target)
    excess = 8 * (most - target) * 2**17
    e_of_it = 2.718281828 ** (excess / current["blobSchedule"]["baseFeeUpdateFraction"])
    assert int(served.ask("eth_blobBaseFee"), 16) == int(e_of_it)


@pytest.mark.parametrize(("fork", "count"), [("cancun", 10), ("prague", 17)])
def test_precompiles_and_fields_are_its_own(serve: Serve, fork: str, count: int) -> None:
    served = serve(fork=fork)
    assert len(served.ask("eth_config")["current"]["precompiles"]) == count
    assert served.ask("anvil_nodeInfo")["hardFork"] == fork.capitalize()
    send(served, OTHER)
    block = served.ask("eth_getBlockByNumber", "latest", FULL)
    assert ("requestsHash" in block) == (fork == "prague")
    sum_of_nothing = {"to": "0x" + "00" * 19 + "0b", "data": "0x" + "00" * 256}
    output = served.ask("eth_call", sum_of_nothing)
    assert output == ("0x" if fork == "cancun" else "0x" + "00" * 128)


def test_its_blocks_are_imported_elsewhere_and_read_as_what_they_are(served: Served) -> None:
    for told in TYPES.values():
        send(served, COUNTER, **told)
    accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
    accounts |= {one: GenesisAccount(code=code) for one, code in CODES.items()}
    there = Chain(ChainConfig(fork="cancun"), accounts=accounts)
    for number in range(1, 5):
        encoded = bytes.fromhex(served.ask("debug_getRawBlock", hex(number))[2:])
        mined = there.import_block(encoded).block
        assert decode_block(encoded) == mined
        assert rlp.encode(mined) == encoded
        assert served.ask("debug_traceBlock", to_hex(encoded), {"tracer": "callTracer"})
        assert served.ask("debug_executionWitness", hex(number))["state"]
    assert to_hex(there.head.hash) == served.ask("eth_getBlockByNumber", "latest", FULL)["hash"]


def test_what_waits_and_what_is_simulated_is_of_its_fork(serve: Serve) -> None:
    served = serve(codes=CODES, fork="cancun", is_automatic=False)
    send(served, COUNTER)
    assert served.ask("eth_call", {"to": COUNTER}, "pending") == f"0x{2:064x}"
    assert "requestsHash" not in served.ask("eth_getBlockByNumber", "pending", FULL)
    call = {"from": SENDER, "to": COUNTER}
    (block,) = served.ask("eth_simulateV1", {"blockStateCalls": [{"calls": [call]}]}, "pending")
    assert block["calls"][0]["returnData"] == f"0x{2:064x}"
    assert "requestsHash" not in block
    dumped = served.ask("anvil_dumpState")
    served.ask("evm_mine")
    served.ask("anvil_loadState", dumped)
    assert served.ask("eth_call", {"to": COUNTER}) == f"0x{1:064x}"


@pytest.mark.parametrize("fork", FORKS)
def test_nobodys_code_is_anothers_before_prague(serve: Serve, fork: str) -> None:
    served = serve(codes=CODES, fork=fork)
    served.ask("anvil_setCode", OTHER, "0xef0100" + COUNTER[2:])
    call = {"from": SENDER, "to": OTHER, "gas": hex(100_000)}
    touched = served.ask("debug_traceCall", call, "latest", {"tracer": "prestateTracer"})
    assert (COUNTER in touched) == (fork != "cancun")


@pytest.mark.parametrize(
    ("fork", "most", "target"), [("osaka", 9, 6), ("bpo1", 15, 10), ("bpo2", 21, 14)]
)
def test_a_transaction_has_six_blobs_from_osaka_on(
    serve: Serve, fork: str, most: int, target: int
) -> None:
    served = serve(fork=fork)
    with pytest.raises(RefusedError, match="have 7, permitted 6"):
        send(served, OTHER, blobVersionedHashes=[BLOB] * 7)  # type: ignore[arg-type]
    schedule = served.ask("eth_config")["current"]["blobSchedule"]
    assert (schedule["max"], schedule["target"]) == (most, target)
    served.ask("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC has places
    for _ in range(4):
        send(served, OTHER, blobVersionedHashes=[BLOB] * 6, maxFeePerBlobGas=hex(10**6))  # type: ignore[arg-type]
    served.ask("evm_mine")
    full = served.ask("eth_getBlockByNumber", "latest", FULL)
    assert full["blobGasUsed"] == hex(most // 6 * 6 * 2**17)
    served.ask("evm_mine")
    after = served.ask("eth_getBlockByNumber", "latest", FULL)
    # Execution is dearer than blobs at 1 gwei, so the excess does not fall (EIP-7918).
    used = int(full["blobGasUsed"], 16)
    assert int(after["excessBlobGas"], 16) == (
        0 if used < target * 2**17 else used * (most - target) // most
    )


def test_a_transaction_has_at_most_16777216_gas_from_osaka_on(serve: Serve) -> None:
    served = serve(codes=CODES, fork="osaka")
    with pytest.raises(
        RefusedError, match=r"transaction gas limit too high \(cap: 16777216, tx: 16777217\)"
    ):
        send(served, COUNTER, gas=hex(MOST_GAS + 1))
    sent = send(served, COUNTER, gas=hex(MOST_GAS))
    assert served.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"
    # A call is in no block, and may have the block's gas. An estimate may not.
    left = {"to": OTHER, "data": "0x"}
    code = {OTHER: {"code": "0x5a5f5260205ff3"}}
    remaining = int(served.ask("eth_call", left, "latest", code), 16)
    assert remaining > MOST_GAS
    # It reverts below 17,000,000 gas.
    needs = {OTHER: {"code": "0x63010366405a11600d575f5ffd5b00"}}
    assert served.ask("eth_call", left, "latest", needs) == "0x"
    with pytest.raises(RefusedError, match="execution reverted"):
        served.ask("eth_estimateGas", left | {"gas": hex(30_000_000)}, "latest", needs)


def test_opcodes_and_precompiles_of_osaka(serve: Serve) -> None:
    count = {OTHER: {"code": "0x6001" + "1e" + "5f5260205ff3"}}
    verify = {"to": "0x" + "100".rjust(40, "0"), "data": "0x" + VALID.hex()}
    for fork in ("osaka", "bpo2"):
        served = serve(fork=fork)
        assert int(served.ask("eth_call", {"to": OTHER}, "latest", count), 16) == 255
        assert int(served.ask("eth_call", verify), 16) == 1
        assert served.ask("eth_config")["current"]["precompiles"]["P256VERIFY"] == verify["to"]
    served = serve()
    assert served.ask("eth_call", verify) == "0x"
    with pytest.raises(RefusedError, match="invalid opcode: CLZ"):
        served.ask("eth_call", {"to": OTHER}, "latest", count)


def test_an_agent_runs_and_its_estimate_is_exact() -> None:
    gas = {}
    for fork in FORKS:
        with closing(ThinkingNode(fork=fork)) as it:
            told = {**it.run}
            del told["gas"]
            least = int(it.ask("eth_estimateGas", told), 16)
            for limit, status in ((least - 1, "0x0"), (least, "0x1")):
                sent = it.ask("eth_sendTransaction", told | {"gas": hex(limit)})
                receipt = it.ask("eth_getTransactionReceipt", sent)
                assert receipt["status"] == status, fork
            gas[fork] = receipt["gasUsed"]
            (run,) = it.ask("agent_traceTransaction", sent)["steps"]
            assert run["answer"] == "As you like."
    assert len(set(gas.values())) == 1, gas

"""Parameters that clients of geth and anvil send, and what these nodes make of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import rlp
from eth_utils import to_checksum_address

from pyevm_agents.rpc.errors import RpcError
from tests.pyevm_agents.rpc.local_node import FIRST, SECOND, STRANGER, local_node
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pyevm_agents.rpc.local_node import LocalNode

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of secp256k1."""

ETHER = 10**18
STORE = "0x" + "5e" * 20
STORE_CODE = asm(
    "PUSH0 CALLDATALOAD DUP1 0x0e JUMPI PUSH0 SLOAD PUSH0 MSTORE 0x20 PUSH0 RETURN"
) + (asm("JUMPDEST PUSH0 SSTORE STOP"))
"""Stores a word that is not zero; returns the stored word without one."""

SEES_PRICE = "0x" + "9a" * 20
IDENTITY, ELSEWHERE = f"0x{4:040x}", "0x" + "77" * 20
BLOB = "0x01" + "aa" * 31


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalNode]:
    with local_node() as made:
        made.ask("anvil_setCode", STORE, "0x" + STORE_CODE.hex())
        made.ask("anvil_setCode", SEES_PRICE, "0x3a5f5500")  # GASPRICE into slot 0
        yield made


@pytest.fixture
def node(shared: LocalNode) -> Iterator[LocalNode]:
    """A node that is reverted after the test."""
    before = shared.ask("evm_snapshot")
    yield shared
    is_automatic = True
    shared.ask("evm_setAutomine", is_automatic)
    shared.ask("evm_revert", before)


def code_of(node: LocalNode, method: str, *params: object) -> int:
    with pytest.raises(RpcError) as caught:
        node.ask(method, *params)
    return caught.value.code


def to_raw(v: int, r: int, s: int, prefix: bytes = b"") -> str:
    """Return a transaction with this signature: a legacy one, or one of type 1 or 2."""
    to = bytes.fromhex(SECOND[2:])
    heads: dict[bytes, list[Any]] = {
        b"": [0, 10**10, 21_000, to, 1, b""],
        b"\1": [31_337, 0, 10**10, 21_000, to, 1, b"", []],
        b"\2": [31_337, 0, 1, 10**10, 21_000, to, 1, b"", []],
    }
    return "0x" + (prefix + bytes(rlp.encode([*heads[prefix], v, r, s]))).hex()


NO_SIGNATURES: dict[str, tuple[int, int]] = {
    "r zero": (0, 1),
    "s zero": (1, 0),
    "r order": (ORDER, 1),
    "s order": (1, ORDER),
    "r above": (ORDER + 1, ORDER - 1),
    "r longest": (2**256 - 1, 1),
    "r long": (2**264, 1),
    "s of 2,000 bytes": (1, 2**16_000),
    "no point": (5, 1),
}
"""Values of r and s that no account can have signed with."""

NO_PARITIES: dict[str, tuple[int, bytes]] = {
    **{f"v {v}": (v, b"") for v in (0, 26, 29, 31)},
    **{f"parity {parity}": (parity, b"\1") for parity in (2, 27, 255)},
    "v of 2,000 bytes": (2**16_000, b""),
    "parity of 2,000 bytes": (2**16_000, b"\2"),
}
"""Values of v or of the parity, with the prefix of the transaction."""

UNSIGNED = {
    **{
        f"{name}, prefix {prefix.hex()}": to_raw(0 if prefix else 27, r, s, prefix)
        for name, (r, s) in NO_SIGNATURES.items()
        for prefix in (b"", b"\1", b"\2")
    },
    **{name: to_raw(v, 1, 1, prefix) for name, (v, prefix) in NO_PARITIES.items()},
}


@pytest.mark.parametrize("name", UNSIGNED)
def test_a_signature_without_a_signer_is_refused(node: LocalNode, name: str) -> None:
    raw = UNSIGNED[name]
    node.ask("evm_mine")
    for method, params in (
        ("eth_sendRawTransaction", [raw]),
        ("eth_sendRawTransactionSync", [raw]),
        ("trace_rawTransaction", [raw, ["trace"]]),
    ):
        assert code_of(node, method, *params) == -32602, method
    assert code_of(node, "anvil_reorg", 1, [[raw, 0]]) == -32602


def test_a_block_with_such_a_signature_is_refused(node: LocalNode) -> None:
    node.send()
    header, _, *rest = rlp.decode(bytes.fromhex(node.ask("debug_getRawBlock", "0x1")[2:]))
    for raw in (to_raw(27, ORDER, 1), to_raw(0, 0, 1, b"\1"), to_raw(2**16_000, 1, 1, b"\2")):
        encoded = bytes.fromhex(raw[2:])
        item = rlp.decode(encoded) if encoded[0] >= 0xC0 else encoded
        block = "0x" + bytes(rlp.encode([header, [item], *rest])).hex()
        assert code_of(node, "debug_traceBlock", block) == -32000


@pytest.mark.parametrize(
    "options",
    [
        *({"fork": {}}, {"url": "http://127.0.0.1:1"}, {"forking": None, "blockNumber": 1}),
        *({"forking": {"blockNumber": 1}, "blockNumber": 1}, {"blockNumber": "x"}, [], "latest"),
        # This node can't fork again.
        *({"blockNumber": "0x0"}, {"jsonRpcUrl": "http://127.0.0.1:1"}, {"forking": {}}),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["anvil_reset", "hardhat_reset"])
def test_a_reset_to_another_block_is_never_ignored(
    node: LocalNode, method: str, options: object
) -> None:
    node.ask("evm_mine")
    assert code_of(node, method, options) == -32602
    assert node.number("eth_blockNumber") == 1


@pytest.mark.parametrize(
    "params", [[], [None], [{}], [{"forking": None}], [{"jsonRpcUrl": None, "blockNumber": None}]]
)
def test_a_reset_to_nothing_is_to_the_start(params: list[object]) -> None:
    with local_node() as node:
        node.ask("evm_mine")
        node.ask("anvil_reset", *params)
        assert node.number("eth_blockNumber") == 0


def read_traced(node: LocalNode, block: str, **options: object) -> int:
    """Return the store's word in a traced call."""
    traced = node.ask("debug_traceCall", {"to": STORE}, block, {"tracer": "callTracer", **options})
    return int(traced["output"], 16)


def test_a_traced_call_is_after_so_many_transactions(node: LocalNode) -> None:
    node.mine_by_hand()
    for word in (1, 2):
        node.send(to=STORE, value="0x0", data=f"0x{word:064x}", gas=hex(100_000))
    assert [read_traced(node, "pending", txIndex=hex(index)) for index in (0, 1)] == [0, 1]
    node.ask("evm_mine")
    node.send(to=STORE, value="0x0", data=f"0x{3:064x}", gas=hex(100_000))
    node.ask("evm_mine")
    assert [read_traced(node, "0x1", txIndex=hex(index)) for index in (0, 1)] == [0, 1]
    assert (read_traced(node, "0x2", txIndex=0), read_traced(node, "0x1")) == (2, 2)
    assert (read_traced(node, "latest"), read_traced(node, "0x2", txIndex=None)) == (3, 3)
    other = {STORE: {"stateDiff": {"0x0": "0x7"}}}
    assert read_traced(node, "0x1", txIndex="0x1", stateOverrides=other) == 7
    assert read_traced(node, "0x1", txIndex="0x1", stateOverrides={STORE: {"balance": "0x1"}}) == 1
    node.ask("evm_mine")
    assert read_traced(node, "0x3", txIndex="0x0") == 3  # An empty block.
    for block, index in (("0x1", "0x2"), ("0x1", hex(99)), ("0x3", "0x1"), ("0x0", "0x0")):
        assert code_of(node, "debug_traceCall", {"to": STORE}, block, {"txIndex": index}) == -32000


@pytest.mark.parametrize(
    "name",
    [
        *("stateOverride", "blockOverride", "txIndx", "txindex2", "tracerCfg", "override", "tracr"),
        *("foo", "", "disableMemories"),
    ],
)
def test_a_misspelt_option_is_refused(node: LocalNode, name: str) -> None:
    sent = node.send()
    tried: tuple[dict[str, object], ...] = ({name: {}}, {"tracer": "callTracer", name: None})
    for options in tried:
        for method, params in (
            ("debug_traceCall", [{"to": STORE}, "latest"]),
            ("debug_traceTransaction", [sent]),
            ("debug_traceBlockByNumber", ["0x1"]),
        ):
            assert code_of(node, method, *params, options) == -32602, method


def test_options_of_a_call_are_not_those_of_a_mined_transaction(node: LocalNode) -> None:
    sent = node.send()
    for name in ("stateOverrides", "blockOverrides", "txIndex"):
        assert code_of(node, "debug_traceTransaction", sent, {name: {}}) == -32602
    loose = {"Tracer": "callTracer", "tracerconfig": {"foo": 1}, "timeout": "1s", "reexec": 1}
    assert node.ask("debug_traceTransaction", sent, loose)["type"] == "CALL"


def test_a_trace_may_be_by_the_rules_of_another_fork(node: LocalNode) -> None:
    node.ask("anvil_setCode", ELSEWHERE, "0x60011e5f5260205ff3")  # CLZ of EIP-7939
    sent = node.send(to=ELSEWHERE, value="0x0", gas=hex(50_000))

    def has_failed(**times: object) -> bool:
        options = {"tracer": "callTracer", "overrides": times}
        called = node.ask("debug_traceCall", {"to": ELSEWHERE}, "latest", options)
        mined = node.ask("debug_traceTransaction", sent, options)
        assert ("error" in called) == ("error" in mined)
        return "error" in mined

    assert has_failed()
    assert not has_failed(osakaTime="0x0")
    assert not has_failed(bpo1Time=0, osakaTime=None)
    assert has_failed(osakaTime="0xffffffffffffffff")
    for wrong in (
        {"londonBlock": 0},
        {"osakaTime": "x"},
        {"cancunTime": 2**63, "pragueTime": 2**63},
    ):
        options = {"overrides": wrong}
        assert code_of(node, "debug_traceCall", {"to": STORE}, "latest", options) == -32602


def test_the_pools_lines_are_geths(node: LocalNode) -> None:
    """Source: alloy, `TxpoolInspectSummary`, which splits at these words."""
    node.mine_by_hand()
    node.send()
    node.send(to=None, data="0x00", gas=hex(100_000))
    lines = [*next(iter(node.ask("txpool_inspect")["pending"].values())).values()]
    pattern = r"(0x[0-9a-fA-F]{40}|contract creation): \d+ wei \+ \d+ gas × \d+ wei"  # noqa: RUF001 - geth's sign
    assert [re.fullmatch(pattern, line) is not None for line in lines] == [True, True]
    assert lines[1].startswith("contract creation: 1 wei + 100000 gas")


ACCESS = [{"address": STORE, "storageKeys": ["0x" + "00" * 32]}]


@pytest.mark.parametrize(
    "fields",
    [
        *({}, {"gasPrice": "0x77777777"}, {"maxFeePerGas": "0x77777777"}, {"accessList": ACCESS}),
        *({"gasPrice": "0x77777777", "accessList": ACCESS}, {"to": None, "data": "0x00"}),
        *({"blobVersionedHashes": [BLOB]}, {"to": STORE, "data": f"0x{1:064x}"}),
    ],
    ids=str,
)
def test_a_filled_transaction_can_be_asked_about_and_sent(
    node: LocalNode, fields: dict[str, Any]
) -> None:
    asked = {"from": FIRST, "to": SECOND, "value": "0x0", **fields}
    filled = node.ask("eth_fillTransaction", asked)["tx"]
    assert node.ask("eth_estimateGas", filled) == filled["gas"]
    node.ask("eth_call", filled)
    node.ask("eth_createAccessList", filled)
    assert node.ask("eth_fillTransaction", filled)["tx"] == filled
    sent = node.ask("eth_sendTransaction", filled)
    assert node.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"
    mined = node.ask("eth_getTransactionByHash", sent)
    assert {name: mined[name] for name in ("type", "nonce", "gas", "input")} == {
        name: filled[name] for name in ("type", "nonce", "gas", "input")
    }
    node.ask("eth_call", mined)


def test_a_price_above_the_maximum_fee_is_refused(node: LocalNode) -> None:
    call = {"from": FIRST, "to": SECOND, "gasPrice": "0x2", "maxFeePerGas": "0x1"}
    for method in ("eth_call", "eth_estimateGas", "eth_sendTransaction", "eth_fillTransaction"):
        assert code_of(node, method, call) == -32602
    legacy = {**call, "gasPrice": hex(10**10), "maxFeePerGas": None}
    assert node.ask("eth_fillTransaction", legacy)["tx"]["type"] == "0x0"


@pytest.mark.parametrize(
    "spelling",
    [
        "0xF39Fd6E51AAd88f6F4Ce6AB8827279cffFb92266",
        "0x" + to_checksum_address(FIRST)[2:].swapcase(),
        "0x" + FIRST[2:].upper(),
    ],
)
def test_addresses_come_in_any_case(node: LocalNode, spelling: str) -> None:
    has = node.ask("eth_getBalance", FIRST)
    assert node.ask("eth_getBalance", spelling) == has
    form = {"from": spelling, "to": spelling, "value": "0x1"}
    assert node.ask("eth_call", form, "latest", {spelling: {"balance": "0x1"}}) == "0x"
    node.ask(
        "eth_sendTransaction", form | {"accessList": [{"address": spelling, "storageKeys": []}]}
    )
    assert node.ask("eth_getLogs", {"address": [spelling]}) == []
    assert node.number("eth_getTransactionCount", spelling) == 1


@pytest.mark.parametrize("field", ["movePrecompileToAddress", "MovePrecompileToAddress"])
def test_a_precompile_is_moved_in_calls(node: LocalNode, field: str) -> None:
    moved = {IDENTITY: {field: ELSEWHERE}}
    there, here = ({"to": to, "data": "0x1234"} for to in (ELSEWHERE, IDENTITY))
    assert (node.ask("eth_call", there, "latest", moved), node.ask("eth_call", there)) == (
        *("0x1234", "0x"),
    )
    assert (node.ask("eth_call", here, "latest", moved), node.ask("eth_call", here)) == (
        *("0x", "0x1234"),
    )
    estimates = [
        node.ask("eth_estimateGas", there, "latest", moved),
        node.ask("eth_estimateGas", here),
    ]
    assert estimates[0] == estimates[1]
    options = {"tracer": "callTracer", "stateOverrides": moved}
    assert node.ask("debug_traceCall", there, "latest", options)["output"] == "0x1234"
    assert node.ask("trace_call", there, ["trace"], "latest", moved)["output"] == "0x1234"
    both = [{"transactions": [there | {"from": FIRST, "value": "0x1"}, there, here]}]
    assert node.ask("eth_callMany", both, None, moved) == [
        [{"value": "0x1234"}, {"value": "0x1234"}, {"value": "0x"}]
    ]


@pytest.mark.parametrize(
    "override",
    [{"code": "0x00"}, {"balance": "0x1"}, {"nonce": "0x1"}, {"stateDiff": {}}, {}],
    ids=json.dumps,
)
def test_any_override_ends_a_precompile_as_in_geth(node: LocalNode, override: object) -> None:
    """Source: geth, internal/ethapi/override, `StateOverride.Apply`."""
    call, accounts = {"to": IDENTITY, "data": "0x1234"}, {IDENTITY: override}
    assert node.ask("eth_call", call, "latest", accounts) == "0x"
    options = {"tracer": "callTracer", "stateOverrides": accounts}
    assert "output" not in node.ask("debug_traceCall", call, "latest", options)
    assert node.ask("trace_call", call, ["trace"], "latest", accounts)["output"] == "0x"
    bundle = [{"transactions": [call]}]
    assert node.ask("eth_callMany", bundle, None, accounts) == [[{"value": "0x"}]]
    block = {"stateOverrides": accounts, "calls": [call]}
    (simulated,) = node.ask("eth_simulateV1", {"blockStateCalls": [block]})
    assert simulated["calls"][0]["returnData"] == "0x"


def test_what_an_earlier_call_left_ends_no_precompile(node: LocalNode) -> None:
    call = {"from": FIRST, "to": IDENTITY, "data": "0x1234", "value": "0x1"}
    assert node.ask("eth_callMany", [{"transactions": [call, call]}]) == [
        [{"value": "0x1234"}, {"value": "0x1234"}]
    ]


@pytest.mark.parametrize(
    "overrides",
    [
        {STORE: {"movePrecompileToAddress": ELSEWHERE}},
        {IDENTITY: {"movePrecompileToAddress": STORE}, STORE: {"code": "0x00"}},
    ],
    ids=["no precompile", "overridden"],
)
def test_a_move_that_can_not_be(node: LocalNode, overrides: object) -> None:
    call = {"to": ELSEWHERE, "data": "0x12"}
    for method in ("eth_call", "eth_estimateGas"):
        assert code_of(node, method, call, "latest", overrides) == -32000
    simulated = {"blockStateCalls": [{"stateOverrides": overrides, "calls": [call]}]}
    assert code_of(node, "eth_simulateV1", simulated) == -32000


@pytest.mark.parametrize(
    "fields",
    [
        {"to": SECOND, "blobVersionedHashes": ["0x02" + "aa" * 31]},
        {"to": SECOND, "blobVersionedHashes": [BLOB, "0x00" + "aa" * 31]},
        {"data": "0x00", "blobVersionedHashes": [BLOB]},
        {"to": "0x", "data": "0x00", "blobVersionedHashes": [BLOB]},
    ],
    ids=str,
)
def test_no_call_is_a_blob_transaction_that_can_not_be(
    node: LocalNode, fields: dict[str, Any]
) -> None:
    call = {"from": FIRST, **fields}
    for method, params in (
        *(("eth_call", [call]), ("eth_estimateGas", [call]), ("eth_createAccessList", [call])),
        *(("debug_traceCall", [call, "latest"]), ("trace_call", [call, ["trace"]])),
        ("eth_sendTransaction", [call]),
    ):
        assert code_of(node, method, *params) == -32000, method


def test_an_estimate_is_made_at_the_price_that_is_paid(node: LocalNode) -> None:
    """A contract such as Safe's refunds its caller, and stores more with a price than without."""
    empty, filled = node.number("eth_estimateGas", {"to": SEES_PRICE, "gasPrice": "0x0"}), 0
    for call in ({}, {"from": STRANGER}, {"from": FIRST, "gasPrice": hex(10**10)}):
        filled = node.number("eth_estimateGas", {"to": SEES_PRICE, **call})
        assert filled - empty > 15_000  # SSTORE of a value in place of a zero.
    sent = node.send(to=SEES_PRICE, value="0x0", gas=hex(filled))
    assert node.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"
    paid = node.ask("eth_getTransactionReceipt", sent)["effectiveGasPrice"]
    assert int(node.ask("eth_getStorageAt", SEES_PRICE, "0x0"), 16) == int(paid, 16)


@pytest.mark.parametrize("to", [SECOND, SEES_PRICE])
@pytest.mark.parametrize("fields", [{}, {"gasPrice": hex(10**10)}, {"maxFeePerGas": hex(10**10)}])
def test_an_estimate_without_a_sender_needs_no_ether(
    node: LocalNode, to: str, fields: dict[str, str]
) -> None:
    call = {"to": to, "value": hex(ETHER), **fields}
    assert node.number("eth_estimateGas", call) >= 21_000
    assert code_of(node, "eth_estimateGas", call | {"from": STRANGER}) == -32000
    poor = {"0x" + "00" * 20: {"nonce": "0x1"}}
    assert node.number("eth_estimateGas", call, "latest", poor) >= 21_000


def test_no_part_of_the_pending_block_has_its_hash(node: LocalNode) -> None:
    node.mine_by_hand()
    node.ask("anvil_setCode", ELSEWHERE, "0x5f5fa000")  # LOG0
    node.send(to=ELSEWHERE, value="0x0", gas=hex(50_000))
    is_full = True
    block = node.ask("eth_getBlockByNumber", "pending", is_full)
    (receipt,) = node.ask("eth_getBlockReceipts", "pending")
    single = node.ask("eth_getTransactionByBlockNumberAndIndex", "pending", "0x0")
    parts = (*block["transactions"], receipt, *receipt["logs"], single)
    assert [block["hash"], *(part["blockHash"] for part in parts)] == [None] * 5
    node.ask("evm_mine")
    (mined,) = node.ask("eth_getBlockReceipts", "latest")
    assert mined["blockHash"] == node.block("latest")["hash"] == mined["logs"][0]["blockHash"]

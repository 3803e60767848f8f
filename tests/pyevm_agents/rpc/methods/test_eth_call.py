"""`eth_call` with block overrides: BLOCKHASH, BASEFEE and the others as in geth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.rpc.errors import RpcError, WouldBlockError
from tests.pyevm_agents.rpc.local_node import FIRST, SECOND, STRANGER, local_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pyevm_agents.rpc.local_node import LocalNode

ADDRESS = "0x" + "c0" * 20
NUMBER, TIMESTAMP, COINBASE, PREVRANDAO, GASLIMIT, BASEFEE, BLOBBASEFEE = (
    "43", "42", "41", "44", "45", "48", "4a",
)  # fmt: skip


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node() as made:
        made.ask("anvil_mine", "0x3")
        yield made


def run(node: LocalNode, code: str, block: dict[str, str], **fields: str) -> int:
    """Run code that leaves a word on the stack; return the word."""
    form: dict[str, Any] = {"from": FIRST, "to": ADDRESS, **fields}
    account = {ADDRESS: {"code": f"0x{code}5f5260205ff3"}}
    return int(node.ask("eth_call", form, "latest", account, block), 16)


@pytest.mark.parametrize(
    ("code", "override", "expected"),
    [
        (NUMBER, {"number": "0x1234"}, 0x1234),
        (NUMBER, {"number": "0xffffffffffffffff"}, 2**64 - 1),
        (TIMESTAMP, {"time": "0x99"}, 0x99),
        (COINBASE, {"feeRecipient": STRANGER}, int(STRANGER, 16)),
        (COINBASE, {"coinbase": STRANGER}, int(STRANGER, 16)),
        (PREVRANDAO, {"prevRandao": "0x" + "ab" * 32}, int("ab" * 32, 16)),
        (PREVRANDAO, {"random": "0x" + "ab" * 32}, int("ab" * 32, 16)),
        (GASLIMIT, {"gasLimit": "0x1000000"}, 0x1000000),
        (BLOBBASEFEE, {"blobBaseFee": "0x77"}, 0x77),
        (BASEFEE, {"baseFeePerGas": "0x77"}, 0x77),
        (BASEFEE, {}, 0),  # without a gas price
        (NUMBER, {}, 3),
        (NUMBER, {"number": None}, 3),
    ],
)
def test_what_a_block_is_said_to_be(
    node: LocalNode, code: str, override: dict[str, str], expected: int
) -> None:
    assert run(node, code, override) == expected


def test_a_call_that_offers_a_price_sees_the_base_fee(node: LocalNode) -> None:
    assert run(node, BASEFEE, {"baseFeePerGas": "0x77"}, gasPrice="0x100") == 0x77


@pytest.mark.parametrize("number", ["0x2", "0x3", "0x4", "0x50", "0x103", "0x104", "0xffffffff"])
def test_hashes_are_those_of_their_numbers(node: LocalNode, number: str) -> None:
    for asked in range(5):
        shown = run(node, f"60{asked:02x}40", {"number": number})
        is_shown = asked < 3 and 0 < int(number, 16) - asked <= 256
        block = node.block(hex(asked)) if is_shown else None
        assert shown == (int(block["hash"], 16) if block else 0), asked


def test_a_call_has_the_blobs_that_it_names(node: LocalNode) -> None:
    hashes = ["0x01" + "aa" * 31, "0x01" + "bb" * 31]
    account = {ADDRESS: {"code": "0x6001495f5260205ff3"}}  # BLOBHASH(1)
    form = {"from": FIRST, "to": ADDRESS, "blobVersionedHashes": hashes}
    assert node.ask("eth_call", form, "latest", account) == hashes[1]
    assert node.ask("eth_call", form | {"blobVersionedHashes": []}, "latest", account) == (
        "0x" + "00" * 32
    )


def test_an_estimate_goes_by_it_too(node: LocalNode) -> None:
    # NUMBER, 5, EQ, JUMPI to STOP; otherwise INVALID.
    code = {ADDRESS: {"code": "0x43600514600857fe5b00"}}
    form = {"from": FIRST, "to": ADDRESS}
    assert node.number("eth_estimateGas", form, "latest", code, {"number": "0x5"}) > 21_000
    with pytest.raises(RpcError):
        node.ask("eth_estimateGas", form, "latest", code, {"number": "0x6"})


def test_a_trace_goes_by_it_too(node: LocalNode) -> None:
    options = {
        "stateOverrides": {ADDRESS: {"code": f"0x{NUMBER}5f5260205ff3"}},
        "blockOverrides": {"number": "0x77"},
    }
    traced = node.ask("debug_traceCall", {"to": ADDRESS}, "latest", options)
    assert int(traced["returnValue"].removeprefix("0x"), 16) == 0x77


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"numbr": "0x1"}, "unknown override: numbr"),
        ({"number": "seven"}, "number"),
        ({"withdrawals": []}, "unknown override: withdrawals"),
        ([], "object"),
    ],
)
def test_what_is_none_is_refused(node: LocalNode, override: object, message: str) -> None:
    with pytest.raises(RpcError, match=message) as caught:
        node.ask("eth_call", {"to": ADDRESS}, "latest", {}, override)
    assert caught.value.code == -32602


def test_nothing_of_it_is_kept(node: LocalNode) -> None:
    before = node.block("latest")
    run(node, NUMBER, {"number": "0x99", "time": "0x1"})
    assert node.block("latest") == before


def test_a_call_at_a_price_sees_it_and_pays_nothing(node: LocalNode) -> None:
    assert run(node, "3a", {}, gasPrice=hex(10**9)) == 10**9  # GASPRICE
    options = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
    form = {"from": FIRST, "to": STRANGER, "value": "0x1", "gasPrice": hex(10**9)}
    told = node.ask("debug_traceCall", form, "latest", options)
    before, after = (int(told[when][FIRST]["balance"], 16) for when in ("pre", "post"))
    assert before - after == 1


def test_where_nobody_may_wait_a_short_call_is_answered(node: LocalNode) -> None:
    counter = node.deploy("CounterTool")
    number = {"to": counter, "data": "0x8381f58a"}
    assert int(node.ask_at_once("eth_call", number), 16) == 0
    with pytest.raises(RpcError, match="execution reverted"):
        node.ask_at_once("eth_call", {"to": counter, "data": "0xdeadbeef"})


def test_where_nobody_may_wait_no_other_call_is_answered(node: LocalNode) -> None:
    calls_itself = {ADDRESS: {"code": "0x5f5f5f5f5f305af1"}}
    with pytest.raises(WouldBlockError):
        node.ask_at_once("eth_call", {"to": ADDRESS}, "latest", calls_itself)
    node.ask("anvil_setCode", ADDRESS, calls_itself[ADDRESS]["code"])
    with pytest.raises(WouldBlockError):
        node.ask_at_once("eth_call", {"to": ADDRESS})
    assert node.ask("eth_call", {"to": ADDRESS, "gas": "0x186a0"}) == "0x"


SENT = {"from": FIRST, "to": SECOND, "value": "0x1"}


@pytest.mark.parametrize(
    "method", ["eth_call", "eth_sendTransaction", "eth_signTransaction", "eth_fillTransaction"]
)
def test_what_is_for_another_chain_is_refused(node: LocalNode, method: str) -> None:
    with pytest.raises(RpcError, match=r"^chainId does not match node's \(have=1, want=31337\)$"):
        node.ask(method, SENT | {"chainId": "0x1"})
    node.ask(method, SENT | {"chainId": hex(31_337)})


def test_an_empty_text_is_no_recipient(node: LocalNode) -> None:
    with pytest.raises(RpcError, match="to: ''; must be an address"):
        node.ask("eth_sendTransaction", SENT | {"to": ""})


def test_an_estimate_that_runs_out_of_gas_says_what_it_had(node: LocalNode) -> None:
    store = {"from": FIRST, "data": "0x60015f55"}  # Sets a slot.
    needed = node.number("eth_estimateGas", store)
    with pytest.raises(RpcError, match=rf"^gas required exceeds allowance \({needed - 1}\)$"):
        node.ask("eth_estimateGas", store | {"gas": hex(needed - 1)})


def test_what_py_evm_says_beside_numbers_is_told_alone(node: LocalNode) -> None:
    with pytest.raises(RpcError, match=r"^failed to decode signed transaction: Unknown trans"):
        node.ask("eth_sendRawTransaction", "0x12")


def test_a_slot_may_lack_its_prefix(node: LocalNode) -> None:
    for slot in ("0", "00", "ff" * 32):
        assert node.ask("eth_getStorageAt", SECOND, slot, "latest") == "0x" + "00" * 32
    with pytest.raises(RpcError, match="unable to decode storage key"):
        node.ask("eth_getStorageAt", SECOND, "0" * 65, "latest")

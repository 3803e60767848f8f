"""Signatures of the node's accounts; expected values are from anvil 1.7.1."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from eth_account import Account

from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from tests.pyevm_agents.rpc.local_node import FIRST, SECOND, STRANGER, LocalNode, local_node

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGE_SIGNATURE = (
    "0x87b638f4675a39ef49eb0379a7f5d248affd109cc6cb5b69457d7e8394d7d852"
    "74c8b407ca2b2b37ba4cc9c3bcfde488f7f59748175764b928324bd31c0f93851c"
)
TYPED = {
    "types": {
        "EIP712Domain": [{"name": "name", "type": "string"}],
        "M": [{"name": "x", "type": "uint256"}],
    },
    "primaryType": "M",
    "domain": {"name": "d"},
    "message": {"x": 1},
}
TYPED_SIGNATURE = (
    "0x28888923b8e2dc3ee933de95a4d26ee1e587f5b3befeebc4084ee30a3fd23441"
    "2c3e7c4c4f2b9eb707e8a0796a463aed5982f9b7aa83b35ebf2db0dc9ea801271c"
)
RAW = (
    "0x02f868827a69800184773594008252089470997970c51812dc3a010c7d01b50e0d17dc79c80180c001a0"
    "a47eb869be1e4a07b681e7063df0270355cb7c5a899b179a80cb601de381a8f3a0"
    "44967264754ab0d27600532eb0049fc2d29d8b11f8ec1ce53d2d30b481e53d69"
)


@pytest.fixture
def local() -> Iterator[LocalNode]:
    with local_node() as local:
        yield local


def test_a_message_is_signed(local: LocalNode) -> None:
    assert local.ask("eth_sign", FIRST, "0x1234") == MESSAGE_SIGNATURE
    assert local.ask("personal_sign", "0x1234", FIRST) == MESSAGE_SIGNATURE


@pytest.mark.parametrize("method", ["eth_signTypedData", "eth_signTypedData_v4"])
def test_typed_data_is_signed(local: LocalNode, method: str) -> None:
    assert local.ask(method, FIRST, TYPED) == TYPED_SIGNATURE
    assert local.ask(method, FIRST, json.dumps(TYPED)) == TYPED_SIGNATURE


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"types": {}}, "primaryType, domain, message"),
        ("no json", "must be typed data"),
        (TYPED | {"message": {"x": "much"}}, "typedData"),
        (TYPED | {"message": {}}, "typedData"),
        (TYPED | {"primaryType": "N"}, "typedData"),
    ],
)
def test_what_is_no_typed_data_is_refused(local: LocalNode, typed: object, message: str) -> None:
    with pytest.raises(RpcError, match=message) as refusal:
        local.ask("eth_signTypedData_v4", FIRST, typed)
    assert refusal.value.code == INVALID_PARAMS


def test_a_transaction_is_signed_as_anvil_does(local: LocalNode) -> None:
    form = {
        "from": FIRST,
        "to": SECOND,
        "value": "0x1",
        "gas": "0x5208",
        "maxFeePerGas": "0x77359400",
        "maxPriorityFeePerGas": "0x1",
        "nonce": "0x0",
    }
    signed = local.ask("eth_signTransaction", form)
    assert signed["raw"] == RAW
    assert signed["tx"]["from"] == FIRST
    assert local.ask("eth_sendRawTransaction", signed["raw"]) == signed["tx"]["hash"]


def test_nobody_elses_key_signs(local: LocalNode) -> None:
    local.ask("anvil_impersonateAccount", STRANGER)
    for params in (
        ("eth_sign", STRANGER, "0x12"),
        ("eth_signTypedData_v4", STRANGER, TYPED),
        ("eth_signTransaction", {"from": STRANGER, "gas": "0x5208", "to": FIRST}),
    ):
        with pytest.raises(RpcError, match="No Signer available"):
            local.ask(*params)


@pytest.mark.parametrize("fee", [{}, {"gasPrice": "0x77777777"}])
def test_a_transaction_is_filled_and_not_signed(local: LocalNode, fee: dict[str, str]) -> None:
    filled = local.ask("eth_fillTransaction", {"from": FIRST, "to": SECOND, "value": "0x1"} | fee)
    assert filled["tx"]["gas"] == "0x5208"
    assert filled["tx"]["nonce"] == "0x0"
    assert (filled["tx"]["r"], filled["tx"]["s"]) == ("0x0", "0x0")
    assert filled["raw"].endswith("808080")


def test_blobs_go_with_send_transaction(local: LocalNode) -> None:
    local.ask("anvil_setCode", STRANGER, "0x5f495f55")  # BLOBHASH(0) into slot 0
    blob = "0x01" + "aa" * 31
    sent = local.send(to=STRANGER, gas=None, blobVersionedHashes=[blob])
    transaction = local.ask("eth_getTransactionByHash", sent)
    assert (transaction["type"], transaction["maxFeePerBlobGas"]) == ("0x3", "0x2")
    receipt = local.ask("eth_getTransactionReceipt", sent)
    assert (receipt["blobGasUsed"], receipt["blobGasPrice"]) == (hex(131_072), "0x1")
    assert local.ask("eth_getStorageAt", STRANGER, "0x0") == blob


def test_set_code_goes_with_send_transaction(local: LocalNode) -> None:
    key = "0x" + local.node.keys.get_key(local.node.keys.addresses[1]).to_bytes().hex()  # type: ignore[union-attr]
    counter = local.deploy("Counter")
    told = {"chainId": 31_337, "address": counter, "nonce": 0}
    signed = Account.from_key(key).sign_authorization(told)
    entry = {
        "chainId": hex(31_337),
        "address": counter,
        "nonce": "0x0",
        "yParity": hex(signed.y_parity),
        "r": hex(signed.r),
        "s": hex(signed.s),
    }
    sent = local.send(gas=hex(100_000), authorizationList=[entry])
    assert local.ask("eth_getTransactionReceipt", sent)["type"] == "0x4"
    assert local.ask("eth_getCode", SECOND) == "0xef0100" + counter[2:]

"""Accounts that send transactions: fees, reverts of every node's form, and what is not mined."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_canonical_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.client.accounts import (
    NodeAccount,
    RevertedError,
    explain_error,
)
from pyevm_agents.client.json_rpc import RemoteClient, RemoteError
from pyevm_agents.client.signing import GWEI, FeeBounds
from pyevm_agents.errors import AgentsError, RemoteFault
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS
from tests.pyevm_agents.oracle.oracle_chain import OracleChain
from tests.pyevm_agents.rpc.served import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from tests.pyevm_agents.forking.fake_remote import FakeRemote

WITHDRAW = load_artifact("AgentOracle").encode_call("withdraw", b"\x12" * 20)
ERROR = compute_topic("NothingToWithdraw(address)")[:4] + bytes(12) + b"\x12" * 20


@pytest.fixture
def client(remote: FakeRemote) -> Iterator[RemoteClient]:
    with closing(RemoteClient(remote.url, retries=0)) as client:
        yield client


@pytest.fixture
def oracle(remote: FakeRemote) -> Address:
    return to_canonical_address(OracleChain(remote.served.ask, remote.url).oracle.address)


@pytest.mark.parametrize("has_key", [True, False])
def test_a_revert_is_decoded_before_it_is_sent(
    client: RemoteClient, oracle: Address, *, has_key: bool
) -> None:
    account = NodeAccount(client, KEYS[0] if has_key else ADDRESSES[0])
    with pytest.raises(RevertedError, match=r"would revert: NothingToWithdraw\(account=0x") as said:
        account.transact(oracle, WITHDRAW)
    assert said.value.name == "NothingToWithdraw"
    with pytest.raises(RevertedError, match=r"was mined and reverted: NothingToWithdraw\(account"):
        account.transact(oracle, WITHDRAW, gas=100_000)


def test_fees_are_those_of_the_chain(remote: FakeRemote, client: RemoteClient) -> None:
    account, receiver = NodeAccount(client, KEYS[0]), b"\x12" * 20
    modern = account.transact(receiver, b"", value_wei=5)
    refused: list[str] = []

    def forget_base_fee(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        refused.append(method)
        if method == "eth_getBlockByNumber":
            return {key: value for key, value in result.items() if key != "baseFeePerGas"}
        return result

    remote.faults.change_result = forget_base_fee
    legacy = account.transact(receiver, b"", value_wei=5)
    types = [
        remote.served.ask("eth_getTransactionByHash", "0x" + each.hash.hex())["type"]
        for each in (modern, legacy)
    ]
    assert types == ["0x2", "0x0"]
    assert "eth_gasPrice" in refused
    assert int(remote.served.ask("eth_getBalance", "0x" + receiver.hex(), "latest"), 16) == 10


def test_what_is_not_mined_is_named(
    remote: FakeRemote, client: RemoteClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.served.ask("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC's
    monkeypatch.setattr("pyevm_agents.client.accounts.RECEIPT_SECONDS", 0.0)
    with pytest.raises(RemoteFault, match=r"transaction 0x[0-9a-f]{64} was not mined within 0 s"):
        NodeAccount(client, KEYS[0]).transact(b"\x12" * 20, b"")


def test_an_account_that_the_node_does_not_have(client: RemoteClient) -> None:
    with pytest.raises(AgentsError, match="does not sign for it"):
        NodeAccount(client, to_canonical_address("0x" + "66" * 20)).transact(b"\x12" * 20, b"")


def test_a_transaction_is_signed_anew_if_another_program_was_quicker(
    remote: FakeRemote, client: RemoteClient
) -> None:
    account, other = NodeAccount(client, KEYS[0]), NodeAccount(client, KEYS[0])
    raced: list[str] = []

    def send_first(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        if method == "eth_getTransactionCount" and len(raced) < 2:
            raced.append(method)
            if len(raced) == 1:
                other.transact(b"\x13" * 20, b"", value_wei=1)
        return result

    remote.faults.change_result = send_first
    sent = account.transact(b"\x12" * 20, b"", value_wei=5)
    assert account.read_origin(sent.hash).nonce == other.read_nonces().mined - 1
    assert int(remote.served.ask("eth_getBalance", "0x" + "13" * 20, "latest"), 16) == 1
    assert int(remote.served.ask("eth_getBalance", "0x" + "12" * 20, "latest"), 16) == 5


def test_a_transaction_that_the_node_has_is_not_sent_twice(
    remote: FakeRemote, client: RemoteClient
) -> None:
    before = NodeAccount(client, KEYS[0]).read_nonces().mined

    def lose_the_answer(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        if method == "eth_sendRawTransaction":
            raise RefusedError({"code": -32000, "message": "nonce too low"})
        return result

    remote.faults.change_result = lose_the_answer
    account = NodeAccount(client, KEYS[0])
    sent = account.transact(b"\x12" * 20, b"", value_wei=5)
    assert account.read_origin(sent.hash).nonce == before
    assert account.read_nonces().mined == before + 1


@pytest.mark.parametrize("has_key", [True, False])
def test_a_nonce_that_was_used_is_told(client: RemoteClient, *, has_key: bool) -> None:
    account = NodeAccount(client, KEYS[0] if has_key else ADDRESSES[0])
    nonce = account.read_nonces().pending
    account.transact(b"\x12" * 20, b"", nonce=nonce)
    with pytest.raises(AgentsError, match=f"nonce {nonce} was used by another transaction"):
        account.deploy(b"\x00", nonce=nonce)


def test_a_node_s_account_pays_no_more_than_named(remote: FakeRemote, client: RemoteClient) -> None:
    bounds = FeeBounds.from_fee(2 * GWEI)
    sent = NodeAccount(client, ADDRESSES[0], bounds=bounds).transact(b"\x12" * 20, b"")
    form = remote.served.ask("eth_getTransactionByHash", "0x" + sent.hash.hex())
    assert int(form["maxFeePerGas"], 16) <= 2 * GWEI


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("ERROR", "NothingToWithdraw(account=0x"),
        ({"data": "ERROR", "message": "x"}, "NothingToWithdraw(account=0x"),  # Hardhat's
        ({"result": "ERROR"}, "NothingToWithdraw(account=0x"),
        (None, "said so"),
        ("0x", "said so"),
        ("not hexadecimal", "said so"),
        ("0xzz", "said so"),
        (7, "said so"),
    ],
)
def test_revert_data_of_every_node_is_read(data: object, reason: str) -> None:
    error = "0x" + ERROR.hex()
    if isinstance(data, dict):
        data = {key: value.replace("ERROR", error) for key, value in data.items()}
    elif data == "ERROR":
        data = error
    assert explain_error(RemoteError(3, "said so", data)).startswith(reason)

"""A fork of anvil: its accounts, slots, blocks, receipts and logs, and contracts used on both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode
from eth_utils import function_signature_to_4byte_selector, keccak

from pyevm_agents.abi.bundled import load_artifact
from tests.clients.anvil_node import running_anvil
from tests.pyevm_agents.forking.forked_node import forked_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.clients.running_node import RunningNode

    Ask = Callable[..., Any]

FIRST = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
HOLDERS = [f"0x{keccak(text=f'holder {i}')[:20].hex()}" for i in range(30)]
"""Accounts that get tokens, and ether, on anvil."""

MINTED = 10**24
"""Tokens of the first account at the start."""


@pytest.fixture
def anvil(tmp_path: Path) -> Iterator[RunningNode]:
    with running_anvil(tmp_path, "--chain-id", "1", "--hardfork", "prague") as running:
        yield running


def call_data(signature: str, *values: object) -> str:
    types = signature.partition("(")[2].removesuffix(")")
    data = encode(types.split(",") if types else [], values)
    return "0x" + (function_signature_to_4byte_selector(signature) + data).hex()


def send(ask: Ask, to: str | None, data: str = "0x", value: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Send a transaction of the first account; return its receipt, which is a success."""
    form = {"from": FIRST, "data": data, "value": hex(value), "gas": hex(3_000_000)}
    receipt = ask("eth_sendTransactionSync", form if to is None else form | {"to": to})
    assert receipt["status"] == "0x1", receipt
    return receipt


def balance_of(ask: Ask, token: str, holder: str) -> int:
    data = call_data("balanceOf(address)", holder)
    result = ask("eth_call", {"to": token, "data": data}, "latest")
    return int(decode(["uint256"], bytes.fromhex(result[2:]))[0])


def populate(anvil: RunningNode) -> str:
    """Deploy a token and give it to holders, each in a block; return its address."""
    code = load_artifact("DemoToken").encode_creation("Token", "TKN", 18, MINTED)
    token = str(send(anvil.ask, None, "0x" + code.hex())["contractAddress"])
    for index, holder in enumerate(HOLDERS):
        send(anvil.ask, token, call_data("transfer(address,uint256)", holder, index + 1))
        send(anvil.ask, holder, value=index)
    return token


def test_a_fork_of_anvil_has_its_state_and_its_blocks(anvil: RunningNode, tmp_path: Path) -> None:
    token = populate(anvil)
    head = int(anvil.ask("eth_blockNumber"), 16)
    expected: dict[str, Any] = {}
    with forked_node(anvil.url, tmp_path / "forks") as fork:
        assert fork.node.fork is not None
        assert fork.node.fork.is_verified
        for account in [*HOLDERS, token, "0x" + "99" * 20]:
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode"):
                expected[method + account] = anvil.ask(method, account, hex(head))
                assert fork.ask(method, account) == expected[method + account]
        for slot in range(8):
            value = anvil.ask("eth_getStorageAt", token, hex(slot), hex(head))
            assert fork.ask("eth_getStorageAt", token, hex(slot)) == value
        for index, holder in enumerate(HOLDERS):
            assert balance_of(fork.ask, token, holder) == index + 1
        for number in range(head + 1):
            block = anvil.ask("eth_getBlockByNumber", hex(number), True)  # noqa: FBT003 - JSON-RPC
            assert fork.ask("eth_getBlockByNumber", hex(number), True) == block  # noqa: FBT003 - JSON-RPC
            for transaction in block["transactions"]:
                receipt = anvil.ask("eth_getTransactionReceipt", transaction["hash"])
                assert fork.ask("eth_getTransactionReceipt", transaction["hash"]) == receipt
        everything = {"fromBlock": "0x0", "address": token}
        logs = anvil.ask("eth_getLogs", everything)
        assert len(logs) > len(HOLDERS)
        assert fork.ask("eth_getLogs", everything) == logs
        fork.ask("anvil_impersonateAccount", FIRST)
        send(fork.ask, token, call_data("transfer(address,uint256)", HOLDERS[0], 1_000))
        assert balance_of(fork.ask, token, HOLDERS[0]) == 1_001
        assert balance_of(anvil.ask, token, HOLDERS[0]) == 1
        assert len(fork.ask("eth_getLogs", everything)) == len(logs) + 1


@pytest.mark.slow
def test_the_same_transaction_has_the_same_receipt_on_both(
    anvil: RunningNode, tmp_path: Path
) -> None:
    token = populate(anvil)
    data = call_data("transfer(address,uint256)", HOLDERS[3], 77)
    with forked_node(anvil.url, tmp_path / "forks") as fork:
        fork.ask("anvil_impersonateAccount", FIRST)
        ours, theirs = (send(ask, token, data) for ask in (fork.ask, anvil.ask))
        for field in ("gasUsed", "blockNumber", "transactionIndex", "logsBloom", "status"):
            assert ours[field] == theirs[field], field
        fields = ("address", "topics", "data")
        assert [[log[field] for field in fields] for log in ours["logs"]] == [
            [log[field] for field in fields] for log in theirs["logs"]
        ]
        [block, other] = (
            ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC
            for ask in (fork.ask, anvil.ask)
        )
        assert block["baseFeePerGas"] == other["baseFeePerGas"]
        assert block["parentHash"] == other["parentHash"]


@pytest.mark.slow
def test_a_second_run_needs_no_anvil(tmp_path: Path) -> None:
    with running_anvil(tmp_path, "--chain-id", "1") as anvil:
        token = populate(anvil)
        head = int(anvil.ask("eth_blockNumber"), 16)
        with forked_node(anvil.url, tmp_path / "forks") as fork:
            fork.ask("anvil_impersonateAccount", FIRST)
            data = call_data("transfer(address,uint256)", HOLDERS[0], 5)
            first = send(fork.ask, token, data)
            block = fork.ask("eth_getBlockByNumber", "0x1")
    with forked_node(anvil.url, tmp_path / "forks", block_number=head) as fork:
        fork.ask("anvil_impersonateAccount", FIRST)
        assert send(fork.ask, token, data) == first
        assert fork.ask("eth_getBlockByNumber", "0x1") == block

"""Agents on our chain and on anvil with a Solidity executor at 0x19.

The same genesis and the same signed transactions lead to the same storage of every account.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.recordings import record_state
from pyevm_agents.recordings.bundled import load_bundled_fixture
from tests.clients.anvil_node import running_anvil
from tests.contracts.artifact_files import artifact_file
from tests.contracts.recorded_steps import exported, record_argument
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.agent_node import AgentNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth_typing import Address

    from pyevm_agents.chain import GenesisAccount
    from tests.clients.running_node import RunningNode

EXECUTOR = "0x0000000000000000000000000000000000000019"
SECOND = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
"""Who sets the executor up: the first account's nonces belong to the transactions of our chain."""

LIMIT = 29_000_000
OPTIONS = ("--hardfork", "prague", "--gas-limit", "60000000", "--base-fee", "7")


@pytest.fixture
def anvil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    with running_anvil(tmp_path_factory.mktemp("anvil"), *OPTIONS) as running:
        yield running


def put(node: RunningNode, name: str, *, method: str = "anvil_setCode") -> None:
    node.ask(method, EXECUTOR, artifact_file(name)["deployedBytecode"])


def tell(node: RunningNode, data: bytes) -> None:
    """Set the executor up, and mind that it took it."""
    form = {"from": SECOND, "to": EXECUTOR, "data": "0x" + data.hex(), "gas": hex(LIMIT)}
    receipt = receipt_of(node, node.ask("eth_sendTransaction", form))
    assert receipt["status"] == "0x1", receipt


def read(node: RunningNode, data: bytes) -> str:
    return str(node.ask("eth_call", {"to": EXECUTOR, "data": "0x" + data.hex()}, "latest"))


def repeat(node: RunningNode, raw: bytes) -> Any:  # noqa: ANN401 - JSON
    """Send a transaction of our chain; return its receipt."""
    return receipt_of(node, node.ask("eth_sendRawTransaction", "0x" + raw.hex()))


def receipt_of(node: RunningNode, sent: str) -> Any:  # noqa: ANN401 - JSON
    """Return a transaction's receipt; anvil answers before it has mined."""
    end = time.monotonic() + HANG_SECONDS
    while (receipt := node.ask("eth_getTransactionReceipt", sent)) is None:
        assert time.monotonic() < end, sent
        time.sleep(0.01)
    return receipt


def logs_of(receipt: Any) -> list[Any]:  # noqa: ANN401 - JSON
    return [(log["address"], log["topics"], log["data"]) for log in receipt["logs"]]


def answer_in(receipt: Any) -> str:  # noqa: ANN401 - JSON
    """Return the answer that the agent logged at the end of a run."""
    *_, answer = decode(
        ["address", "string[]", "string"], bytes.fromhex(receipt["logs"][-1]["data"][2:])
    )
    return str(answer)


def test_a_script_does_on_anvil_what_it_does_here(anvil: RunningNode) -> None:
    ours = AgentNode()
    sent = ours.ask("eth_sendTransaction", ours.instruction())
    here = ours.ask("eth_getTransactionReceipt", sent)
    put(anvil, "ScriptedAgentExecutor")
    usdc, contract = ours.wallet.tokens["USDC"], load_artifact("ScriptedAgentExecutor")
    arguments = encode(["address", "uint256"], [usdc, 10])
    tell(anvil, contract.encode_call("use", "DeployTool", arguments, "Deposit."))
    tell(anvil, contract.encode_call("answer", "Done.", ""))

    chain = ours.node.chain
    blocks = [chain.block(number) for number in range(1, chain.head.block_number + 1)]
    receipts = [repeat(anvil, tx.encode()) for block in blocks for tx in block.transactions]

    assert {one["status"] for one in receipts} == {"0x1"}
    there = receipts[-1]
    assert there["transactionHash"] == sent
    assert logs_of(there) == logs_of(here)
    assert answer_in(there) == "Done."
    require_state(anvil, record_state(ours.node.chain))
    assert read(anvil, contract.encode_call("assertDone")) == "0x"
    ours.node.close()


def put_account(node: RunningNode, address: str, account: GenesisAccount) -> None:
    node.ask("anvil_setBalance", address, hex(account.balance_wei))
    node.ask("anvil_setNonce", address, hex(account.nonce))
    node.ask("anvil_setCode", address, "0x" + account.code.hex())
    for slot, value in account.storage.items():
        words = [f"0x{word:064x}" for word in (slot, value)]
        node.ask("anvil_setStorageAt", address, *words)


def require_state(node: RunningNode, accounts: Mapping[Address, GenesisAccount]) -> None:
    """Require every contract's code and storage to be as on our chain; only 0x19 is another."""
    contracts = {one: account for one, account in accounts.items() if account.code}
    assert len(contracts) > 5
    for address, account in contracts.items():
        shown = "0x" + address.hex()
        if shown == EXECUTOR:
            continue
        assert node.ask("eth_getCode", shown, "latest") == "0x" + account.code.hex()
        assert node.ask("eth_getTransactionCount", shown, "latest") == hex(account.nonce)
        for slot, value in account.storage.items():
            assert int(node.ask("eth_getStorageAt", shown, hex(slot), "latest"), 16) == value


def test_a_recorded_run_does_on_anvil_what_the_real_model_did(anvil: RunningNode) -> None:
    replay = exported("wallet")
    fixture = load_bundled_fixture("wallet")
    for address, account in fixture.pre.items():
        put_account(anvil, "0x" + address.hex(), account)
    put(anvil, "ReplayAgentExecutor")
    contract = load_artifact("ReplayAgentExecutor")
    for step in replay["steps"]:
        tell(anvil, contract.encode_call("record", record_argument(step)))

    receipts = [
        repeat(anvil, transaction.encode())
        for block in fixture.blocks
        for transaction in block.block.transactions
    ]

    assert {one["status"] for one in receipts} == {"0x1"}
    assert [answer_in(one) for one in receipts] == [
        step["answer"] for step in replay["steps"] if step["isFinalAnswer"]
    ]
    require_state(anvil, fixture.post)
    gas = sum(step["promptGas"] + step["outputGas"] for step in replay["steps"])
    assert (
        int(read(anvil, contract.encode_call("inferenceGas")), 16) == replay["inferenceGas"] == gas
    )
    assert read(anvil, contract.encode_call("assertDone")) == "0x"


def test_on_our_own_node_the_precompile_answers_before_any_code() -> None:
    ours = AgentNode()
    code = artifact_file("ScriptedAgentExecutor")["deployedBytecode"]
    assert ours.ask("hardhat_setCode", EXECUTOR, code) in {None, True}
    assert ours.ask("eth_getCode", EXECUTOR, "latest") == code
    sent = ours.ask("eth_sendTransaction", ours.instruction())
    assert ours.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert len(ours.ask("agent_traceTransaction", sent)["steps"]) == 2
    ours.node.close()

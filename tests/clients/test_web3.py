"""web3.py over HTTP and WebSocket."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode
from eth_utils import (
    abi_to_signature,
    function_signature_to_4byte_selector,
    is_address,
    to_checksum_address,
)
from eth_utils.abi import get_abi_input_types

from pyevm_agents.scenarios.wallet import BASE_PROMPT
from tests.clients.conftest import ARTIFACTS
from tests.clients.stories import (
    FIRST,
    SCRIPT,
    SECOND,
    require_agent_run,
    require_local_chain,
    require_reverts,
    require_subscriptions,
)
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from web3.contract import Contract

    from tests.clients.running_node import RunningNode

web3 = pytest.importorskip("web3")
exceptions = pytest.importorskip("web3.exceptions")

EXECUTOR = "0x0000000000000000000000000000000000000019"
STRANGER = "0x00000000000000000000000000000000000faCe1"
ECHO = "0x66365f5f37365ffd5f5260076019f3"
"""Creates code that reverts with its own calldata: `Error(string)` is refused with that error."""

INSTRUCTION = "Deposit 10 USDC into the pool"


def form(name: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads((ARTIFACTS / f"{name}.json").read_text())


class Client:
    """web3.py with the node's first account, and the demo's wallet on request."""

    def __init__(self, url: str) -> None:
        self.w3 = web3.Web3(web3.HTTPProvider(url))
        self.w3.eth.default_account = self.w3.eth.accounts[0]

    def request(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        return self.w3.manager.request_blocking(method, params)

    def deploy(self, name: str, *arguments: object) -> Contract:
        built = form(name)
        contract = self.w3.eth.contract(abi=built["abi"], bytecode=built["bytecode"])
        receipt = self.wait(contract.constructor(*arguments).transact())
        deployed: Contract = self.w3.eth.contract(receipt["contractAddress"], abi=built["abi"])
        return deployed

    def wait(self, sent: object) -> Any:  # noqa: ANN401 - a receipt
        return self.w3.eth.wait_for_transaction_receipt(sent)

    def deploy_wallet(self, model: str = "llama_model_3") -> dict[str, Contract]:
        usdc = self.deploy("DemoToken", "USD Coin", "USDC", 6, 10**12)
        dai = self.deploy("DemoToken", "Dai Stablecoin", "DAI", 18, 10**24)
        pool = self.deploy("LiquidityPool")
        info = self.deploy("TokenInfoTool")
        names = f"USDC = {usdc.address}\nDAI = {dai.address}"
        prompt = BASE_PROMPT.format(addresses=names, examples="")
        agent = self.deploy("WalletAgent", EXECUTOR, model, pool.address, prompt, info.address)
        account = self.w3.eth.contract(
            agent.functions.account().call(), abi=form("WalletAccount")["abi"]
        )
        self.wait(usdc.functions.transfer(account.address, 10**9).transact())
        return {"usdc": usdc, "pool": pool, "agent": agent, "account": account}


@pytest.fixture
def client(node: RunningNode) -> Client:
    return Client(node.url)


def test_an_agent_is_deployed_run_and_traced(client: Client) -> None:
    wallet = client.deploy_wallet()
    agent, pool, usdc = wallet["agent"], wallet["pool"], wallet["usdc"]
    client.request("agent_setScript", SCRIPT)
    instruct = agent.functions.instruct(INSTRUCTION)
    estimated, foretold = instruct.estimate_gas(), instruct.call()
    receipt = client.wait(instruct.transact({"gas": estimated}))
    (run,) = agent.events.AgentRunResult().get_logs(from_block=receipt["blockNumber"])
    trace = client.request("agent_traceTransaction", receipt["transactionHash"])
    topics = {
        event.topic: event.event_name
        for contract in (agent, pool, usdc)
        for event in contract.all_events()
    }
    require_agent_run(
        {
            "estimated": estimated,
            "gasUsed": receipt["gasUsed"],
            "foretold": foretold,
            "answer": run["args"]["answer"],
            "executionSteps": run["args"]["executionSteps"],
            "events": [topics[log["topics"][0].to_0x_hex()] for log in receipt["logs"]],
            "trace": [(step["thought"], step["action"], step["answer"]) for step in trace["steps"]],
            "traceGas": trace["gas"]["used"],
            "inPool": pool.functions.balanceOf(wallet["account"].address, usdc.address).call(),
        },
        "scripted",
    )


def typed_error(contract: Contract, data: bytes) -> str:
    """Return revert data in words: web3.py has the data alone."""
    for element in contract.abi:
        if element["type"] != "error":
            continue
        signature = abi_to_signature(element)
        if function_signature_to_4byte_selector(signature) == data[:4]:
            values = decode(get_abi_input_types(element), data[4:])
            shown = (to_checksum_address(one) if is_address(one) else str(one) for one in values)
            return f"{element['name']}({', '.join(shown)})"
    raise AssertionError(data.hex())


def test_every_kind_of_revert_has_its_reason(client: Client) -> None:
    wallet, lost = client.deploy_wallet(), client.deploy_wallet("gpt-9")
    usdc, pool, agent = wallet["usdc"], wallet["pool"], wallet["agent"]
    created = client.wait(client.w3.eth.send_transaction({"data": ECHO}))
    abi = [{"type": "function", "name": "Error", "stateMutability": "nonpayable", "outputs": [],
            "inputs": [{"name": "reason", "type": "string"}]}]  # fmt: skip
    echo = client.w3.eth.contract(created["contractAddress"], abi=abi)
    errors = [*lost["agent"].abi, *form("IAgentExecutorErrors")["abi"]]
    lost_agent = client.w3.eth.contract(lost["agent"].address, abi=errors)

    def refused(call: Callable[[], object]) -> str:
        with pytest.raises(exceptions.ContractLogicError) as told:
            call()
        return str(told.value.message).removeprefix("execution reverted: ")

    def decoded(call: Callable[[], object], contract: Contract) -> str:
        with pytest.raises(exceptions.ContractCustomError) as told:
            call()
        return typed_error(contract, bytes.fromhex(told.value.data.removeprefix("0x")))

    client.request("agent_setScript", SCRIPT)
    client.wait(usdc.functions.approve(pool.address, 1).transact())
    client.wait(pool.functions.deploy(usdc.address, 1).transact())
    broke = usdc.functions.transfer(pool.address, 5)
    mined = client.wait(usdc.functions.transfer(pool.address, 2**255).transact({"gas": 100_000}))
    with pytest.raises(exceptions.ContractPanicError) as panic:
        pool.functions.deploy(usdc.address, 2**256 - 1).call()
    assert "overflow" in str(panic.value)
    as_second: Any = {"from": SECOND}
    require_reverts(
        {
            "text": refused(lambda: echo.functions.Error("not today").call()),
            "panic": "arithmetic overflow",
            "custom": decoded(lambda: broke.call(as_second), usdc),
            "estimate": decoded(lambda: broke.estimate_gas(as_second), usdc),
            "executor": decoded(
                lambda: lost_agent.functions.instruct("Deposit").call(), lost_agent
            ),
            "stranger": decoded(lambda: agent.functions.instruct("Deposit").call(as_second), agent),
            "minedStatus": mined["status"],
        }
    )


def test_a_test_can_do_with_the_chain_what_it_likes(client: Client) -> None:
    w3, request = client.w3, client.request
    token = client.deploy("DemoToken", "USD Coin", "USDC", 6, 10**12)
    held = token.functions.balanceOf(SECOND)
    kept = request("evm_snapshot")
    client.wait(token.functions.transfer(SECOND, 5).transact())
    changed = held.call()
    request("evm_revert", kept)
    undone = held.call()

    request("anvil_setBalance", STRANGER, hex(10**18))
    request("anvil_impersonateAccount", STRANGER)
    as_stranger = {"from": STRANGER, "to": SECOND, "value": 7}
    gift = client.wait(w3.eth.send_transaction(as_stranger))
    request("anvil_stopImpersonatingAccount", STRANGER)
    with pytest.raises(exceptions.Web3RPCError) as afterwards:
        w3.eth.send_transaction(as_stranger)

    before = w3.eth.get_block("latest")["timestamp"]
    request("evm_increaseTime", 3_600)
    request("evm_mine")
    later = w3.eth.get_block("latest")["timestamp"]
    request("evm_setNextBlockTimestamp", later + 1_000)
    request("evm_mine")
    exact = w3.eth.get_block("latest")["timestamp"] - later

    fees = {"maxFeePerGas": 10**10, "maxPriorityFeePerGas": 2 * 10**9}
    paid = client.wait(w3.eth.send_transaction({"to": SECOND, "value": 1, **fees}))
    base_fee = w3.eth.get_block(paid["blockNumber"])["baseFeePerGas"]
    offered = w3.eth.fee_history(1, "latest", [50.0])
    with w3.batch_requests() as batch:
        batch.add(w3.eth.get_balance(FIRST))
        batch.add(w3.eth.get_block("latest"))
        batch.add(held)
        answers = batch.execute()
    assert [type(answer).__name__ for answer in answers] == ["int", "AttributeDict", "int"]
    require_local_chain(
        {
            "changed": changed,
            "undone": undone,
            "gift": (gift["status"], gift["from"] == STRANGER),
            "afterwards": str(afterwards.value),
            "increased": later - before,
            "exact": exact,
            "type": paid["type"],
            "tip": paid["effectiveGasPrice"] - base_fee,
            "offered": offered["baseFeePerGas"][0] > 0,
            "signer": signs_typed_data(client, token.address),
        }
    )


def signs_typed_data(client: Client, token: str) -> bool:
    """Return whether typed data that the node signed is the first account's."""
    from eth_account import Account  # noqa: PLC0415 - slow to import
    from eth_account.messages import encode_typed_data  # noqa: PLC0415 - as above

    domain = {"name": "Mail", "version": "1", "chainId": 31337, "verifyingContract": token}
    kinds = {
        "name": "string",
        "version": "string",
        "chainId": "uint256",
        "verifyingContract": "address",
    }
    typed = {
        "types": {
            "EIP712Domain": [{"name": name, "type": kind} for name, kind in kinds.items()],
            "Mail": [{"name": "to", "type": "address"}, {"name": "contents", "type": "string"}],
        },
        "domain": domain,
        "primaryType": "Mail",
        "message": {"to": SECOND, "contents": "Hello"},
    }
    signature = client.w3.eth.sign_typed_data(FIRST, json.dumps(typed))
    recovered = Account.recover_message(encode_typed_data(full_message=typed), signature=signature)
    return bool(recovered == FIRST)


def test_heads_and_logs_come_over_a_websocket(client: Client, node: RunningNode) -> None:
    wallet = client.deploy_wallet()
    client.request("agent_setScript", SCRIPT)
    start = client.w3.eth.block_number
    heads, runs = asyncio.run(heard(node.url.replace("http", "ws"), wallet))
    assert [head - start for head in heads] == [1, 2]
    require_subscriptions({"runs": runs})


async def heard(url: str, wallet: dict[str, Contract]) -> tuple[list[int], list[dict[str, Any]]]:
    """Return the heads and the runs that a WebSocket hears of while two transactions are sent."""
    agent, usdc = wallet["agent"], wallet["usdc"]
    heads: list[int] = []
    runs: list[dict[str, Any]] = []
    async with web3.AsyncWeb3(web3.WebSocketProvider(url)) as w3, asyncio.timeout(HANG_SECONDS):
        event = agent.events.AgentRunResult()
        topic = event.topic
        of_heads = await w3.eth.subscribe("newHeads")
        await w3.eth.subscribe("logs", {"address": agent.address, "topics": [topic]})
        await w3.eth.wait_for_transaction_receipt(
            await w3.eth.send_transaction(usdc.functions.transfer(SECOND, 1).build_transaction())
        )
        told = agent.functions.instruct(INSTRUCTION).build_transaction({"gas": 8_000_000})
        await w3.eth.send_transaction(told)
        async for message in w3.socket.process_subscriptions():
            if message["subscription"] == of_heads:
                heads.append(message["result"]["number"])
            else:
                runs.append(dict(event.process_log(message["result"])["args"]))
            if len(heads) == 2 and runs:
                return heads, runs
    raise AssertionError("the subscriptions ended")

"""cast: every command of a user's day, each against the node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.scenarios.wallet import BASE_PROMPT
from tests.clients.foundry_project import FIRST_KEY, FailedError, Foundry
from tests.clients.stories import (
    FIRST,
    MICRO_USDC,
    SCRIPT,
    SECOND,
    require_agent_run,
    require_local_chain,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.running_node import RunningNode

EXECUTOR = "0x0000000000000000000000000000000000000019"
STRANGER = "0x00000000000000000000000000000000000faCe1"
ECHO = "0x66365f5f37365ffd5f5260076019f3"
"""Creates code that reverts with its own calldata: `Error(string)` is refused with that error."""

INSTRUCT = "instruct(string)(string)"


@pytest.fixture
def cast(node: RunningNode, tmp_path: Path) -> Foundry:
    return Foundry("cast", node.url, tmp_path)


def create(cast: Foundry, name: str, signature: str = "", *arguments: object) -> str:
    """Deploy a contract of ours as `cast send --create` does; return its address."""
    code = "0x" + load_artifact(name).bytecode.hex()
    told = [signature, *arguments] if signature else []
    sent = cast.json("send", "--json", "--private-key", FIRST_KEY, "--create", code, *told)
    assert sent["status"] == "0x1"
    return str(sent["contractAddress"])


def send(cast: Foundry, to: str, signature: str, *arguments: object) -> Any:  # noqa: ANN401 - JSON
    """Send a transaction as the first account; return its receipt."""
    return cast.json("send", "--json", "--private-key", FIRST_KEY, to, signature, *arguments)


class Wallet:
    """The demo's wallet, deployed with cast."""

    def __init__(self, cast: Foundry, model: str = "llama_model_3") -> None:
        token = "constructor(string,string,uint8,uint256)"  # noqa: S105 - a token of another kind
        self.usdc = create(cast, "DemoToken", token, "USD Coin", "USDC", 6, 10**12)
        self.dai = create(cast, "DemoToken", token, "Dai Stablecoin", "DAI", 18, 10**24)
        self.pool = create(cast, "LiquidityPool")
        info = create(cast, "TokenInfoTool")
        names = "\n".join(
            f"{symbol} = {cast('to-check-sum-address', address)}"
            for symbol, address in (("USDC", self.usdc), ("DAI", self.dai))
        )
        prompt = BASE_PROMPT.format(addresses=names, examples="")
        agent = "constructor(address,string,address,string,address)"
        self.agent = create(cast, "WalletAgent", agent, EXECUTOR, model, self.pool, prompt, info)
        self.account = cast("call", self.agent, "account()(address)")
        send(cast, self.usdc, "transfer(address,uint256)", self.account, 1_000 * MICRO_USDC)


@pytest.mark.slow
def test_an_agent_is_deployed_run_and_traced(cast: Foundry) -> None:
    wallet = Wallet(cast)
    cast("rpc", "agent_setScript", json.dumps(SCRIPT))
    instruction = "Deposit 10 USDC into the pool"
    estimated = cast("estimate", "--from", FIRST, wallet.agent, INSTRUCT, instruction)
    foretold = json.loads(cast("call", "--from", FIRST, wallet.agent, INSTRUCT, instruction))
    receipt = send(cast, wallet.agent, INSTRUCT, instruction, "--gas-limit", estimated)
    topics = {
        cast("keccak", f"{name}({types})"): name
        for name, types in (
            ("Approval", "address,address,uint256"),
            ("Deployed", "address,address,uint256"),
            ("Transfer", "address,address,uint256"),
            ("AgentRunResult", "int256,address,string[],string"),
        )
    }
    run = cast.json(
        "logs", "--json", "--from-block", receipt["blockNumber"], "--address", wallet.agent
    )
    requester, steps, answer = json.loads(
        cast("decode-abi", "--json", "f()(address,string[],string)", run[0]["data"])
    )
    assert requester == FIRST
    trace = cast.json("rpc", "agent_traceTransaction", receipt["transactionHash"])
    balance = "balanceOf(address,address)(uint256)"
    require_agent_run(
        {
            "estimated": estimated,
            "gasUsed": int(receipt["gasUsed"], 16),
            "foretold": foretold,
            "answer": answer,
            "executionSteps": steps,
            "events": [topics[log["topics"][0]] for log in receipt["logs"]],
            "trace": [(step["thought"], step["action"], step["answer"]) for step in trace["steps"]],
            "traceGas": trace["gas"]["used"],
            "inPool": cast.json(
                "call", "--json", wallet.pool, balance, wallet.account, wallet.usdc
            )[0],
        },
        "scripted",
    )


@pytest.mark.slow
def test_every_kind_of_revert_has_its_reason(cast: Foundry) -> None:
    wallet, lost = Wallet(cast), Wallet(cast, "gpt-9")
    echo = cast.json("send", "--json", "--private-key", FIRST_KEY, "--create", ECHO)

    def refused(*arguments: object) -> str:
        with pytest.raises(FailedError) as told:
            cast(*arguments)
        return str(told.value)

    transfer = "transfer(address,uint256)"
    text = refused("call", echo["contractAddress"], "Error(string)", "not today")
    assert "execution reverted: not today" in text
    send(cast, wallet.usdc, "approve(address,uint256)", wallet.pool, 1)
    send(cast, wallet.pool, "deploy(address,uint256)", wallet.usdc, 1)
    deploy = ("call", "--from", FIRST, wallet.pool, "deploy(address,uint256)", wallet.usdc)
    assert "panic: arithmetic underflow or overflow (0x11)" in refused(*deploy, 2**256 - 1)
    for command in ("call", "estimate"):
        broke = refused(command, "--from", SECOND, wallet.usdc, transfer, wallet.pool, 5)
        assert f'ERC20InsufficientBalance("{SECOND}", 0, 5)' in broke
    unlocked = ("send", "--unlocked", "--from", SECOND, wallet.usdc, transfer, wallet.pool, 5)
    assert "ERC20InsufficientBalance" in refused(*unlocked)
    asked = ("call", "--from", FIRST, lost.agent, INSTRUCT, "Deposit 10 USDC")
    assert 'UnknownModel("gpt-9")' in refused(*asked)
    asked = ("call", "--from", SECOND, wallet.agent, INSTRUCT, "Deposit 10 USDC")
    assert f'CallerNotAllowed("{SECOND}")' in refused(*asked)
    assert 'UnknownSelector("0x12345678")' in refused("call", EXECUTOR, "0x12345678")
    mined = cast.json(*unlocked, "--gas-limit", 100_000, "--json")
    assert mined["status"] == "0x0"


@pytest.mark.slow
def test_a_test_can_do_with_the_chain_what_it_likes(cast: Foundry) -> None:
    token = create(
        cast, "DemoToken", "constructor(string,string,uint8,uint256)", "USD Coin", "USDC", 6, 10**12
    )
    kept = json.loads(cast("rpc", "evm_snapshot"))
    send(cast, token, "transfer(address,uint256)", SECOND, 5)
    changed = cast("call", token, "balanceOf(address)(uint256)", SECOND)
    cast("rpc", "evm_revert", kept)
    undone = cast("call", token, "balanceOf(address)(uint256)", SECOND)

    cast("rpc", "anvil_setBalance", STRANGER, hex(10**18))
    cast("rpc", "anvil_impersonateAccount", STRANGER)
    as_stranger = ("send", "--json", "--unlocked", "--from", STRANGER, SECOND, "--value", "7")
    gift = cast.json(*as_stranger)
    cast("rpc", "anvil_stopImpersonatingAccount", STRANGER)
    with pytest.raises(FailedError) as afterwards:
        cast(*as_stranger)

    before = int(cast("block", "-f", "timestamp"))
    cast("rpc", "evm_increaseTime", 3_600)
    cast("rpc", "evm_mine")
    later = int(cast("block", "-f", "timestamp"))
    cast("rpc", "evm_setNextBlockTimestamp", later + 1_000)
    cast("rpc", "evm_mine")
    exact = int(cast("block", "-f", "timestamp"))

    tip = 2 * 10**9
    fees = ("--gas-price", 10**10, "--priority-gas-price", tip)
    paid = cast.json("send", "--json", "--private-key", FIRST_KEY, SECOND, "--value", "1", *fees)
    base_fee = int(cast("block", paid["blockNumber"], "-f", "baseFeePerGas"))
    signed = signature_of(cast, token)
    require_local_chain(
        {
            "changed": changed,
            "undone": undone,
            "gift": (int(gift["status"], 16), gift["from"] == STRANGER.lower()),
            "afterwards": str(afterwards.value),
            "increased": later - before,
            "exact": exact - later,
            "type": int(paid["type"], 16),
            "tip": int(paid["effectiveGasPrice"], 16) - base_fee,
            "offered": int(cast("gas-price")) > int(cast("base-fee")),
            "signer": signed,
        }
    )


def signature_of(cast: Foundry, token: str) -> bool:
    """Return whether the node signs typed data as cast itself does."""
    typed = json.dumps(
        {
            "domain": {
                "name": "Mail",
                "version": "1",
                "chainId": 31337,
                "verifyingContract": token,
            },
            "types": {
                "EIP712Domain": [
                    {"name": "name", "type": "string"},
                    {"name": "version", "type": "string"},
                    {"name": "chainId", "type": "uint256"},
                    {"name": "verifyingContract", "type": "address"},
                ],
                "Mail": [{"name": "to", "type": "address"}, {"name": "contents", "type": "string"}],
            },
            "primaryType": "Mail",
            "message": {"to": SECOND, "contents": "Hello"},
        }
    )
    own = cast("wallet", "sign", "--private-key", FIRST_KEY, "--data", typed)
    return bool(own == cast.json("rpc", "eth_signTypedData_v4", FIRST, typed))


def test_what_cast_reads(cast: Foundry) -> None:
    token = create(
        cast, "DemoToken", "constructor(string,string,uint8,uint256)", "USD Coin", "USDC", 6, 10**12
    )
    assert cast("chain-id") == "31337"
    assert cast("block-number") == cast("find-block", cast("block", "-f", "timestamp")) == "1"
    assert cast("nonce", FIRST) == "1"
    assert cast("balance", SECOND) == str(10_000 * 10**18)
    assert cast("code", token).startswith("0x6080")
    assert cast("storage", token, 1).startswith("0x55534443")  # "USDC"
    assert int(cast.json("proof", token, 0)["storageProof"][0]["key"], 16) == 0
    listed = cast("access-list", token, "transfer(address,uint256)", SECOND, 5, "--from", FIRST)
    assert "gas used: " in listed
    assert cast("erc20-token", "balance", token, FIRST) == "1000000000000 [1e12]"
    assert cast.json("tx-pool", "status") == {"pending": "0x0", "queued": "0x0"}
    assert "symbol()" in cast("call", "--trace", token, "symbol()(string)")
    raw = cast("mktx", "--private-key", FIRST_KEY, SECOND, "--value", "1")
    published = cast.json("publish", raw)
    assert cast("tx", published["transactionHash"], "value") == "1"
    assert cast("receipt", published["transactionHash"], "status").startswith("true")
    # cast executes it anew in its own EVM, from the node's state.
    assert "executed" in cast("run", published["transactionHash"])


def test_logs_come_over_a_websocket(cast: Foundry, node: RunningNode) -> None:
    token = create(
        cast, "DemoToken", "constructor(string,string,uint8,uint256)", "USD Coin", "USDC", 6, 10**12
    )
    url = node.url.replace("http", "ws")
    with cast.heard(node, "logs", "--subscribe", "--address", token, "--rpc-url", url) as lines:
        sent = send(cast, token, "transfer(address,uint256)", SECOND, 5)
        told = next(line for line in lines if "transactionHash" in line)
    assert told.split() == ["transactionHash:", sent["transactionHash"]]

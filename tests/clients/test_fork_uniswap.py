"""A fork of anvil with Uniswap V2 and 10,000 accounts: an agent swaps, and every read is equal."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.recordings import record_chain, write_fixture
from pyevm_agents.testing import AgentChain, answer, use
from pyevm_agents.testing.genesis_template import GenesisTemplate
from tests.clients.counting_proxy import counting_proxy
from tests.clients.running_node import request_batch, running_node
from tests.clients.swap_agent import deploy_swap_agent
from tests.clients.uniswap_chain import (
    ACCOUNTS,
    BALANCES_SLOT,
    FIRST,
    LATER,
    PAIR_SLOTS,
    POOL_USDC,
    POOL_WETH,
    USDC,
    call_data,
    compute_output,
    mapping_slot,
    read_words,
    running_uniswap,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.clients.uniswap_chain import Ask, Requests, UniswapChain

pytestmark = pytest.mark.slow

INSTRUCTION = "Approve 10 USDC, then swap 10 USDC for WETH"
GIVEN = 10 * USDC
SCRIPT = (
    use("ApproveTool", asset="USDC", amount=10),
    use("SwapTool", give="USDC", get="WETH", amount=10),
    answer("Swapped."),
)
SWAP = "swapExactTokensForETH(uint256,uint256,address[],address,uint256)"


@pytest.fixture(scope="module")
def uniswap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UniswapChain]:
    with running_uniswap(tmp_path_factory.mktemp("anvil")) as chain:
        yield chain


@pytest.fixture
def on_anvil(uniswap: UniswapChain) -> Iterator[Ask]:
    """Ask anvil; whatever changes there is undone."""
    snapshot = uniswap.node.ask("evm_snapshot")
    yield uniswap.node.ask
    assert uniswap.node.ask("evm_revert", snapshot)


@contextmanager
def forked_chain(folder: Path, url: str, uniswap: UniswapChain) -> Iterator[AgentChain]:
    """Continue the chain inside a context, with a cache in a folder."""
    genesis = GenesisTemplate(kept_facts=folder)
    try:
        with AgentChain(genesis, fork_url=url, fork_block_number=uniswap.head) as chain:
            yield chain
    finally:
        genesis.close()


def run_swap_agent(chain: AgentChain, uniswap: UniswapChain) -> list[Any]:
    """Deploy the agent, run it, and return the blocks since the fork block."""
    agent = deploy_swap_agent(chain, uniswap)
    chain.model.script(*SCRIPT)
    assert chain.ask(agent, INSTRUCTION)["status"] == 1
    numbers = range(uniswap.head + 1, chain.w3.eth.block_number + 1)
    return [chain.request("eth_getBlockByNumber", hex(each), False) for each in numbers]  # noqa: FBT003 - JSON-RPC


def require_swapped(uniswap: UniswapChain, ask: Ask) -> None:
    """Require that the account gave 10 USDC and got what Uniswap's formula says."""
    got = compute_output(GIVEN, POOL_USDC, POOL_WETH)
    reserves = [POOL_USDC + GIVEN, POOL_WETH - got]
    assert sorted(uniswap.read_holdings(ask)["reserves"]) == sorted(reserves)
    assert read_words(ask, uniswap.weth, "balanceOf(address)", uniswap.account) == [got]
    balance = read_words(ask, uniswap.usdc, "balanceOf(address)", uniswap.account)
    assert balance == [1_000 * USDC - GIVEN]


def test_an_agent_swaps_on_the_fork_as_its_account_does_on_anvil(
    uniswap: UniswapChain, on_anvil: Ask, tmp_path: Path
) -> None:
    send(on_anvil, uniswap.account, call_data("addTool(address)", FIRST))
    approval = call_data("approve(address,uint256)", uniswap.usdc, 10)
    send(on_anvil, uniswap.account, approval)
    swap = call_data("swap(address,address,uint256)", uniswap.usdc, uniswap.weth, 10)
    send(on_anvil, uniswap.account, swap)
    require_swapped(uniswap, on_anvil)
    with forked_chain(tmp_path, uniswap.node.url, uniswap) as chain:
        run_swap_agent(chain, uniswap)
        require_swapped(uniswap, chain.request)
        assert uniswap.read_holdings(chain.request) == uniswap.read_holdings(on_anvil)


def test_the_default_model_swaps(uniswap: UniswapChain, tmp_path: Path) -> None:
    with forked_chain(tmp_path, uniswap.node.url, uniswap) as chain:
        agent = deploy_swap_agent(chain, uniswap)
        with chain.genesis.weights() as model:
            chain.model.use_model(model)
            receipt = chain.ask(agent, INSTRUCTION)
        assert receipt["status"] == 1
        steps = chain.steps(receipt["transactionHash"])
        assert [step.action for step in steps] == ["ApproveTool", "SwapTool", None]
        require_swapped(uniswap, chain.request)


def test_a_swap_has_the_same_receipt_and_slots_on_both(
    uniswap: UniswapChain, on_anvil: Ask, tmp_path: Path
) -> None:
    path = [uniswap.usdc, uniswap.weth]
    data = call_data(SWAP, GIVEN, 1, path, uniswap.holders[0], LATER)
    latest = on_anvil("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC
    receipts, blocks, states = [], [], []
    with forked_chain(tmp_path, uniswap.node.url, uniswap) as chain:
        for ask in (on_anvil, chain.request):
            ask("evm_setNextBlockTimestamp", int(latest["timestamp"], 16) + 100)
            receipts.append(send(ask, uniswap.router, data))
            blocks.append(ask("eth_getBlockByNumber", "latest", False))  # noqa: FBT003 - JSON-RPC
            slots = [
                ask("eth_getStorageAt", *place, "latest")
                for place in (
                    *((uniswap.pair, hex(slot)) for slot in range(PAIR_SLOTS)),
                    (uniswap.usdc, mapping_slot(BALANCES_SLOT, uniswap.pair)),
                    (uniswap.usdc, mapping_slot(BALANCES_SLOT, FIRST)),
                )
            ]
            states.append([*slots, ask("eth_getBalance", uniswap.holders[0], "latest")])
    assert states[0] == states[1]
    got = compute_output(GIVEN, POOL_USDC, POOL_WETH)
    assert int(states[1][-1], 16) == 10**18 + got
    for field in ("gasUsed", "blockNumber", "transactionHash", "logsBloom", "status"):
        assert receipts[0][field] == receipts[1][field], field
    fields = ("address", "topics", "data", "logIndex")
    logs = [[[log[field] for field in fields] for log in each["logs"]] for each in receipts]
    assert len(logs[0]) == 5  # Two transfers, Sync, Swap, and a withdrawal of WETH.
    assert logs[0] == logs[1]
    # No base fees: evm_revert does not undo anvil's.
    for field in ("parentHash", "gasUsed", "receiptsRoot", "logsBloom", "timestamp"):
        assert blocks[0][field] == blocks[1][field], field


def test_verified_reads_are_those_of_the_remote(uniswap: UniswapChain, tmp_path: Path) -> None:
    # Not all of them: for one proof, anvil hashes all accounts, or all slots of a contract.
    with forked_chain(tmp_path, uniswap.node.url, uniswap) as chain:
        assert chain.node.fork is not None
        for holder in uniswap.holders[::400]:
            slot = mapping_slot(BALANCES_SLOT, holder)
            for method, params in (
                ("eth_getBalance", [holder]),
                ("eth_getTransactionCount", [holder]),
                ("eth_getCode", [holder]),
                ("eth_getStorageAt", [uniswap.usdc, slot]),
            ):
                value = uniswap.node.ask(method, *params, uniswap.block)
                assert chain.request(method, *params, "latest") == value
        proof = ("eth_getProof", uniswap.usdc, [slot], uniswap.block)
        assert chain.request(*proof) == uniswap.node.ask(*proof)
        assert chain.node.fork.is_verified


def test_every_account_slot_and_receipt_is_the_remotes(
    uniswap: UniswapChain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    state = uniswap.list_state_requests()
    history = uniswap.list_history_requests()
    values = request_batch(uniswap.node.url, at_block(state, uniswap.block))
    blocks = request_batch(uniswap.node.url, history)
    assert len({params[0] for _, params in state}) > ACCOUNTS
    assert sum(len(receipts) for receipts in blocks if isinstance(receipts, list)) > 2 * ACCOUNTS
    outcomes = []
    number = str(uniswap.head)
    with ExitStack() as stack:
        proxy = stack.enter_context(counting_proxy(uniswap.node.url, has_proofs=False))
        options = ("--fork-url", proxy.url, "--fork-block-number", number, "--fork-retries", "0")
        for is_remote_there in (True, False):
            if not is_remote_there:
                stack.close()
            with running_node(tmp_path, *options) as node:
                proxy.forget()
                assert request_batch(node.url, at_block(state, "latest")) == values
                assert proxy.posts < len(state) / 30
                assert request_batch(node.url, history) == blocks
                outcomes.append(swap_at(node.ask, uniswap))
    assert outcomes[0] == outcomes[1]


def at_block(requests: Requests, block: str) -> Requests:
    """Return requests for state with their block."""
    return [(method, [*params, block]) for method, params in requests]


def swap_at(ask: Ask, uniswap: UniswapChain) -> list[Any]:
    """Swap directly; return the receipt and the block."""
    latest = ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC
    ask("evm_setNextBlockTimestamp", int(latest["timestamp"], 16) + 100)
    path = [uniswap.usdc, uniswap.weth]
    receipt = send(ask, uniswap.router, call_data(SWAP, GIVEN, 1, path, uniswap.holders[0], LATER))
    return [receipt, ask("eth_getBlockByNumber", "latest", True)]  # noqa: FBT003 - JSON-RPC


def test_the_same_blocks_from_a_cold_and_a_warm_cache_and_from_a_recording(
    uniswap: UniswapChain, tmp_path: Path
) -> None:
    file = tmp_path / "swap.json"
    with counting_proxy(uniswap.node.url) as proxy:
        with forked_chain(tmp_path / "first", proxy.url, uniswap) as chain:
            cold = run_swap_agent(chain, uniswap)
        proxy.forget()
        with forked_chain(tmp_path / "second", proxy.url, uniswap) as chain:
            assert run_swap_agent(chain, uniswap) == cold
        assert proxy.posts > 0
    with forked_chain(tmp_path / "first", proxy.url, uniswap) as chain:
        assert run_swap_agent(chain, uniswap) == cold
        recorded = record_chain(chain.chain, name="swap", comment="A swap on a fork.")
        write_fixture(recorded, file)
    replayed = CliRunner().invoke(main, ["replay", "--json", str(file)])
    assert replayed.exit_code == 0, replayed.output
    [form] = json.loads(replayed.output)
    roots = [block["stateRoot"] for block in form["blocks"]]
    assert roots == [block["stateRoot"] for block in cold]
    export = ["export-replay", "--fixture", str(file), "--format", "json"]
    exported = CliRunner().invoke(main, export)
    assert exported.exit_code == 0, exported.output
    assert "SwapTool" in exported.output

"""anvil with Uniswap V2, a token of OpenZeppelin's, and 10,000 accounts that hold it."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi import decode, encode
from eth_utils import function_signature_to_4byte_selector, keccak

from tests.clients.anvil_node import running_anvil
from tests.clients.packages import HERE, installed, node_program
from tests.clients.running_node import BATCH, request_batch
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tests.clients.running_node import RunningNode

    Ask = Callable[..., Any]
    Requests = list[tuple[str, Sequence[object]]]

FIRST = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
"""anvil's first account, and the first one of our chains."""

ACCOUNTS = 10_000
SPECIAL_ACCOUNTS = 300
"""Accounts with code, accounts with a nonce, and accounts with an allowance."""

USDC, WETH = 10**6, 10**18
POOL_USDC, POOL_WETH, ACCOUNT_USDC = 1_000_000 * USDC, 500 * WETH, 1_000 * USDC
SUPPLY = 10**9 * USDC
LATER = 2**64
"""A deadline of transactions."""

BALANCES_SLOT, ALLOWANCES_SLOT = 0, 1
"""Of OpenZeppelin's ERC20."""

PAIR_SLOTS = 14
"""Slots of UniswapV2Pair that are no mapping's."""


def call_data(signature: str, *values: object) -> str:
    """Return the calldata of a function."""
    types = signature.partition("(")[2].removesuffix(")")
    data = encode(types.split(",") if types else [], values)
    return "0x" + (function_signature_to_4byte_selector(signature) + data).hex()


def mapping_slot(slot: int, *keys: str) -> str:
    """Return the slot of a value in a mapping, or in a mapping of mappings, of addresses."""
    place = slot.to_bytes(32, "big")
    for key in keys:
        place = keccak(bytes.fromhex(key[2:]).rjust(32, b"\0") + place)
    return "0x" + place.hex()


def compute_output(given: int, reserve_given: int, reserve_got: int) -> int:
    """Return what a swap gives. Source: UniswapV2Library.getAmountOut."""
    less_fee = given * 997
    return less_fee * reserve_got // (reserve_given * 1000 + less_fee)


def send(ask: Ask, to: str | None, data: str = "0x", value: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Send a transaction of the first account; return its receipt, which is a success."""
    fees = {"maxFeePerGas": hex(10**11), "maxPriorityFeePerGas": hex(1)}
    form = {"from": FIRST, "data": data, "value": hex(value), "gas": hex(8_000_000), **fees}
    receipt = ask("eth_sendTransactionSync", form if to is None else form | {"to": to})
    assert receipt["status"] == "0x1", receipt
    return receipt


def read_words(ask: Ask, to: str, signature: str, *values: object) -> list[int]:
    """Call a function without a transaction; return the words of its result."""
    form = {"to": to, "data": call_data(signature, *values)}
    result = bytes.fromhex(ask("eth_call", form, "latest")[2:])
    return list(decode(["uint256"] * (len(result) // 32), result))


@dataclass(frozen=True, kw_only=True)
class UniswapChain:
    """A chain with the contracts, at the block that has all of them."""

    node: RunningNode
    head: int
    holders: Sequence[str]
    usdc: str
    weth: str
    router: str
    pair: str
    account: str
    """A UniswapAccount of the first account, with `ACCOUNT_USDC`."""

    account_abi: list[Any]

    @property
    def block(self) -> str:
        """The head as JSON-RPC names it."""
        return hex(self.head)

    def list_state_requests(self) -> Requests:
        """Return requests for every account, and every slot of the contracts, without a block."""
        contracts = [self.usdc, self.weth, self.router, self.pair, self.account]
        requests: Requests = [
            (method, [address])
            for address in [*self.holders, *contracts, "0x" + "99" * 20]
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
        ]
        return [*requests, *(("eth_getStorageAt", [*place]) for place in self.list_slots())]

    def list_slots(self) -> list[tuple[str, str]]:
        """Return the contracts' slots with their contracts."""
        owners = [*self.holders, FIRST, self.pair, self.account]
        slots = [(self.usdc, mapping_slot(BALANCES_SLOT, each)) for each in owners]
        slots += [
            (self.usdc, mapping_slot(ALLOWANCES_SLOT, owner, self.router))
            for owner in [*self.holders[:SPECIAL_ACCOUNTS], FIRST, self.account]
        ]
        slots += [(self.usdc, hex(slot)) for slot in range(10)]
        slots += [(self.pair, hex(slot)) for slot in range(PAIR_SLOTS)]
        slots += [(self.weth, mapping_slot(3, each)) for each in (FIRST, self.pair, self.router)]
        return [*slots, (self.pair, mapping_slot(1, FIRST)), (self.account, "0x0")]

    def read_holdings(self, ask: Ask) -> dict[str, list[int]]:
        """Return what a swap of the account changes: reserves and balances, on any chain."""
        return {
            "reserves": read_words(ask, self.pair, "getReserves()")[:2],
            **{
                f"{token} of {holder}": read_words(ask, token, "balanceOf(address)", holder)
                for token in (self.usdc, self.weth)
                for holder in (self.pair, self.account)
            },
        }

    def list_history_requests(self) -> Requests:
        """Return requests for every block, transaction, receipt and log."""
        numbers = [hex(number) for number in range(self.head + 1)]
        blocks = request_batch(self.node.url, list_block_requests(numbers, full=False))
        hashes = [each for block in blocks for each in block["transactions"]]
        some = hashes[:10] + hashes[:: len(hashes) // 100]
        requests = list_block_requests(numbers, full=True)
        for number in numbers:
            requests.append(("eth_getBlockReceipts", [number]))
            requests.append(("eth_getLogs", [{"fromBlock": number, "toBlock": number}]))
        for each in some:
            requests.append(("eth_getTransactionByHash", [each]))
            requests.append(("eth_getTransactionReceipt", [each]))
        return requests


def list_block_requests(numbers: Iterable[str], *, full: bool) -> Requests:
    """Return the requests for blocks."""
    return [("eth_getBlockByNumber", [number, full]) for number in numbers]


def compile_contracts() -> dict[str, Any]:
    """Compile the contracts of the package's folder; return solc's output by file name."""
    folder, packages = HERE / "uniswap", installed("uniswap")
    form = {
        "language": "Solidity",
        "sources": {path.name: {"content": path.read_text()} for path in folder.glob("*.sol")},
        "settings": {
            "evmVersion": "cancun",
            "optimizer": {"enabled": True},
            "outputSelection": {"*": {"*": ["abi", "evm.bytecode.object"]}},
        },
    }
    compiler = [node_program(), str(packages / "solc" / "solc.js"), "--standard-json"]
    ended = subprocess.run(
        [*compiler, "--base-path", str(folder), "--include-path", str(packages)],
        input=json.dumps(form),
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_SECONDS,
    )
    output = json.loads(ended.stdout[ended.stdout.index("{") :])
    messages = output.get("errors", [])  # Uniswap's sources have no licence line: a warning.
    assert not [each for each in messages if each["severity"] == "error"], messages
    return {path.stem: output["contracts"][path.name][path.stem] for path in folder.glob("*.sol")}


def load_uniswap(package: str, name: str) -> str:
    """Return the creation code that a package of Uniswap's has of a contract."""
    path = installed("uniswap") / "@uniswap" / package / "build" / f"{name}.json"
    return str(json.loads(path.read_text())["bytecode"])


def deploy(node: RunningNode, code: str, types: Sequence[str] = (), *values: object) -> str:
    """Deploy a contract; return its address."""
    data = "0x" + code.removeprefix("0x") + encode(types, values).hex()
    return str(send(node.ask, None, data)["contractAddress"])


@contextmanager
def running_uniswap(folder: Path) -> Iterator[UniswapChain]:
    """Run anvil with everything on it inside a context."""
    contracts = compile_contracts()
    with running_anvil(
        folder, "--chain-id", "1", "--hardfork", "osaka", "--gas-limit", "60000000"
    ) as node:
        yield build_chain(node, contracts)


def build_chain(node: RunningNode, contracts: dict[str, Any]) -> UniswapChain:
    """Deploy the contracts, add liquidity, and give tokens and ether to the holders."""
    coin, account = contracts["UsdCoin"], contracts["UniswapAccount"]
    usdc = deploy(node, coin["evm"]["bytecode"]["object"], ["uint256"], SUPPLY)
    weth = deploy(node, load_uniswap("v2-periphery", "WETH9"))
    factory = deploy(node, load_uniswap("v2-core", "UniswapV2Factory"), ["address"], FIRST)
    both = ["address", "address"]
    router = deploy(node, load_uniswap("v2-periphery", "UniswapV2Router02"), both, factory, weth)
    code = account["evm"]["bytecode"]["object"]
    chain_account = deploy(node, code, ["address"], router)
    send(node.ask, usdc, call_data("approve(address,uint256)", router, SUPPLY))
    add = "addLiquidityETH(address,uint256,uint256,uint256,address,uint256)"
    data = call_data(add, usdc, POOL_USDC, POOL_USDC, POOL_WETH, FIRST, LATER)
    send(node.ask, router, data, POOL_WETH)
    send(node.ask, usdc, call_data("transfer(address,uint256)", chain_account, ACCOUNT_USDC))
    [pair] = read_words(node.ask, factory, "getPair(address,address)", usdc, weth)
    holders = [f"0x{keccak(text=f'holder {index}')[:20].hex()}" for index in range(ACCOUNTS)]
    _fund(node, usdc, router, holders)
    return UniswapChain(
        node=node,
        head=int(node.ask("eth_blockNumber"), 16),
        holders=holders,
        usdc=usdc,
        weth=weth,
        router=router,
        pair=f"0x{pair:040x}",
        account=chain_account,
        account_abi=account["abi"],
    )


def _fund(node: RunningNode, usdc: str, router: str, holders: Sequence[str]) -> None:
    """Transfer tokens to each holder in a transaction; give ether, code, nonces and allowances."""
    nonce = int(node.ask("eth_getTransactionCount", FIRST, "latest"), 16)
    node.ask("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC
    forms = [
        {
            "from": FIRST,
            "to": usdc,
            "gas": hex(60_000),
            "nonce": hex(nonce + index),
            "data": call_data("transfer(address,uint256)", holder, index + 1),
        }
        for index, holder in enumerate(holders)
    ]
    for start in range(0, len(forms), BATCH):
        sent = forms[start : start + BATCH]
        request_batch(node.url, [("eth_sendTransaction", [form]) for form in sent])
        node.ask("evm_mine")
    changes: Requests = [
        ("anvil_setBalance", [holder, hex(10**18 + index)]) for index, holder in enumerate(holders)
    ]
    for index in range(SPECIAL_ACCOUNTS):
        holder = holders[index]
        code = "0x" + (b"\x60\x01" + index.to_bytes(2, "big")).hex()
        slot = mapping_slot(ALLOWANCES_SLOT, holder, router)
        changes += [
            ("anvil_setStorageAt", [usdc, slot, f"0x{index:064x}"]),
            ("anvil_setCode", [holders[-1 - index], code]),
            ("anvil_setNonce", [holders[index * 7], hex(index + 5)]),
        ]
    request_batch(node.url, changes)
    node.ask("evm_setAutomine", True)  # noqa: FBT003 - JSON-RPC
    node.ask("evm_mine")
    assert node.ask("txpool_status") == {"pending": "0x0", "queued": "0x0"}

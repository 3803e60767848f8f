"""A chain with Uniswap V2 of npm, unmodified, two tokens and their pools."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_utils import keccak, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount
from tests.clients.packages import installed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from eth_typing import Address

USER = str(to_checksum_address(DEVELOPMENT_ADDRESS))
LATER = 2**64
ETHER = 10**18


def find_uniswap_artifact(package: str, name: str) -> Path:
    """Return the artifact of a contract of Uniswap's."""
    return installed("uniswap") / "@uniswap" / package / "build" / f"{name}.json"


def find_openzeppelin_artifact(name: str) -> Path:
    """Return the artifact of a contract of OpenZeppelin's."""
    return installed("uniswap") / "@openzeppelin/contracts/build/contracts" / f"{name}.json"


def read_creation(path: Path) -> bytes:
    """Return the creation code of an artifact."""
    return bytes.fromhex(str(json.loads(path.read_text())["bytecode"]).removeprefix("0x"))


def build_calldata(signature: str, *values: object) -> bytes:
    """Return the calldata of a function."""
    types = signature.partition("(")[2].removesuffix(")")
    return keccak(text=signature)[:4] + encode(types.split(",") if types else [], values)


def build_account(chain_id: int = ChainConfig().chain_id) -> LocalAccount:
    """Return a funded account on a new chain."""
    accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
    return LocalAccount(Chain(ChainConfig(chain_id=chain_id), accounts=accounts))


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """The chain, and the addresses of its contracts."""

    account: LocalAccount
    usdc: str
    dai: str
    weth: str
    factory: str
    router: str
    usdc_pool: str
    """Of USDC and WETH."""

    dai_pool: str
    """Of DAI and WETH."""

    @property
    def chain(self) -> Chain:
        """The chain."""
        return self.account.chain


def deploy(account: LocalAccount, code: bytes, types: Sequence[str] = (), *values: object) -> str:
    """Deploy a contract; return its address."""
    return str(to_checksum_address(account.deploy(code + encode(types, values))))


def deploy_token(account: LocalAccount, name: str, symbol: str, decimals: int) -> str:
    """Deploy an ERC-20 token of which the account has a million."""
    code = load_artifact("DemoToken").encode_creation(name, symbol, decimals, 10 ** (6 + decimals))
    return deploy(account, code)


def build_exchange(chain_id: int = ChainConfig().chain_id) -> Exchange:
    """Deploy everything, with 100,000 USDC and 200,000 DAI against 50 WETH each."""
    account = build_account(chain_id)
    usdc = deploy_token(account, "USD Coin", "USDC", 6)
    dai = deploy_token(account, "Dai Stablecoin", "DAI", 18)
    weth = deploy(account, read_creation(find_uniswap_artifact("v2-periphery", "WETH9")))
    code = read_creation(find_uniswap_artifact("v2-core", "UniswapV2Factory"))
    factory = deploy(account, code, ["address"], USER)
    code = read_creation(find_uniswap_artifact("v2-periphery", "UniswapV2Router02"))
    router = deploy(account, code, ["address", "address"], factory, weth)
    add = "addLiquidityETH(address,uint256,uint256,uint256,address,uint256)"
    pools = []
    for token, amount in ((usdc, 100_000 * 10**6), (dai, 200_000 * ETHER)):
        send(account, token, build_calldata("approve(address,uint256)", router, amount))
        data = build_calldata(add, token, amount, amount, 50 * ETHER, USER, LATER)
        send(account, router, data, value_wei=50 * ETHER)
        data = build_calldata("getPair(address,address)", token, weth)
        pools.append(to_checksum_address(account.read(to_bytes(factory), data)[12:]))
    return Exchange(
        account=account,
        usdc=usdc,
        dai=dai,
        weth=weth,
        factory=factory,
        router=router,
        usdc_pool=pools[0],
        dai_pool=pools[1],
    )


@cache
def get_exchange() -> Exchange:
    """Return an exchange that all tests of the process read, and none changes."""
    return build_exchange()


def send(account: LocalAccount, to: str, data: bytes, *, value_wei: int = 0) -> None:
    """Mine a transaction that succeeds."""
    account.send(to_bytes(to), data, value_wei=value_wei).computation.raise_if_error()


def to_bytes(address: str) -> Address:
    """Return an address as bytes."""
    return type(DEVELOPMENT_ADDRESS)(bytes.fromhex(address[2:]))


def load_abi(path: Path) -> list[Mapping[str, Any]]:
    """Return the ABI of an artifact."""
    return list(json.loads(path.read_text())["abi"])

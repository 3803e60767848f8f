"""Contracts on a chain in memory, and their functions from artifacts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_typing import Address
from eth_utils import keccak
from eth_utils.abi import collapse_if_tuple

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.contract_intelligence.access import analyse_functions
from pyevm_agents.contract_intelligence.capabilities import FunctionCapability, Parameter
from pyevm_agents.contract_intelligence.probe import to_hex_address
from tests.chain_bench import OWNER, Bench
from tests.clients.packages import installed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AGENT = Address(b"\x0a" * 20)
"""The agent's account: it has nothing, and nobody knows it."""

LATER = 2**60
"""A deadline of transactions."""


def hex_of(address: Address) -> str:
    return to_hex_address(bytes(address))


def list_functions(abi: Sequence[Any]) -> list[FunctionCapability]:
    """Return the functions of an ABI as they are before the analysis."""
    found = []
    for entry in abi:
        if entry["type"] != "function":
            continue
        types = [collapse_if_tuple(each) for each in entry["inputs"]]
        signature = f"{entry['name']}({','.join(types)})"
        found.append(
            FunctionCapability(
                name=entry["name"],
                signature=signature,
                selector=keccak(text=signature)[:4],
                parameters=_parse(entry["inputs"]),
                outputs=_parse(entry["outputs"]),
                is_read_only=entry["stateMutability"] in {"view", "pure"},
                is_payable=entry["stateMutability"] == "payable",
            )
        )
    return found


def _parse(entries: Sequence[Any]) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(name=each["name"] or f"arg{index}", abi_type=collapse_if_tuple(each))
        for index, each in enumerate(entries)
    )


def analyse(
    bench: Bench,
    address: Address,
    abi: Sequence[Any] | str,
    *,
    account: Address = AGENT,
    known: Mapping[str, str] | None = None,
) -> dict[str, FunctionCapability]:
    """Return the analysed functions by signature."""
    entries = load_artifact(abi).abi if isinstance(abi, str) else abi
    analysed = analyse_functions(
        bench.chain, address, list_functions(entries), account, known_accounts=known
    )
    return {each.signature: each for each in analysed}


def load_uniswap_artifact(package: str, name: str) -> Any:  # noqa: ANN401 - JSON
    """Return an artifact of a package of Uniswap's; skip the test where npm can't install it."""
    path = installed("uniswap") / "@uniswap" / package / "build" / f"{name}.json"
    return json.loads(path.read_text())


@dataclass(frozen=True, kw_only=True)
class Uniswap:
    """Uniswap V2 with a pool of a token and WETH9."""

    bench: Bench
    token: Address
    weth: Address
    factory: Address
    router: Address
    pair: Address


def deploy_uniswap(bench: Bench) -> Uniswap:
    """Deploy Uniswap V2, unmodified, with a pool of 10^24 units of a token and 10^21 wei."""
    token = bench.deploy("TokenBox", OWNER)
    weth = _deploy(bench, "v2-periphery", "WETH9")
    factory = _deploy(bench, "v2-core", "UniswapV2Factory", ["address"], OWNER)
    both = ["address", "address"]
    router = _deploy(bench, "v2-periphery", "UniswapV2Router02", both, factory, weth)
    bench.send(token, load_artifact("TokenBox").encode_call("approve", hex_of(router), 2**200))
    add = "addLiquidityETH(address,uint256,uint256,uint256,address,uint256)"
    types = ["address", "uint256", "uint256", "uint256", "address", "uint256"]
    data = keccak(text=add)[:4] + encode(types, [token, 10**24, 1, 1, OWNER, LATER])
    _, added = bench.send(router, data, value_wei=10**21)
    added.raise_if_error()
    get_pair = keccak(text="getPair(address,address)")[:4] + encode(both, [token, weth])
    pair = Address(bench.call(factory, get_pair).output[-20:])
    return Uniswap(bench=bench, token=token, weth=weth, factory=factory, router=router, pair=pair)


def _deploy(
    bench: Bench, package: str, name: str, types: Sequence[str] = (), *values: object
) -> Address:
    code = bytes.fromhex(load_uniswap_artifact(package, name)["bytecode"].removeprefix("0x"))
    _, computation = bench.send(None, code + encode(types, values))
    computation.raise_if_error()
    return computation.msg.storage_address

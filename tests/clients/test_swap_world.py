"""The world of real contracts on anvil and on a node of ours, with the ids of five chains.

The artifacts of Uniswap are those of its packages, byte for byte.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from benchmarks.contract_truth import read_truth
from benchmarks.contract_world import ContractWorld
from pyevm_agents.client.accounts import NodeAccount
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.scenarios.swap.world import (
    ACCOUNT_NATIVE_WEI,
    NO_DEADLINE,
    ONE_NATIVE,
    TOKENS,
    UNISWAP_FOLDER,
    WRAPPED,
)
from scripts.uniswap_artifacts import PACKAGES, format_artifact
from tests.clients.anvil_node import running_anvil
from tests.clients.packages import installed
from tests.clients.running_node import running_node

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.clients.running_node import RunningNode

    Runner = Callable[..., AbstractContextManager[RunningNode]]

pytestmark = pytest.mark.slow

OWNER = Address(to_canonical_address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"))
ACCOUNT = Address(b"\xac" * 20)
SWAP_GAS = 500_000


@pytest.mark.parametrize("name", PACKAGES)
def test_an_artifact_is_that_of_its_package(name: str) -> None:
    shipped = (UNISWAP_FOLDER / f"{name}.json").read_text()
    assert shipped == format_artifact(installed("uniswap"), name)


def test_the_licence_is_that_of_both_packages() -> None:
    shipped = (UNISWAP_FOLDER / "LICENSE").read_text()
    for package in set(PACKAGES.values()):
        licence = installed("uniswap") / "@uniswap" / package / "LICENSE"
        assert licence.read_text() == shipped


@pytest.mark.parametrize(
    ("run", "chain_id"),
    [
        (running_anvil, 1),
        (running_anvil, 56),
        (running_anvil, 97),
        (running_anvil, 137),
        (running_anvil, 42161),
        (running_node, 97),
    ],
    ids=["anvil-1", "anvil-56", "anvil-97", "anvil-137", "anvil-42161", "own-97"],
)
def test_the_world_is_deployed_by_json_rpc(tmp_path: Path, run: Runner, chain_id: int) -> None:
    with run(tmp_path, "--chain-id", str(chain_id)) as node:
        assert int(node.ask("eth_chainId"), 16) == chain_id
        with closing(RemoteClient(node.url)) as client:
            owner = NodeAccount(client, OWNER)
            world = ContractWorld(owner, ACCOUNT, native_symbol="BNB")
            path = [world.tokens[WRAPPED], world.tokens["USDT"]]
            quoted = world.quote(ONE_NATIVE, WRAPPED, "USDT")
            data = world.contracts["router"].artifact.encode_call(
                "swapExactETHForTokens", quoted, path, ACCOUNT, NO_DEADLINE
            )
            # The first swap of a second writes two slots more, so an estimate can be too low.
            owner.transact(world.router, data, value_wei=ONE_NATIVE, gas=SWAP_GAS)
            usdt = next(token for token in TOKENS if token.symbol == "USDT")
            held = world.read("USDT", "balanceOf", ACCOUNT)
            assert held == usdt.account_tokens * usdt.unit + quoted
            assert to_canonical_address(world.read("router", "WETH")) == world.tokens[WRAPPED]
            for name in (*read_truth(), *world.contracts):
                address = to_checksum_address(world.address(name))
                assert len(node.ask("eth_getCode", address, "latest")) > len("0x")
        balance = node.ask("eth_getBalance", to_checksum_address(ACCOUNT), "latest")
        assert int(balance, 16) == ACCOUNT_NATIVE_WEI

"""Balances of ether and tokens, and allowances, set by development methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.rpc.errors import RpcError
from tests.pyevm_agents.rpc.local_node import (
    ETHER,
    FIRST,
    SECOND,
    STRANGER,
    LocalNode,
    canonical,
    local_node,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def local() -> Iterator[LocalNode]:
    with local_node() as local:
        yield local


@pytest.fixture
def token(local: LocalNode) -> str:
    data = load_artifact("DemoToken").encode_creation("Demo", "DEMO", 18, 1_000)
    form = {"from": FIRST, "data": "0x" + data.hex()}
    sent = local.ask("eth_sendTransaction", form)
    return str(local.ask("eth_getTransactionReceipt", sent)["contractAddress"])


def read(local: LocalNode, token: str, function: str, *accounts: str) -> int:
    data = load_artifact("DemoToken").encode_call(function, *map(canonical, accounts))
    return local.number("eth_call", {"to": token, "data": "0x" + data.hex()})


def test_balance_is_added(local: LocalNode) -> None:
    local.ask("anvil_addBalance", SECOND, "0x5")
    assert local.number("eth_getBalance", SECOND) == 10_000 * ETHER + 5
    local.ask("hardhat_addBalance", SECOND, hex(2**256 - 1))
    assert local.number("eth_getBalance", SECOND) == 2**256 - 1


def test_tokens_are_dealt(local: LocalNode, token: str) -> None:
    local.ask("anvil_dealERC20", STRANGER, token, hex(77))
    assert read(local, token, "balanceOf", STRANGER) == 77
    assert read(local, token, "balanceOf", FIRST) == 1_000
    local.ask("hardhat_dealERC20", FIRST, token, "0x0")
    assert read(local, token, "balanceOf", FIRST) == 0


def test_an_allowance_is_set(local: LocalNode, token: str) -> None:
    local.ask("anvil_setERC20Allowance", STRANGER, SECOND, token, hex(9))
    assert read(local, token, "allowance", STRANGER, SECOND) == 9
    assert read(local, token, "allowance", SECOND, STRANGER) == 0


def test_what_is_no_token_has_no_slot(local: LocalNode) -> None:
    with pytest.raises(RpcError, match="Unable to set ERC20 balance, no slot found"):
        local.ask("anvil_dealERC20", SECOND, STRANGER, "0x1")
    local.send()  # The simulated calls leave no changes.
    assert local.number("eth_blockNumber") == 1

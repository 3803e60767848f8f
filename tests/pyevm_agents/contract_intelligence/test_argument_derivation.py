"""Arguments that execution derives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.contract_intelligence.capabilities import Source
from tests.chain_bench import OWNER, Bench
from tests.pyevm_agents.contract_intelligence.deployment import (
    analyse,
    deploy_uniswap,
    hex_of,
    load_uniswap_artifact,
)
from tests.pyevm_agents.contract_intelligence.test_asset_needs import DEPOSIT, deploy_spender

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability


def list_sources(function: FunctionCapability) -> dict[str, Source]:
    return {each.name: each.derivation.source for each in function.parameters if each.derivation}


def test_deadlines_and_least_outputs(bench: Callable[..., Bench]) -> None:
    chain = bench()
    _, spender = deploy_spender(chain)
    function = analyse(chain, spender, "SpenderBox")[DEPOSIT]
    # The recipient gets the token that was given: a gift, which the model chooses.
    assert list_sources(function) == {"least": Source.MINIMUM, "deadline": Source.DEADLINE}


def test_recipients_of_a_vault(bench: Callable[..., Bench]) -> None:
    chain = bench()
    vault = chain.deploy("VaultBox", chain.deploy("TokenBox", OWNER))
    functions = analyse(chain, vault, "VaultBox")
    assert list_sources(functions["deposit(uint256,address)"]) == {"receiver": Source.ACCOUNT}
    assert list_sources(functions["transfer(address,uint256)"]) == {}
    assert list_sources(functions["approve(address,uint256)"]) == {}


@pytest.mark.slow
def test_swaps(bench: Callable[..., Bench]) -> None:
    chain = bench()
    uniswap = deploy_uniswap(chain)
    abi = load_uniswap_artifact("v2-periphery", "UniswapV2Router02")["abi"]
    known = {hex_of(uniswap.token): "", hex_of(uniswap.weth): ""}
    functions = analyse(chain, uniswap.router, abi, known=known)
    sources = {each.name: list_sources(each) for each in functions.values()}
    swap = {"to": Source.ACCOUNT, "deadline": Source.DEADLINE}
    bounded = {**swap, "amountOutMin": Source.MINIMUM}
    for name in ("swapExactTokensForTokens", "swapExactETHForTokens", "swapExactTokensForETH"):
        assert sources[name] == bounded
    for name in ("swapTokensForExactTokens", "swapETHForExactTokens"):
        assert sources[name] == swap
    assert sources["removeLiquidity"] == {
        **swap,
        "amountAMin": Source.MINIMUM,
        "amountBMin": Source.MINIMUM,
    }

"""The five requests of the swap world, their wordings, and the calls that they ask for."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.devnet.swap_world import NATIVE, WRAPPED

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.devnet.swap_world import SwapWorld

WORDINGS_FILE = Path(__file__).with_name("contract_wordings.toml")

NATIVE_WORD = "NATIVE"
"""Stands for the symbol of the native currency."""

SCENARIOS = ("balance", "quote", "swap", "admin", "swap-back")

NATIVE_GIVEN = NATIVE // 100
USDT_GIVEN = 100 * 10**6

BASIS_POINTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A call that a request asks for, or one that an agent made."""

    contract: str
    """Its name in the world."""

    data: bytes
    value_wei: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an agent's tools derive: it is no choice of the model."""

    slippage_bps: int
    """What a swap may give less than a simulation, in basis points."""

    deadline: int
    """Unix seconds."""


def read_wordings(native_symbol: str, file: Path = WORDINGS_FILE) -> dict[str, tuple[str, ...]]:
    """Return the wordings of each scenario, with the symbol of the native currency."""
    scenarios = tomllib.loads(file.read_text())
    return {
        name: tuple(
            text.replace(NATIVE_WORD, native_symbol) for text in scenarios[name]["wordings"]
        )
        for name in SCENARIOS
    }


def list_expected_calls(
    world: SwapWorld, account: Address, scenario: str, limits: Limits
) -> tuple[ExpectedCall, ...]:
    """Return the calls that a scenario asks for, in order; none for `admin`."""
    to_usdt, to_native = ([WRAPPED, "USDT"], ["USDT", WRAPPED])
    ends = (account, limits.deadline)
    match scenario:
        case "balance":
            return (_encode(world, "USDT", "balanceOf", account),)
        case "quote":
            path = [world.address(symbol) for symbol in to_usdt]
            return (_encode(world, "router", "getAmountsOut", NATIVE_GIVEN, path),)
        case "swap":
            path = [world.address(symbol) for symbol in to_usdt]
            least = _lower(world.quote(NATIVE_GIVEN, *to_usdt), limits)
            swap = _encode(world, "router", "swapExactETHForTokens", least, path, *ends)
            return (ExpectedCall(contract="router", data=swap.data, value_wei=NATIVE_GIVEN),)
        case "swap-back":
            path = [world.address(symbol) for symbol in to_native]
            least = _lower(world.quote(USDT_GIVEN, *to_native), limits)
            return (
                _encode(world, "USDT", "approve", world.router, USDT_GIVEN),
                _encode(world, "router", "swapExactTokensForETH", USDT_GIVEN, least, path, *ends),
            )
        case _:
            return ()


def _encode(world: SwapWorld, contract: str, function: str, *arguments: object) -> ExpectedCall:
    data = world.contracts[contract].artifact.encode_call(function, *arguments)
    return ExpectedCall(contract=contract, data=data)


def _lower(amount: int, limits: Limits) -> int:
    return amount * (BASIS_POINTS - limits.slippage_bps) // BASIS_POINTS

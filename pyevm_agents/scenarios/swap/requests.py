"""Five requests to an agent that swaps, and the expected calls of each.

A run is the ideal if the account's calls are the expected ones, byte for byte and in order, and if
a request for a function that the account cannot call makes none and is answered with the reason.

Source: Autonomify Agent Architecture v2, "Test Scenarios"; the rule of the Berkeley
Function-Calling Leaderboard, "AST evaluation".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import TYPE_CHECKING

from eth_utils import function_abi_to_4byte_selector, to_checksum_address

from precompiles.address_handles import ACCOUNT_HANDLE
from precompiles.outcome import is_done
from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.abi.not_done import describe_not_done
from pyevm_agents.abi.values import decode_values
from pyevm_agents.scenarios.swap.market import (
    NATIVE_GIVEN,
    ROUTER,
    TOKENS_GIVEN,
    SwapMarket,
)
from pyevm_agents.scenarios.swap.world import ONE_NATIVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth_typing import ABIComponent, ABIFunction, Address

    from pyevm_agents.scenarios.swap.world import WorldContract

TOKEN_WORD, NATIVE_WORD = "TOKEN", "NATIVE"
"""What stands for the symbols of the token and of the native currency."""

REQUESTS = {
    "balance": "What's my TOKEN balance?",
    "quote": "How much TOKEN for 0.01 NATIVE?",
    "swap": "Swap 0.01 NATIVE for TOKEN",
    "admin": "Call the admin function",
    "swap-back": "Swap 100 TOKEN for NATIVE",
}
"""Names to texts."""

REFUSALS = ("I cannot ", "I can't ")
"""How an answer begins that says why a request was not executed: one of `NOT_DONE`'s reasons, not
a doubt or an error."""

BASIS_POINTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A call that a request expects, or one that an agent made."""

    contract: str
    """Its name in the market."""

    data: bytes
    value_wei: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Values that an agent's tools derive, no choice of the model."""

    slippage_bps: int
    """What a swap may give less than a simulation, in basis points."""

    deadline: int
    """Unix seconds."""


def build_instruction(name: str, market: SwapMarket) -> str:
    """Return the text of a request with the symbols of a market."""
    words = {TOKEN_WORD: market.token_symbol, NATIVE_WORD: market.native_symbol}
    return re.sub("|".join(words), lambda match: words[match[0]], REQUESTS[name])


def list_expected_calls(
    market: SwapMarket, account: Address, name: str, limits: CallLimits
) -> tuple[ExpectedCall, ...]:
    """Return the expected calls of a request on the present state, in order.

    There are none for `admin`.
    """
    token, router = market.token, market.router
    ends = (account, limits.deadline)
    given = TOKENS_GIVEN * market.token_unit
    match name:
        case "balance":
            return (_encode(token, "balanceOf", account),)
        case "quote":
            return (_encode(router, "getAmountsOut", NATIVE_GIVEN, market.buying_path),)
        case "swap":
            path = market.buying_path
            least = _lower(market.quote(NATIVE_GIVEN, path), limits)
            swap = _encode(router, "swapExactETHForTokens", least, path, *ends)
            return (ExpectedCall(contract=ROUTER, data=swap.data, value_wei=NATIVE_GIVEN),)
        case "swap-back":
            path = market.selling_path
            least = _lower(market.quote(given, path), limits)
            return (
                _encode(token, "approve", router.address, given),
                _encode(router, "swapExactTokensForETH", given, least, path, *ends),
            )
        case _:
            return ()


def _encode(contract: WorldContract, function: str, *arguments: object) -> ExpectedCall:
    data = contract.artifact.encode_call(function, *arguments)
    return ExpectedCall(contract=contract.name, data=data)


def _lower(amount: int, limits: CallLimits) -> int:
    return amount * (BASIS_POINTS - limits.slippage_bps) // BASIS_POINTS


def is_ideal(
    *, expected: Sequence[ExpectedCall], calls: Sequence[ExpectedCall], answer: str | None
) -> bool:
    """Return whether a run made the expected calls, or rightly none with a reason.

    Input:  answer: also of a run that was undone as not done; None for another failure.
    """
    if answer is None or tuple(calls) != tuple(expected):
        return False
    return is_done(answer) if expected else answer.startswith(REFUSALS)


def list_differences(
    market: SwapMarket,
    account: Address,
    *,
    expected: Sequence[ExpectedCall],
    calls: Sequence[ExpectedCall],
    answer: str | None,
) -> tuple[str, ...]:
    """Return how a run differs from the ideal, a sentence each; none for the ideal.

    Input:  answer: also of a run that was undone as not done; None for another failure.
    """
    names = {**market.names, account: ACCOUNT_HANDLE}
    lines = []
    for asked, made in zip_longest(expected, calls):
        if asked == made:
            continue
        wanted = "none" if asked is None else describe_call(market, names, asked)
        found = "none" if made is None else describe_call(market, names, made)
        lines.append(f"expected call: {wanted}; made: {found}")
    if answer is None:
        lines.append("the transaction reverted")
    elif expected and not is_done(answer):
        lines.append(describe_not_done(answer))
    elif not expected and not answer.startswith(REFUSALS):
        lines.append("the answer is no refusal with a reason")
    return tuple(lines)


def describe_call(market: SwapMarket, names: Mapping[Address, str], call: ExpectedCall) -> str:
    """Return a call as text, such as `USDT.balanceOf(account=ACCOUNT)`.

    Input:  names: of addresses; other addresses are shown unchanged.
    """
    text = f"{call.contract}.{_describe_data(market, names, call)}"
    if not call.value_wei:
        return text
    return f"{text} with {Decimal(call.value_wei) / ONE_NATIVE:f} {market.native_symbol}"


def _describe_data(market: SwapMarket, names: Mapping[Address, str], call: ExpectedCall) -> str:
    selector, data = call.data[:SELECTOR_BYTES], call.data[SELECTOR_BYTES:]
    for contract in market.contracts:
        element = _find_function(contract, selector) if contract.name == call.contract else None
        inputs = () if element is None else element["inputs"]
        values = decode_values([each["type"] for each in inputs], data)
        if element is not None and values is not None:
            shown = {str(to_checksum_address(place)): name for place, name in names.items()}
            pairs = zip(inputs, values, strict=True)
            texts = [f"{_name_input(each)}={_show(value, shown)}" for each, value in pairs]
            return f"{element['name']}({', '.join(texts)})"
    return "0x" + call.data.hex()


def _find_function(contract: WorldContract, selector: bytes) -> ABIFunction | None:
    functions = (element for element in contract.artifact.abi if element["type"] == "function")
    found = (each for each in functions if function_abi_to_4byte_selector(each) == selector)
    return next(found, None)


def _name_input(element: ABIComponent) -> str:
    return element.get("name") or element["type"]


def _show(value: object, names: Mapping[str, str]) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_show(each, names) for each in value)}]"
    text = str(value)
    if text.startswith("0x"):
        text = to_checksum_address(text)
    return names.get(text, text)

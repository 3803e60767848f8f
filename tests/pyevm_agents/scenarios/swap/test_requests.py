"""The five requests: their texts, and how calls differ from those that were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel, answer
from pyevm_agents.scenarios.swap.market import (
    NATIVE_GIVEN,
    TOKENS_GIVEN,
    SwapMarket,
)
from pyevm_agents.scenarios.swap.requests import (
    REQUESTS,
    CallLimits,
    ExpectedCall,
    build_instruction,
    describe_call,
    is_ideal,
    list_differences,
    list_expected_calls,
)
from pyevm_agents.scenarios.swap.world import ONE_NATIVE, WorldContract, load_uniswap_artifact

if TYPE_CHECKING:
    from pyevm_agents.models import Vocabulary

ACCOUNT = Address(b"\xac" * 20)
LIMITS = CallLimits(slippage_bps=50, deadline=1_000)
REFUSAL = "I cannot call adminFunction because only its owner may."


@pytest.fixture(scope="module")
def market(vocabulary: Vocabulary) -> SwapMarket:
    """A market without code, for requests that quote nothing."""
    model = ScriptedModel(lambda _: answer("Done."), vocabulary=vocabulary)
    facts = model.profile_facts
    places = [Address(bytes([number]) * 20) for number in (1, 2, 3, 4)]
    artifacts = (
        ("router", load_uniswap_artifact("UniswapV2Router02")),
        ("NATIVE", load_artifact("OwnedToken")),
        ("switch", load_artifact("AdminSwitch")),
    )
    router, token, switch = (
        WorldContract(name=name, artifact=artifact, address=place)
        for (name, artifact), place in zip(artifacts, places, strict=False)
    )
    chain = create_funded_chain(model, facts, build_model_profile(facts))
    return SwapMarket(
        owner=LocalAccount(chain), router=router, token=token, switch=switch,
        wrapped=places[3], token_decimals=2, native_symbol="TOKEN",
    )  # fmt: skip


def test_a_symbol_is_not_replaced_by_another(market: SwapMarket) -> None:
    """The symbols here are the words that stand for each other's."""
    texts = [build_instruction(name, market) for name in REQUESTS]
    assert texts == [
        "What's my NATIVE balance?",
        "How much NATIVE for 0.01 TOKEN?",
        "Swap 0.01 TOKEN for NATIVE",
        "Call the admin function",
        "Swap 100 NATIVE for TOKEN",
    ]


def test_calls_that_quote_nothing_are_listed_without_a_chain(market: SwapMarket) -> None:
    (balance,) = list_expected_calls(market, ACCOUNT, "balance", LIMITS)
    (quote,) = list_expected_calls(market, ACCOUNT, "quote", LIMITS)
    assert list_expected_calls(market, ACCOUNT, "admin", LIMITS) == ()
    names = {**market.names, ACCOUNT: "ACCOUNT"}
    assert describe_call(market, names, balance) == "NATIVE.balanceOf(account=ACCOUNT)"
    assert describe_call(market, names, quote) == (
        f"router.getAmountsOut(amountIn={NATIVE_GIVEN}, path=[WETH, NATIVE])"
    )


def test_value_and_unknown_data_are_described(market: SwapMarket) -> None:
    data = market.token.artifact.encode_call("approve", b"\x09" * 20, TOKENS_GIVEN)
    call = ExpectedCall(contract="NATIVE", data=data, value_wei=ONE_NATIVE + NATIVE_GIVEN)
    place = "0x0909090909090909090909090909090909090909"
    assert describe_call(market, {}, call) == (
        f"NATIVE.approve(spender={place}, value=100) with 1.01 TOKEN"
    )
    for unknown in (b"", b"\xff" * 4, data[:20]):
        call = ExpectedCall(contract="NATIVE", data=unknown)
        assert describe_call(market, {}, call) == f"NATIVE.0x{unknown.hex()}"
    assert describe_call(market, {}, ExpectedCall(contract=place, data=b"")) == f"{place}.0x"


CALL, OTHER = (ExpectedCall(contract="router", data=bytes([byte] * 4)) for byte in (1, 2))
WRONG = "expected call: router.0x01010101; made: router.0x02020202"
MISSING = "expected call: router.0x01010101; made: none"


@pytest.mark.parametrize(
    ("expected", "calls", "text", "differences"),
    [
        ((CALL,), (CALL,), "Done.", ()),
        ((), (), REFUSAL, ()),
        ((), (), "Done.", ("the answer is no refusal with a reason",)),
        ((), (), "UNSURE: which?", ("the answer is no refusal with a reason",)),
        ((CALL,), (), REFUSAL, (MISSING, f"not done: {REFUSAL}")),
        ((CALL,), (CALL,), "Failed.", ("not done: Failed.",)),
        ((CALL,), (OTHER,), "Done.", (WRONG,)),
        ((OTHER, CALL), (OTHER, OTHER), "Done.", (WRONG,)),
        (
            (),
            (OTHER,),
            REFUSAL,
            ("expected call: none; made: router.0x02020202",),
        ),
        ((CALL,), (CALL,), None, ("the transaction reverted",)),
        ((), (), None, ("the transaction reverted",)),
    ],
)
def test_a_run_without_differences_is_the_ideal(
    market: SwapMarket,
    expected: tuple[ExpectedCall, ...],
    calls: tuple[ExpectedCall, ...],
    text: str | None,
    differences: tuple[str, ...],
) -> None:
    found = list_differences(market, ACCOUNT, expected=expected, calls=calls, answer=text)
    assert found == differences
    assert is_ideal(expected=expected, calls=calls, answer=text) == (not differences)

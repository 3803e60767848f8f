"""Requests of the swap world: calls of an agent against those that were asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from eth_typing import Address
from eth_utils import to_checksum_address

from benchmarks.agent_runs import deploy_agent
from benchmarks.contenders import Contender, Player
from benchmarks.contract_access import select
from benchmarks.contract_agent import SwapStage
from benchmarks.contract_scenarios import build_task, run_request, run_scenarios
from benchmarks.contract_wordings import read_wordings
from precompiles.abi import ParamDescription, ParamType
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel
from pyevm_agents.scenarios.swap.agent import AgentFunction, SwapAgent
from pyevm_agents.scenarios.swap.market import (
    NATIVE_GIVEN,
    TOKENS_GIVEN,
    describe_world,
)
from pyevm_agents.scenarios.swap.requests import (
    NATIVE_WORD,
    REQUESTS,
    CallLimits,
    ExpectedCall,
    list_expected_calls,
)
from pyevm_agents.scenarios.swap.world import WRAPPED, SwapWorld

if TYPE_CHECKING:
    from pyevm_agents.models import Vocabulary

ACCOUNT = Address(b"\xac" * 20)
LIMITS = CallLimits(slippage_bps=100, deadline=1_000)
REFUSAL = "I cannot call adminFunction because only the contract owner can execute it."
SEED = (
    "What's my USDT balance?",
    "How much USDT for 0.01 BNB?",
    "Swap 0.01 BNB for USDT",
    "Call the admin function",
    "Swap 100 USDT for BNB",
)
"""Source: Autonomify Agent Architecture v2, "Test Scenarios"."""


def described(param_type: ParamType, name: str) -> ParamDescription:
    """Return a parameter whose description is its name."""
    return ParamDescription(param_type=param_type, name=name, description=name)


FUNCTIONS = (
    (
        AgentFunction(
            name="balanceOf",
            contract="USDT",
            signature="balanceOf(address)",
            argument_names=("account",),
            parameters=(described(ParamType.ADDRESS, "account"),),
        ),
        "ViewBalanceResultConverter",
    ),
    (
        AgentFunction(
            name="getAmountsOut",
            contract="router",
            signature="getAmountsOut(uint256,address[])",
            argument_names=("amountIn", "path"),
            parameters=(
                described(ParamType.UINT, "amountIn"), described(ParamType.ADDRESS_ARRAY, "path"),
            ),
        ),
        "LastAmountConverter",
    ),
)  # fmt: skip


class Play(NamedTuple):
    """A stage whose agent reads, and the model that plays its runs."""

    contender: Contender
    stage: SwapStage


@pytest.fixture(scope="module")
def play(vocabulary: Vocabulary) -> Play:
    player = Player()
    model = ScriptedModel(player, vocabulary=vocabulary)
    facts = model.profile_facts
    chain = create_funded_chain(model, facts, build_model_profile(facts))
    sender = LocalAccount(chain)
    world = SwapWorld(sender, native_symbol="BNB")
    world.fund(ACCOUNT)
    tools = {}
    for function, converter in FUNCTIONS:
        parameters = [(int(it.param_type), it.name, it.description) for it in function.parameters]
        tool = sender.deploy(
            load_artifact("SimpleSmartContractTool").encode_creation(
                function.name, "Reads", world.address(function.contract),
                function.selector, (parameters,), False, "",  # noqa: FBT003 - Solidity
                sender.deploy(load_artifact(converter).encode_creation()),
            )
        )  # fmt: skip
        tools[tool] = function
    places = {name: to_checksum_address(world.address(name)) for name in ("USDT", WRAPPED)}
    lines = "\n".join(f"{name} = {place}" for name, place in places.items())
    prompt = f"You help.\n\nACCOUNT = {to_checksum_address(ACCOUNT)}\n{lines}\n{REFUSAL}"
    agent = SwapAgent(
        address=deploy_agent(sender, prompt, [*tools]),
        account=ACCOUNT,
        functions=tools,
        slippage_bps=100,
        deadline_seconds=1_200,
    )
    contender = Contender(name="right", chain=chain, digest=facts.digest, rules={}, player=player)
    stage = SwapStage(sender=sender, market=describe_world(world), agent=agent, refusal=REFUSAL)
    return Play(contender, stage)


def test_the_first_wordings_are_the_designs() -> None:
    wordings = read_wordings("BNB")
    assert tuple(wordings) == tuple(REQUESTS)
    assert tuple(texts[0] for texts in wordings.values()) == SEED


def test_there_are_ten_different_wordings_each() -> None:
    every = [text for texts in read_wordings("XYZ").values() for text in texts]
    assert len(set(every)) == len(every) == 50
    assert all(NATIVE_WORD not in text for text in every)


def test_the_ideal_run_makes_the_expected_calls(play: Play) -> None:
    wordings = {
        name: texts[:2]
        for name, texts in read_wordings("BNB").items()
        if name in {"balance", "quote", "admin"}
    }
    runs = [*run_scenarios(*play, wordings)]
    assert len(runs) == 6
    for run in runs:
        assert run.is_right, run
        assert run.encoded == run.uses == len(run.expected)


@pytest.mark.parametrize(
    ("scenario", "played"),
    [("balance", "quote"), ("quote", "balance"), ("balance", "admin"), ("admin", "balance")],
)
def test_other_calls_are_wrong(play: Play, scenario: str, played: str) -> None:
    expected = list_expected_calls(play.stage.market, ACCOUNT, played, LIMITS)
    play.contender.begin(build_task(play.stage.agent, SEED[0], expected, REFUSAL))
    run = run_request(play.stage, scenario, f"{scenario} {played}")
    assert not run.failure
    assert run.calls == expected
    assert not run.is_right


def test_a_wrong_argument_is_wrong(play: Play) -> None:
    (call,) = list_expected_calls(play.stage.market, ACCOUNT, "balance", LIMITS)
    other = replace(call, data=call.data.replace(ACCOUNT, play.stage.market.token.address))
    play.contender.begin(build_task(play.stage.agent, "Balance?", [other], REFUSAL))
    run = run_request(play.stage, "balance", "Balance?")
    assert run.calls == (other,)
    assert not run.is_right


def test_a_refusal_needs_a_reason(play: Play) -> None:
    play.contender.begin(build_task(play.stage.agent, "Admin!", [], "Done."))
    run = run_request(play.stage, "admin", "Admin!")
    assert (run.calls, run.failure, run.is_right) == ((), "", False)


def test_a_call_without_a_tool_is_named(play: Play) -> None:
    expected = list_expected_calls(play.stage.market, ACCOUNT, "swap", LIMITS)
    with pytest.raises(ValueError, match="router 7ff36ab5: the agent has no tool for it"):
        build_task(play.stage.agent, "Swap", expected, REFUSAL)


def test_swaps_take_the_quote_less_slippage(play: Play) -> None:
    (swap,) = list_expected_calls(play.stage.market, ACCOUNT, "swap", LIMITS)
    market = play.stage.market
    least = market.quote(NATIVE_GIVEN, market.buying_path) * 99 // 100
    data = market.router.artifact.encode_call(
        "swapExactETHForTokens", least, market.buying_path, ACCOUNT, 1_000
    )
    assert swap == ExpectedCall(contract="router", data=data, value_wei=NATIVE_GIVEN)
    approve, swap_back = list_expected_calls(market, ACCOUNT, "swap-back", LIMITS)
    given = TOKENS_GIVEN * market.token_unit
    assert approve.data == market.token.artifact.encode_call(
        "approve", market.router.address, given
    )
    assert swap_back.data.startswith(
        select("swapExactTokensForETH(uint256,uint256,address[],address,uint256)")
    )

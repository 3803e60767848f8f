"""The five requests to the agent of the analysis, with a model that follows a script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from eth_utils import to_checksum_address

from precompiles.address_handles import ACCOUNT_HANDLE
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel, answer, use
from pyevm_agents.scenarios.swap.agent import find_refusal
from pyevm_agents.scenarios.swap.demo import (
    SwapDemo,
    change_chain_id,
)
from pyevm_agents.scenarios.swap.market import NATIVE_GIVEN
from pyevm_agents.scenarios.swap.requests import REQUESTS
from pyevm_agents.scenarios.swap.world import SWAP_CHAIN_ID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models import Vocabulary
    from pyevm_agents.models.fakes.script_steps import Step

pytestmark = pytest.mark.slow


@dataclass
class Script:
    """The steps of the next run; the last one is an answer."""

    steps: list[Step] = field(default_factory=list)

    def __call__(self, request: GenerationRequest) -> Step:
        done = sum(segment.text.startswith("\nObservation: ") for segment in request.segments)
        return self.steps[done]


SCRIPT = Script()


@pytest.fixture(scope="module")
def deployed(vocabulary: Vocabulary) -> SwapDemo:
    model = ScriptedModel(SCRIPT, vocabulary=vocabulary)
    facts = model.profile_facts
    chain = create_funded_chain(model, facts, build_model_profile(facts))
    return SwapDemo.deploy(change_chain_id(chain, SWAP_CHAIN_ID))


@pytest.fixture
def demo(deployed: SwapDemo) -> Iterator[SwapDemo]:
    """The demo, whose runs are undone."""
    snapshot = deployed.chain.snapshot()
    yield deployed
    deployed.chain.revert(snapshot)


def find_tool(demo: SwapDemo, function: str, *, sells: bool = False) -> str:
    """Return the name of a function's tool, of two routes the one that sells the token."""
    path = demo.market.selling_path if sells else demo.market.buying_path
    wanted = tuple(to_checksum_address(place) for place in path)
    for _, tool in demo.tools:
        paths = [it.value for it in tool.spec.arguments if it.name == "path"]
        if tool.function.name == function and (not paths or paths == [wanted]):
            return tool.spec.name
    raise AssertionError(function)


def plan_ideal(demo: SwapDemo, name: str) -> list[Step]:
    market = demo.market
    given = 100 * market.token_unit
    done = answer("Done.")
    match name:
        case "balance":
            return [use(find_tool(demo, "balanceOf"), "I look.", {}), done]
        case "quote":
            tool = find_tool(demo, "getAmountsOut")
            return [use(tool, "I ask.", {"amountIn": NATIVE_GIVEN}), done]
        case "swap":
            tool = find_tool(demo, "swapExactETHForTokens")
            return [use(tool, "I swap.", {"value": NATIVE_GIVEN}), done]
        case "swap-back":
            tool = find_tool(demo, "swapExactTokensForETH", sells=True)
            return [use(tool, "I swap.", {"amountIn": given}), done]
        case _:
            return [answer(find_refusal(demo.agent))]


def test_the_ideal_of_each_request_one_after_the_other(demo: SwapDemo) -> None:
    assert demo.chain.config.chain_id == SWAP_CHAIN_ID
    assert demo.market.native_symbol == "BNB"
    token = demo.market.token_symbol
    last = demo.read_balances()
    for name in REQUESTS:
        SCRIPT.steps = plan_ideal(demo, name)
        run = demo.run(name)
        assert run.is_ideal, run.differences
        assert run.before == last
        last = run.after
        has_moved = run.before != run.after
        assert has_moved == (name in {"swap", "swap-back"})
    start = demo.read_balances()[ACCOUNT_HANDLE]
    assert start[token] < 1_000 * demo.market.token_unit
    assert start["BNB"] > 5 * 10**18


def test_another_call_is_a_difference(demo: SwapDemo) -> None:
    SCRIPT.steps = plan_ideal(demo, "quote")
    run = demo.run("swap")
    assert run.is_success
    assert not run.is_ideal
    (difference,) = run.differences
    assert difference.startswith("expected call: router.swapExactETHForTokens(amountOutMin=")
    assert "with 0.01 BNB; made: router.getAmountsOut(amountIn=10000000000000000" in difference


def test_an_answer_that_is_not_done_reverts_the_run(demo: SwapDemo) -> None:
    said = "UNSURE: which tool?"
    SCRIPT.steps = [*plan_ideal(demo, "swap")[:1], answer(said)]
    run = demo.run("swap")
    assert (run.answer, run.failure) == (said, f"NotDone(answer={said!r})")
    assert not run.is_success
    missing, reason = run.differences
    assert missing.startswith("expected call: router.swapExactETHForTokens(amountOutMin=")
    assert (missing.rpartition("; ")[2], reason) == ("made: none", f"not done: {said}")
    assert run.before == run.after


def test_a_tool_that_reverts_is_a_difference(demo: SwapDemo) -> None:
    tool = find_tool(demo, "swapExactETHForTokens")
    SCRIPT.steps = [use(tool, "I swap.", {"value": 6 * 10**18}), answer("Done.")]
    run = demo.run("swap")
    assert run.failure is not None
    assert run.calls == ()
    assert run.differences[-1] == "the transaction reverted"


def test_contracts_and_tools_have_names(demo: SwapDemo) -> None:
    names = {*demo.names.values()}
    assert {"USDT", "WETH", "UniswapV2Router02", "AdminSwitch", ACCOUNT_HANDLE} <= names
    assert {tool.spec.name for _, tool in demo.tools} <= names

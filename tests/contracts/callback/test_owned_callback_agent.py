"""OwnedCallbackAgent: its owner and allowed callers run it; its tools act through an account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.contract_intelligence.capabilities import Source
from pyevm_agents.contract_intelligence.tool_spec import Argument, RequiredAllowance
from tests.contracts.callback.oracle_bench import LIFETIME, MAX_ITERATIONS, TIMEOUT, WORKER
from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    final_answer,
    reverts,
    text_input,
    use_tool,
)
from tests.contracts.tool_bench import open_bench

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import OracleBench
    from tests.contracts.plain_evm import Account, Contract

CALLBACK_GAS = 3_000_000
ANSWERED, TOOL_FAILED, NOT_DONE = 4, 5, 11
PLAIN = 0
"""`ApprovalToken.Manner`."""


@dataclass(frozen=True)
class OwnedBench:
    """An agent with tools that act through an account, and the oracle that it asks."""

    oracle: OracleBench
    agent: Contract
    account: Contract
    token: Contract
    exchange: Contract
    exchange_tool: Contract
    pull_tool: Contract

    def ask(self, *, sender: Account = OWNER) -> int:
        return self.oracle.ask(self.agent, sender=sender)

    def exchange_units(self, amount: int) -> tuple[object, ...]:
        return use_tool(self.exchange_tool.address, ["uint256"], [amount], "exchange")

    def pull(self, amount: int) -> tuple[object, ...]:
        return use_tool(self.pull_tool.address, ["uint256"], [amount], "pull")


@pytest.fixture
def owned(bench: OracleBench) -> OwnedBench:
    tools = open_bench(bench.evm)
    token = bench.evm.deploy("ApprovalToken", PLAIN, "TKN")
    token("mint", tools.account.address, 1_000)
    exchange = bench.evm.deploy("FickleExchange", 3, 3, True)  # noqa: FBT003 - Solidity's order
    place = to_checksum_address(token.address)
    amount = Argument(name="amount", abi_type="uint256")
    least = Argument(name="least", abi_type="uint256", source=Source.MINIMUM, slippage_bps=100)
    allowance = RequiredAllowance(token=place, spender=place, amount_argument="amount")
    exchange_tool, pull_tool = (
        tools.create(spec)
        for spec in (
            tools.spec(
                "(uint256,uint256)", target=exchange, function="exchange",
                output_types="(uint256)", arguments=[amount, least], minimum_output=0,
            ),
            tools.spec(
                "(uint256)", target=token, function="pull", output_types="(bool)",
                arguments=[amount], allowances=(allowance,), must_return_true=True,
            ),
        )
    )  # fmt: skip
    agent = bench.evm.deploy(
        "OwnedCallbackAgent",
        (bench.oracle.address, CALLBACK_GAS, TIMEOUT, LIFETIME),
        *("some-model", "Trader", "Trades", "What to do", "You trade."),
        [exchange_tool.address, pull_tool.address],
        MAX_ITERATIONS,
    )
    tools.account("setAgent", agent.address)
    return OwnedBench(bench, agent, tools.account, token, exchange, exchange_tool, pull_tool)


def test_the_owner_and_allowed_callers_run_it(owned: OwnedBench) -> None:
    agent, cost = owned.agent, owned.agent("costOfRun")
    assert agent("owner") == OWNER.address
    for value in (0, cost):
        with reverts("CallerNotAllowed", STRANGER.address):
            agent("ask", "Swap", ZERO, sender=STRANGER, value_wei=value)
    with reverts("CallerNotAllowed", STRANGER.address):
        agent("run", text_input("Swap"), ZERO, sender=STRANGER)
    with reverts("NoSubscription"):
        agent("run", text_input("Swap"), ZERO)
    assert owned.ask() == 1
    agent("setCaller", STRANGER.address, True)  # noqa: FBT003 - Solidity's order
    assert owned.ask(sender=STRANGER) == 2
    agent("setCaller", STRANGER.address, False)  # noqa: FBT003 - Solidity's order
    with reverts("CallerNotAllowed", STRANGER.address):
        owned.ask(sender=STRANGER)


def test_a_new_owner_runs_it_and_the_former_one_does_not(owned: OwnedBench) -> None:
    owned.agent("transferOwnership", STRANGER.address)
    with reverts("CallerNotAllowed", STRANGER.address):
        owned.ask(sender=STRANGER)
    owned.agent("acceptOwnership", sender=STRANGER)
    assert owned.ask(sender=STRANGER) == 1
    with reverts("CallerNotAllowed", OWNER.address):
        owned.ask()


def test_a_run_acts_through_the_account(owned: OwnedBench) -> None:
    owned.ask()
    owned.oracle.say(owned.exchange_units(100), owned.pull(70), agent=owned.agent)
    assert (owned.exchange("lastPaid"), owned.exchange("lastLeast")) == (300, 297)
    assert owned.token("balanceOf", owned.account.address) == 930
    assert owned.token("allowance", owned.account.address, owned.token.address) == 0
    owned.oracle.say(final_answer("Done."), agent=owned.agent)
    assert owned.agent("statusOf", 1) == ANSWERED
    steps, results = owned.agent("stepsOf", 1)
    assert (steps, results) == (("exchange", "pull"), ("300", "Done"))


def test_what_a_step_did_stands(owned: OwnedBench) -> None:
    owned.ask()
    owned.oracle.say(owned.pull(70), owned.pull(5_000), agent=owned.agent)
    assert owned.agent("statusOf", 1) == TOOL_FAILED
    assert owned.token("balanceOf", owned.account.address) == 930
    owned.ask()
    owned.oracle.say(
        owned.pull(30), final_answer("UNSURE: which one?"), run_id=2, agent=owned.agent
    )
    assert (owned.agent("statusOf", 2), owned.agent("resultOf", 2)) == (
        *(NOT_DONE, "UNSURE: which one?"),
    )
    assert owned.token("balanceOf", owned.account.address) == 900


def test_nobody_but_the_agent_runs_its_tools(owned: OwnedBench) -> None:
    form = ([(4, encode(["uint256"], [1]))], b"")
    for sender in (OWNER, STRANGER, WORKER):
        for tool in (owned.exchange_tool, owned.pull_tool):
            with reverts("NotAgent", sender.address):
                tool("run", form, ZERO, sender=sender)
        with reverts("NotOracle", sender.address):
            owned.agent("handleAnswer", 1, 1, b"", sender=sender)


def test_a_former_agent_has_no_tools_left(owned: OwnedBench) -> None:
    owned.ask()
    owned.account("setAgent", OWNER.address)
    owned.oracle.say(owned.pull(70), agent=owned.agent)
    assert owned.agent("statusOf", 1) == TOOL_FAILED
    assert owned.token("balanceOf", owned.account.address) == 1_000
    assert to_canonical_address(owned.account("agent")) == to_canonical_address(OWNER.address)

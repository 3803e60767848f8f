"""AbiTools of another account than AgentAccount: a treasury needs `agent` and `execute` alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eth_abi import encode
from eth_utils import keccak, to_checksum_address

from precompiles.abi import ParamType
from pyevm_agents.contract_intelligence.capabilities import Source
from pyevm_agents.contract_intelligence.tool_spec import Argument, CallValue, RequiredAllowance
from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    Contract,
    RevertedError,
    plain_evm,
    reverts,
)
from tests.contracts.tool_bench import ToolBench, open_bench

UINT = ParamType.UINT
PLAIN = 0
"""`ApprovalToken.Manner`."""

AMOUNT = Argument(name="amount", abi_type="uint256")
LEAST = Argument(name="least", abi_type="uint256", source=Source.MINIMUM, slippage_bps=100)


@pytest.fixture
def bench() -> ToolBench:
    """A bench whose account is a treasury; its owner acts as the agent."""
    bench = open_bench(plain_evm())
    return replace(bench, account=bench.evm.deploy("Treasury"))


def appoint(bench: ToolBench, *tools: Contract) -> None:
    bench.account("appoint", OWNER.address, [tool.address for tool in tools])


def create_exchange_tool(bench: ToolBench, exchange: Contract, function: str) -> Contract:
    spec = bench.spec(
        "(uint256,uint256)", target=exchange, function=function, output_types="(uint256)",
        arguments=[AMOUNT, LEAST], minimum_output=0,
    )  # fmt: skip
    return bench.create(spec, register=False)


def test_a_treasury_takes_the_place_of_the_account(bench: ToolBench) -> None:
    token = bench.evm.deploy("ApprovalToken", PLAIN, "TKN")
    exchange = bench.evm.deploy("FickleExchange", 3, 3, True)  # noqa: FBT003 - Solidity's order
    place = to_checksum_address(token.address)
    allowance = RequiredAllowance(token=place, spender=place, amount_argument="amount")
    pull = bench.spec(
        "(uint256)", target=token, function="pull", output_types="(bool)", arguments=[AMOUNT],
        allowances=(allowance,), must_return_true=True,
    )  # fmt: skip
    pay = bench.spec("(address)", value=CallValue(is_chosen=True, most_wei=9), arguments=[
        Argument(name="to", abi_type="address", source=Source.ACCOUNT),
    ])  # fmt: skip
    pull_tool, pay_tool = (bench.create(spec, register=False) for spec in (pull, pay))
    exchange_tool = create_exchange_tool(bench, exchange, "exchange")
    appoint(bench, pull_tool, pay_tool, exchange_tool)
    token("mint", bench.account.address, 1_000)
    bench.evm.send(bench.account.address, b"", value_wei=100)

    assert bench.run(pull_tool, (UINT, 70)) == "Done"
    assert token("balanceOf", bench.account.address) == 930
    assert token("allowance", bench.account.address, token.address) == 0
    assert bench.run(exchange_tool, (UINT, 100)) == "300"
    assert (exchange("lastPaid"), exchange("lastLeast")) == (300, 297)
    assert bench.run(pay_tool, (UINT, 9)) == "Done"
    assert (bench.target("sender"), bench.target("value")) == (bench.account.address, 9)
    assert bench.data[4:] == encode(["address"], [bench.account.address])


def test_a_treasury_s_tools_are_its_agent_s(bench: ToolBench) -> None:
    tool = bench.create(bench.spec("()"), register=False)
    appoint(bench)
    with pytest.raises(RevertedError) as caught:
        bench.run(tool)
    assert caught.value.error == (
        "NotAllowed", tool.address, bench.target.address, keccak(text="call()")[:4],
    )  # fmt: skip
    appoint(bench, tool)
    assert bench.run(tool) == "Done"
    with reverts("NotAgent", STRANGER.address):
        bench.run(tool, sender=STRANGER)


def test_a_target_cannot_imitate_a_trial_s_end(bench: ToolBench) -> None:
    forged = keccak(text="Tried(bytes)")[:4] + encode(["bytes"], [encode(["uint256"], [0])])
    bench.target("setReason", forged)
    tool = create_exchange_tool(bench, bench.target, "call")
    appoint(bench, tool)
    with pytest.raises(RevertedError) as caught:
        bench.run(tool, (UINT, 1))
    name, target, _, reason = caught.value.error
    assert (name, target) == ("TrialFailed", bench.target.address)
    assert RevertedError(bytes(reason)).error == ("Failed", forged)  # type: ignore[call-overload]

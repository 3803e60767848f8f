"""Symbols of tokens: which are flagged and numbered, and how they are shown everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.function_abi import read_interface
from pyevm_agents.contract_intelligence.inspection import InspectedContract, inspect_contracts
from pyevm_agents.contract_intelligence.serialization import choose_handles
from pyevm_agents.contract_intelligence.tool_plan import PlanOptions, plan_agent
from tests.pyevm_agents.contract_intelligence.exchange import USER, build_account, deploy_token
from tests.pyevm_agents.contract_intelligence.recording_analyser import RecordingAnalyser

if TYPE_CHECKING:
    from pyevm_agents.contract_intelligence.capabilities import ContractIntelligence

CYRILLIC, TETHER, WIDE = "USD\u0421", "USD\u20ae0", "\uff35\uff33\uff24\uff23"


def inspect_tokens(symbols: list[str], chain_id: int = 31337) -> list[ContractIntelligence]:
    account = build_account(chain_id)
    artifact = load_artifact("DemoToken")
    interface = read_interface([*artifact.abi], name="Contract", source="file")
    places = [deploy_token(account, "Token", each, 6) for each in symbols]
    found = inspect_contracts(
        account.chain,
        [InspectedContract(address=each, interface=interface) for each in places],
        USER,
        analyse=RecordingAnalyser(),
    )
    return [*found]


@pytest.mark.parametrize(
    ("symbols", "shown", "reasons"),
    [
        (["USDC", "DAI"], ["USDC", "DAI"], ["", ""]),
        (["USDC", "USDC"], ["USDC", "USDC_2"], ["", "another token"]),
        (["USDC", "usdc", "UsDc"], ["USDC", "usdc_2", "UsDc_3"], ["", "another", "another"]),
        (["ALI", "AL1"], ["ALI", "AL1_2"], ["", "another token"]),
        (["ETH", "Ether", "GWEI"], ["ETH_2", "Ether_2", "GWEI_2"], ["native"] * 3),
        ([CYRILLIC], ["USD_2"], ["left out"]),
        (["USDC", CYRILLIC, "USD"], ["USDC", "USD_2", "USD_3"], ["", "left out", "another"]),
        ([TETHER], ["USD0_2"], ["left out"]),
        ([WIDE, "USDC"], ["USDC_2", "USDC_3"], ["left out", "another"]),
        (["USD+", "$WIF"], ["USD_2", "WIF_2"], ["left out", "left out"]),
        (["UNI-V2", "UNI V2"], ["UNI-V2", "UNI_V2_2"], ["", "another token"]),
        (["ACCOUNT"], ["ACCOUNT_2"], ["the agent's account"]),
        (["1INCH", "CONTRACTX"], ["1INCH", "CONTRACTX"], ["", ""]),
    ],
)
def test_a_symbol_that_is_not_certain_is_numbered_with_a_warning(
    symbols: list[str], shown: list[str], reasons: list[str]
) -> None:
    found = inspect_tokens(symbols)
    assert [each.symbol for each in found] == shown
    for contract, reason in zip(found, reasons, strict=True):
        told = [each for each in contract.warnings if each.startswith("symbol ")]
        assert len(told) == bool(reason)
        assert all(reason in each and contract.symbol in each for each in told)
        assert all(each.isascii() for each in told)
    handles = choose_handles(found, account=USER)
    assert len({each.casefold() for each in handles.values()}) == len(handles)


@pytest.mark.parametrize(
    ("chain_id", "symbols", "shown"),
    [
        (56, ["BNB", "tBNB", "ETH"], ["BNB_2", "tBNB", "ETH"]),
        (97, ["tbnb", "BNB"], ["tbnb_2", "BNB_2"]),
        (137, ["POL", "ETH"], ["POL_2", "ETH"]),
    ],
)
def test_the_native_currency_is_the_chain_s(
    chain_id: int, symbols: list[str], shown: list[str]
) -> None:
    assert [each.symbol for each in inspect_tokens(symbols, chain_id)] == shown


def test_a_numbered_symbol_is_shown_everywhere() -> None:
    """In handles, units, tools and the outputs of tools."""
    contracts = inspect_tokens(["USDC", CYRILLIC, "ETH"])
    options = PlanOptions(functions=("transfer", "balanceOf"))
    plan = plan_agent(contracts, get_chain_metadata(31337), options)
    lines = plan.base_prompt.splitlines()
    for contract, name in zip(contracts, ("USDC", "USD_2", "ETH_2"), strict=True):
        assert f"{name} = {contract.address}" in lines
        tools = {each.function.name: each.spec for each in plan.tools if each.contract == name}
        texts = [text for _, _, text in tools["transfer"].model_parameters]
        assert any(f"{name}, 6 decimals" in text for text in texts)
        assert tools["balanceOf"].outputs[0].symbol == name

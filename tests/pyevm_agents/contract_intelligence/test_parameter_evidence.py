"""Units of amounts, and members of enums, as executions show them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.bundled import load_artifact, load_artifact_form
from pyevm_agents.contract_intelligence.access import analyse_functions
from pyevm_agents.contract_intelligence.capabilities import (
    ExampleCall,
    FunctionCapability,
    Parameter,
    Source,
)
from pyevm_agents.contract_intelligence.function_abi import read_interface
from pyevm_agents.contract_intelligence.parameter_evidence import share_units
from tests.chain_bench import OWNER, Bench
from tests.pyevm_agents.contract_intelligence.deployment import AGENT, hex_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth_typing import Address

BOX_TOKENS, BOX_WEI = 10**20, 10**18


def analyse_box(
    chain: Bench, name: str, address: Address, known: dict[str, str] | None = None
) -> dict[str, FunctionCapability]:
    """Return the analysed functions of a contract by name."""
    interface = read_interface(load_artifact_form(name), name=name, source="file")
    assert interface is not None
    found = analyse_functions(
        chain.chain, address, interface.functions, AGENT, known_accounts=known
    )
    return {each.name: each for each in found}


def list_leaves(parameters: tuple[Parameter, ...]) -> Iterator[Parameter]:
    for each in parameters:
        yield each
        yield from list_leaves(each.components)


def list_units(function: FunctionCapability) -> dict[str, str]:
    return {each.name: each.token for each in list_leaves(function.parameters) if each.token}


def deploy_box(chain: Bench) -> tuple[str, Address]:
    """Deploy a box that has tokens and ether; return its token and its address."""
    token = chain.deploy("TokenBox", OWNER)
    box = chain.deploy("UnitBox", token)
    transfer = load_artifact("TokenBox").encode_call("transfer", hex_of(box), BOX_TOKENS)
    chain.send(token, transfer)[1].raise_if_error()
    chain.send(box, b"", value_wei=BOX_WEI)[1].raise_if_error()
    return hex_of(token), box


def test_numbers_have_the_unit_of_what_moves(bench: Callable[..., Bench]) -> None:
    chain = bench()
    token, box = deploy_box(chain)
    functions = analyse_box(chain, "UnitBox", box, {token: ""})
    units = {name: list_units(each) for name, each in functions.items()}
    assert {name: each for name, each in units.items() if each} == {
        "stake": {"amount": token},
        "unstake": {"amount": token},
        "open": {"amount": token},
        "stakeUntil": {"amount": token},
        "payPart": {"amount": token},
        "payBatch": {"amounts": token},
        "payList": {"amount": token},
        "payOne": {"amount": token},
        "payOut": {"amount": "native"},
        "supply": {"amount": "asset"},
    }
    outputs = {name: each.outputs[0].token for name, each in functions.items() if each.outputs}
    assert {name: each for name, each in outputs.items() if each} == {
        "unstake": token,
        "held": token,
    }
    # There is nothing due on an invoice of the account: another state shows what is paid.
    assert functions["payPart"].example is None


def test_recipients_and_tokens_are_what_executions_show(bench: Callable[..., Bench]) -> None:
    chain = bench()
    token, box = deploy_box(chain)
    other, stranger = (
        hex_of(chain.deploy("TokenBox", OWNER)),
        hex_of(chain.deploy("ItemBox", OWNER)),
    )
    functions = analyse_box(chain, "UnitBox", box, {token: "", other: "", stranger: ""})
    recipients = {
        name: [each.name for each in list_leaves(function.parameters) if each.is_recipient]
        for name, function in functions.items()
    }
    assert {name: found for name, found in recipients.items() if found} == {
        "payBatch": ["to"],
        "payList": ["to"],
        "payOne": ["to"],
        "payOut": ["to"],
    }
    tokens = {
        (name, each.name): {*each.tokens}
        for name, function in functions.items()
        for each in function.parameters
        if each.tokens
    }
    assert tokens == {("supply", "asset"): {token, other}}


def test_terms_of_business_are_not_derived(bench: Callable[..., Bench]) -> None:
    chain = bench()
    token, box = deploy_box(chain)
    functions = analyse_box(chain, "UnitBox", box, {token: ""})
    deadlines = {
        name: each.parameters[-1].derivation
        for name, each in functions.items()
        if each.parameters and each.parameters[-1].name == "deadline"
    }
    assert deadlines["open"] is None
    assert deadlines["stakeUntil"] is not None
    assert deadlines["stakeUntil"].source is Source.DEADLINE


def test_a_number_that_equals_an_output_by_accident_is_no_minimum(
    bench: Callable[..., Bench],
) -> None:
    chain = bench()
    _, box = deploy_box(chain)
    book = analyse_box(chain, "UnitBox", box)["book"]
    assert book.example is not None
    assert book.example.output == (4,)
    assert [each.derivation for each in book.parameters] == [None, None]


def test_shares_of_a_vault_are_no_amount_of_its_token(bench: Callable[..., Bench]) -> None:
    """One share is worth one unit: what moves is as much, but it was computed by the rate."""
    chain = bench()
    token = chain.deploy("TokenBox", OWNER)
    vault = chain.deploy("VaultBox", token)
    approve = load_artifact("TokenBox").encode_call("approve", hex_of(vault), 10**20)
    chain.send(token, approve)[1].raise_if_error()
    deposit = load_artifact("VaultBox").encode_call("deposit", 10**20, hex_of(OWNER))
    chain.send(vault, deposit)[1].raise_if_error()
    functions = analyse_box(chain, "VaultBox", vault, {hex_of(token): ""})
    assert list_units(functions["deposit"]) == {"assets": hex_of(token)}
    assert list_units(functions["withdraw"]) == {"assets": hex_of(token)}
    assert list_units(functions["redeem"]) == {"shares": hex_of(vault)}


def test_enums_have_the_members_that_calls_take(bench: Callable[..., Bench]) -> None:
    chain = bench()
    _, box = deploy_box(chain)
    functions = analyse_box(chain, "UnitBox", box)
    found = {
        (name, each.name): (each.enum, each.members)
        for name, function in functions.items()
        for each in function.parameters
        if each.enum or each.members
    }
    assert found == {
        ("setMode", "newMode"): ("Mode", 3),
        ("setModes", "modes"): ("Mode", 3),
    }


def name_function(
    name: str, *parameters: Parameter, example: ExampleCall | None = None
) -> FunctionCapability:
    return FunctionCapability(
        name=name, signature=f"{name}()", selector=bytes(4), parameters=parameters, example=example
    )


TOKEN, OTHER = "0x" + "c3" * 20, "0x" + "d4" * 20
AMOUNT = Parameter(name="amount", abi_type="uint256")
RAN = ExampleCall(args=())


@pytest.mark.parametrize(
    ("siblings", "parameter", "unit"),
    [
        ((TOKEN,), AMOUNT, TOKEN),
        ((TOKEN, TOKEN), AMOUNT, TOKEN),
        (("native",), AMOUNT, "native"),
        ((TOKEN,), replace(AMOUNT, abi_type="uint96[]"), TOKEN),
        ((TOKEN, OTHER), AMOUNT, ""),
        ((TOKEN, "native"), AMOUNT, ""),
        (("asset",), AMOUNT, ""),
        (("path[0]",), AMOUNT, ""),
        ((), AMOUNT, ""),
        ((TOKEN,), replace(AMOUNT, name="value"), ""),
        ((TOKEN,), replace(AMOUNT, abi_type="address"), ""),
        ((TOKEN,), replace(AMOUNT, description="how many shares, at least"), ""),
        ((TOKEN,), replace(AMOUNT, token=OTHER), OTHER),
    ],
)
def test_a_function_that_was_not_run_takes_the_only_unit_of_its_siblings(
    siblings: tuple[str, ...], parameter: Parameter, unit: str
) -> None:
    ran = [name_function("f", replace(AMOUNT, token=each), example=RAN) for each in siblings]
    *others, found, same = share_units(
        [*ran, name_function("g", parameter), name_function("h", parameter, example=RAN)]
    )
    assert found.parameters[0].token == unit
    assert same.parameters[0] == parameter
    assert others == ran


def test_a_price_has_the_unit_of_what_another_call_moves(bench: Callable[..., Bench]) -> None:
    """Neither the item nor the label of an offer counts the token that its buyer pays."""
    chain = bench()
    token = chain.deploy("TokenBox", OWNER)
    stall = chain.deploy("StallBox", token)
    functions = analyse_box(chain, "StallBox", stall)
    assert list_units(functions["put"]) == {"asked": hex_of(token)}

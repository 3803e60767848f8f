"""The primitives of Web3: the file is whole, and neither it nor the package has an address."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.abi.values import is_abi_type, is_contract_name
from pyevm_agents.contract_intelligence import primitives
from pyevm_agents.contract_intelligence.capabilities import (
    ContractKind,
    Parameter,
    ParameterRole,
    Source,
)
from pyevm_agents.contract_intelligence.function_abi import read_interface
from pyevm_agents.contract_intelligence.natspec_text import format_choices
from pyevm_agents.contract_intelligence.primitives import FILE, FunctionRule, load_primitives
from pyevm_agents.contract_intelligence.untrusted_text import clean_text
from tests.pyevm_agents.contract_intelligence.exchange import (
    find_openzeppelin_artifact,
    find_uniswap_artifact,
    load_abi,
)

RULES = load_primitives()
ADDRESS = re.compile(r"(?i)(?<![0-9a-z])(?:0x)?[0-9a-f]{40}(?![0-9a-f])")
MADE_UP = "0" * 30
"""In an address that no contract has, for calls of nobody."""

CHAIN_ID = re.compile(r"chain_?id\s*(?:==|!=|in|=)\s*[\d({\[]", re.IGNORECASE)
THIS = str(to_checksum_address(b"\x11" * 20))
ASSET = str(to_checksum_address(b"\x22" * 20))
VOTES = "Vote on a proposal: for it, against it, or abstain."
VOTE = "0 = against, 1 = for, 2 = abstain"
OPENZEPPELIN: dict[str, set[str]] = {
    "ERC20": set(),
    "ERC721": set(),
    "ERC1155": set(),
    "ERC4626": set(),
    "Ownable": set(),
    "Ownable2Step": set(),
    "AccessControl": set(),
    "AccessControlEnumerable": set(),
    "ERC20Permit": set(),
    "ERC20Votes": {"checkpoints", "numCheckpoints"},
    "Governor": {
        "BALLOT_TYPEHASH",
        "EXTENDED_BALLOT_TYPEHASH",
        "getProposalId",
        "onERC721Received",
        "onERC1155Received",
        "onERC1155BatchReceived",
        "version",
    },
}
"""Contracts, and names of their functions that are none of a standard."""


def test_the_package_has_no_address_and_no_chain() -> None:
    files = [*FILE.parent.glob("*.py"), FILE]
    assert len(files) > 10
    found = [
        (file.name, match[0])
        for file in files
        for pattern in (ADDRESS, CHAIN_ID)
        for match in pattern.finditer(file.read_text())
        if MADE_UP not in match[0]
    ]
    assert found == []


@pytest.mark.parametrize(
    "rule", RULES.functions, ids=lambda rule: " ".join([rule.signature, *sorted(rule.kinds)])
)
def test_a_rule_of_a_function_is_whole(rule: FunctionRule) -> None:
    name, types = rule.signature.partition("(")[0], rule.types
    assert is_contract_name(name)
    assert all(map(is_abi_type, (*types, *rule.outputs)))
    assert f"{name}({','.join(types)})" == rule.signature
    assert len(rule.names) == len(types)
    assert len(set(rule.names)) == len(rule.names)
    assert rule.mutability in {"view", "nonpayable", "payable"}
    assert rule.sentence == clean_text(rule.sentence)
    assert rule.sentence.endswith(".")
    assert all(text == clean_text(text).rstrip(".") for text in rule.texts.values())
    assert all(text == format_choices(text) for text in (rule.sentence, *rule.texts.values()))
    places = {str(place) for place in range(len(types))}
    outputs = {f"out{place}" for place in range(len(rule.outputs))}
    assert rule.roles.keys() <= places
    assert rule.texts.keys() <= places
    assert rule.units.keys() <= places | outputs
    for place in {*rule.units, *rule.roles} & places:
        if place in rule.units or rule.roles[place] in {
            ParameterRole.AMOUNT,
            ParameterRole.DEADLINE,
        }:
            assert types[int(place)].startswith("uint"), place
    for unit in rule.units.values():
        parameter = unit.partition("[")[0]
        is_read = primitives.READ_UNIT.fullmatch(unit) is not None
        assert is_read or unit in {"this", "native"} or parameter in rule.names, unit
    assert not rule.quote or rule.quote in {each.signature for each in RULES.functions}
    assert (ParameterRole.DEADLINE in rule.roles.values()) == bool(rule.seconds) or "permit" in name


def test_selectors_and_keys_are_unique_and_known() -> None:
    cases = [(rule.signature, kind) for rule in RULES.functions for kind in rule.kinds or [""]]
    assert len(set(cases)) == len(cases)
    assert {rule.signature for rules in RULES.by_selector.values() for rule in rules} == {
        rule.signature for rule in RULES.functions
    }
    for rules in RULES.by_selector.values():
        assert len({(rule.signature, rule.mutability) for rule in rules}) == 1
    assert len({rule.kind for rule in RULES.kinds}) == len(RULES.kinds)
    assert {rule.kind for rule in RULES.kinds} == set(ContractKind) - {ContractKind.CUSTOM}
    form = tomllib.loads(FILE.read_text())
    known = {
        "signature",
        "beside",
        "standard",
        "names",
        "sentence",
        "texts",
        "outputs",
        "mutability",
        "roles",
        "units",
        "quote",
        "kinds",
    }
    assert {key for each in form["function"] for key in each} == known | {"seconds"}
    assert {key for each in form["kind"] for key in each} == {"name", "functions", "reads"}
    head = FILE.read_text().partition("\n[reads]\n")[0]
    assert [key for key in (*known, "seconds", "reads") if f"#   {key} " not in head] == []


@pytest.mark.parametrize(
    ("artifact", "kind"),
    [
        (("v2-periphery", "UniswapV2Router02"), ContractKind.DEX_ROUTER),
        (("v2-core", "UniswapV2Pair"), ContractKind.DEX_PAIR),
        (("v2-core", "UniswapV2Factory"), ContractKind.DEX_FACTORY),
        (("v2-periphery", "WETH9"), ContractKind.ERC20),
        (("ERC20",), ContractKind.ERC20),
        (("ERC721",), ContractKind.ERC721),
        (("ERC4626",), ContractKind.ERC4626),
        (("Governor",), ContractKind.GOVERNANCE),
        (("Ownable",), None),
    ],
)
def test_kinds_of_real_contracts(artifact: tuple[str, ...], kind: ContractKind | None) -> None:
    is_uniswap = len(artifact) > 1
    find = find_uniswap_artifact if is_uniswap else find_openzeppelin_artifact
    interface = read_interface(load_abi(find(*artifact)), name="x", source="file")
    assert interface is not None
    kinds = RULES.list_kinds([each.signature for each in interface.functions])
    assert (kinds[0].kind if kinds else None) is kind


def test_what_the_rules_add_to_a_function() -> None:
    signature = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
    names = ("paid", "least", "route", "receiver", "until")
    form = [
        {"name": name, "type": text}
        for name, text in zip(names, signature[25:-1].split(","), strict=True)
    ]
    abi = [{"type": "function", "name": signature[:24], "inputs": form, "outputs": []}]
    interface = read_interface(abi, name="Router", source="file")
    assert interface is not None
    function = RULES.annotate(interface.functions[0], ContractKind.DEX_ROUTER, lambda _: "")
    assert [each.name for each in function.parameters] == [*names]
    assert [each.role for each in function.parameters] == [
        ParameterRole.AMOUNT,
        ParameterRole.MINIMUM,
        ParameterRole.PATH,
        ParameterRole.RECIPIENT,
        ParameterRole.DEADLINE,
    ]
    # The names of units are the contract's own.
    assert [each.token for each in function.parameters] == ["route[0]", "route[-1]", "", "", ""]
    derivations = [each.derivation for each in function.parameters]
    assert [each.source if each else None for each in derivations] == [
        None, Source.MINIMUM, None, Source.ACCOUNT, Source.DEADLINE,
    ]  # fmt: skip
    assert [each.sentence for each in derivations if each] == [
        "least: what the call would pay, less 0.5 %",
        "receiver: the agent's account",
        "until: 1200 seconds after the block's time",
    ]
    assert function.quote == "getAmountsOut(uint256,address[])"
    assert function.description == "Pay an exact amount of the first token for the last token."


def test_units_of_a_vault() -> None:
    tokens = {"this": THIS, "asset()": ASSET}
    rule = next(each for each in RULES.functions if each.signature == "deposit(uint256,address)")
    function = RULES.annotate(rule.describe(), ContractKind.ERC4626, tokens.__getitem__)
    assert (function.parameters[0].token, function.outputs[0].token) == (ASSET, THIS)
    assert function.quote == "previewDeposit(uint256)"


def test_a_comment_of_the_source_stays_and_unknown_functions_too() -> None:
    abi = [
        {"type": "function", "name": "pause", "inputs": [], "outputs": []},
        {"type": "function", "name": "other", "inputs": [], "outputs": []},
    ]
    userdoc = {"methods": {"pause()": {"notice": "Waits."}}}
    interface = read_interface({"abi": abi, "userdoc": userdoc}, name="x", source="file")
    assert interface is not None
    pause, other = (
        RULES.annotate(each, ContractKind.CUSTOM, lambda _: "") for each in interface.functions
    )
    assert (pause.description, other) == ("Waits.", interface.functions[1])


@pytest.mark.parametrize(
    ("kind", "beside", "description", "text"),
    [
        (ContractKind.GOVERNANCE, True, VOTES, VOTE),
        (ContractKind.CUSTOM, True, VOTES, VOTE),
        (ContractKind.CUSTOM, False, "Votes.", "yes or no"),
    ],
)
def test_a_standard_has_texts_of_the_products_own(
    kind: ContractKind, beside: bool, description: str, text: str
) -> None:
    rule = next(each for each in RULES.functions if each.signature == "castVote(uint256,uint8)")
    commented = replace(
        rule.describe(),
        description="Votes.",
        parameters=(
            Parameter(name="id", abi_type="uint256"),
            Parameter(name="how", abi_type="uint8", description="yes or no"),
        ),
    )
    signatures = rule.beside if beside else ()
    found = RULES.annotate(commented, kind, lambda _: "", signatures)
    assert (found.description, found.parameters[1].description) == (description, text)


def test_functions_of_the_standards_have_sentences() -> None:
    """What OpenZeppelin's contracts have of each standard has a sentence that its comments have
    not.
    """  # noqa: D205 - one sentence
    named = {each.signature for each in RULES.functions if each.standard}
    for artifact, others in OPENZEPPELIN.items():
        interface = read_interface(
            load_abi(find_openzeppelin_artifact(artifact)), name="x", source="file"
        )
        assert interface is not None
        found = {each.signature for each in interface.functions}
        assert {each for each in found - named if each.partition("(")[0] not in others} == set()


@pytest.mark.parametrize(
    ("kind", "description"),
    [
        (ContractKind.ERC20, "Allow a spender to move an amount of the account's tokens."),
        (ContractKind.DEX_PAIR, "Allow a spender to move an amount of the account's tokens."),
        (ContractKind.ERC721, "Allow a spender to move a token of the account."),
        (ContractKind.CUSTOM, ""),
    ],
)
def test_a_rule_is_about_its_kinds(kind: ContractKind, description: str) -> None:
    function = RULES.describe(bytes.fromhex("095ea7b3"))
    assert function is not None
    found = RULES.annotate(function, kind, lambda _: THIS)
    assert found.description == description
    assert found.parameters[1].token == (THIS if description.endswith("tokens.") else "")


def test_an_unknown_selector_has_no_rule() -> None:
    assert RULES.describe(b"\x01\x02\x03\x04") is None

"""Contract intelligence as JSON and as an agent's context."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.address_handles import AddressBook
from precompiles.spec import MAX_HANDLE_CHARACTERS
from pyevm_agents.contract_intelligence.capabilities import (
    Access,
    Approval,
    ApprovalKind,
    ContractIntelligence,
    ContractKind,
    Derivation,
    ExampleCall,
    FunctionCapability,
    Parameter,
    ParameterRole,
    QuotedPath,
    Relationships,
    Source,
    TokenFacts,
    TokenPair,
)
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.metadata_stability import MetadataSlot, MetadataStability
from pyevm_agents.contract_intelligence.serialization import (
    MAX_SAFE_INTEGER,
    build_context,
    choose_handles,
    serialize_inspection,
    serialize_value,
)
from tests.pyevm_agents.contract_intelligence.answering_code import address_of

ACCOUNT, TOKEN, ROUTER, OWNER = map(address_of, (0xA0, 0xB0, 0xC0, 0xD0))
CHAIN = get_chain_metadata(56)
SWAP = FunctionCapability(
    name="swap",
    signature="swap(uint256,(address,uint24)[])",
    selector=b"\x01\x02\x03\x04",
    parameters=(
        Parameter(
            name="least",
            abi_type="uint256",
            token=TOKEN,
            role=ParameterRole.MINIMUM,
            derivation=Derivation(source=Source.MINIMUM, slippage_bps=50, sentence="least: so"),
        ),
        Parameter(
            name="hops",
            abi_type="(address,uint24)[]",
            components=(Parameter(name="token", abi_type="address"),),
        ),
    ),
    description="Swaps.",
    is_payable=True,
    access=Access.OPEN,
    approvals=(Approval(token=TOKEN, spender=ROUTER, amount=2**256 - 1, parameter="least"),),
    needs_balance_of=("native",),
    example=ExampleCall(
        args=(2**64, [(TOKEN, 3000)], b"\xff", True), value_wei=1, caller=ACCOUNT, output=(-5,)
    ),
)  # fmt: skip
SET_FEE = FunctionCapability(
    name="setFee",
    signature="setFee(uint256)",
    selector=bytes(4),
    parameters=(),
    access=Access.FORBIDDEN,
    reason=f"only {OWNER} can call it.",
    callers=(OWNER,),
)
BURN = replace(SET_FEE, name="burn", reason="I cannot call burn because nobody can.")
CONTRACT = ContractIntelligence(
    address=ROUTER,
    name="Router",
    kind=ContractKind.DEX_ROUTER,
    account=ACCOUNT,
    block_number=7,
    chain_id=56,
    abi_source="file",
    functions=(SWAP, SET_FEE, BURN),
    relationships=Relationships(
        tokens=(TokenFacts(address=TOKEN, symbol="CAKE", decimals=18),),
        token_pairs=(TokenPair(token_a=TOKEN, token_b=OWNER, pool=ROUTER),),
        paths=(QuotedPath(tokens=(TOKEN, OWNER), amount_in=1, amount_out=2**60),),
        admin_address=OWNER,
    ),
    warnings=("a\nwarning",),
)


def contract(symbol: str, number: int) -> ContractIntelligence:
    """Return a token with a symbol."""
    kind, address = ContractKind.ERC20, address_of(number)
    return replace(
        CONTRACT, kind=kind, symbol=symbol, address=address, relationships=Relationships()
    )


def test_the_schema() -> None:
    slot = MetadataSlot(account=TOKEN, slot=2**255, readers=("name",), writers=("setFee()",))
    stability = MetadataStability(slots=(slot,), environment=("CALLER",))
    form = serialize_inspection([CONTRACT], CHAIN, {ROUTER: stability})
    assert json.loads(json.dumps(form)) == form
    assert form.keys() == {
        "schemaVersion", "chain", "blockNumber", "account", "contracts", "groups",
    }  # fmt: skip
    assert form["chain"] == {
        "id": 56,
        "name": "BNB Smart Chain Mainnet",
        "nativeSymbol": "BNB",
        "nativeDecimals": 18,
        "explorerUrl": "https://bscscan.com",
    }
    [found] = form["contracts"]
    assert found["canWrite"] == ["swap(uint256,(address,uint24)[])"]
    assert found["cannotCall"] == ["setFee(uint256)", "setFee(uint256)"]
    assert found["warnings"] == ["a warning"]
    assert found["relationships"] == {
        "tokens": [{"address": TOKEN, "symbol": "CAKE", "decimals": 18, "name": None}],
        "tokenPairs": [{"tokenA": TOKEN, "tokenB": OWNER, "pool": ROUTER}],
        "paths": [{"tokens": [TOKEN, OWNER], "amountIn": 1, "amountOut": str(2**60)}],
        "requiredApprovals": [],
        "adminAddress": OWNER,
        "wrappedNative": None,
        "namedContracts": [],
    }
    assert found["toolMetadata"] == {
        "canChange": True,
        "slots": [
            {
                "account": TOKEN,
                "slot": hex(2**255),
                "readers": ["name"],
                "writers": ["setFee()"],
                "callers": [],
                "isOpen": False,
            }
        ],
        "codeChanges": [],
        "environment": ["CALLER"],
    }
    swap = found["functions"][0]
    assert swap["selector"] == "0x01020304"
    assert swap["parameters"][0] == {
        "name": "least",
        "type": "uint256",
        "description": "",
        "components": [],
        "role": "minimum",
        "token": TOKEN,
        "tokens": [],
        "isRecipient": False,
        "enum": None,
        "members": None,
        "derivation": {
            "source": "minimum", "seconds": 0, "slippageBps": 50, "value": None,
            "sentence": "least: so",
        },
    }  # fmt: skip
    assert swap["parameters"][1]["components"][0]["type"] == "address"
    approval = {
        "token": TOKEN, "spender": ROUTER, "amount": str(2**256 - 1), "parameter": "least",
        "kind": "amount", "item": None,
    }  # fmt: skip
    assert swap["approvals"] == [approval]
    assert swap["requires"] == [
        {"need": "approval", **approval},
        {"need": "balance", "token": "native"},
    ]
    assert swap["exampleCall"] == {
        "args": [str(2**64), [[TOKEN, 3000]], "0xff", True],
        "value": "1",
        "caller": ACCOUNT,
        "gasUsed": 0,
        "output": [-5],
    }
    assert found["functions"][1]["reason"] == f"only {OWNER} can call it."
    assert found["functions"][1]["exampleCall"] is None


def test_requirements_name_items() -> None:
    item = Approval(
        token=TOKEN, spender=ROUTER, amount=None, parameter="id", kind=ApprovalKind.ITEM, item=2**60
    )
    every = Approval(token=TOKEN, spender=ROUTER, amount=None, kind=ApprovalKind.ALL)
    function = replace(SWAP, approvals=(item, every), needs_balance_of=(TOKEN,))
    form = serialize_inspection([replace(CONTRACT, functions=(function,))], CHAIN)
    requires = form["contracts"][0]["functions"][0]["requires"]
    assert [(each["need"], each.get("kind"), each.get("item")) for each in requires] == [
        ("approval", "item", str(2**60)),
        ("approval", "all", None),
        ("balance", None, None),
    ]


@given(st.integers(-(2**256), 2**256))
def test_integers_are_exact_in_javascript(number: int) -> None:
    form = serialize_value(number)
    assert form == (number if abs(number) <= MAX_SAFE_INTEGER else str(number))
    assert int(json.loads(json.dumps(form), parse_int=lambda text: int(float(text)))) == number


def test_the_context_of_an_agent() -> None:
    assert build_context([CONTRACT], CHAIN).split("\n") == [
        "You act on BNB Smart Chain Mainnet with the account ACCOUNT. The native token is BNB.",
        f"ACCOUNT = {ACCOUNT}",
        f"Router = {ROUTER}",
        f"CAKE = {TOKEN}",
        f"OWNER_OF_Router = {OWNER}",
        "I cannot call setFee because only OWNER_OF_Router can call it.",
        "I cannot call burn because nobody can.",
    ]
    both = build_context([CONTRACT, contract("USDC", 1)], CHAIN)
    assert "I cannot call setFee because in Router only OWNER_OF_Router can call it." in both
    assert "I cannot call burn because in USDC nobody can." in both
    assert f"USDC = {address_of(1)}" in both
    assert build_context([CONTRACT], CHAIN, max_reasons=1).count("I cannot") == 1


def test_the_executor_takes_the_handles() -> None:
    context = build_context([CONTRACT, contract("USDC", 1), contract("USDC", 2)], CHAIN)
    assert dict(AddressBook(context, ()).handles) == {
        "ACCOUNT": ACCOUNT,
        "Router": ROUTER,
        "USDC": address_of(1),
        "USDC_2": address_of(2),
        "CAKE": TOKEN,
        "OWNER_OF_Router": OWNER,
    }


@given(st.lists(st.text(max_size=60), min_size=1, max_size=6))
def test_handles_are_taken_whatever_contracts_are_called(symbols: list[str]) -> None:
    contracts = [contract(symbol, number) for number, symbol in enumerate(symbols, start=1)]
    handles = choose_handles(contracts, account=ACCOUNT)
    context = build_context(contracts, CHAIN)
    assert dict(AddressBook(context, ()).handles).items() >= {
        (name, address) for address, name in handles.items()
    }
    assert max(map(len, handles.values())) <= MAX_HANDLE_CHARACTERS


@pytest.mark.parametrize("access", [Access.OPEN, Access.UNKNOWN])
def test_only_forbidden_functions_have_a_sentence(access: Access) -> None:
    functions = (replace(SET_FEE, access=access),)
    context = build_context([replace(CONTRACT, functions=functions)], CHAIN)
    assert "I cannot" not in context

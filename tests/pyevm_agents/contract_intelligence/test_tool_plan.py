"""Plans of agents: choice of functions, one tool a route, names, limits and the base prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eth_utils import to_checksum_address

from precompiles.address_handles import AddressBook
from precompiles.spec import MAX_TOOLS
from precompiles.tool_metadata import compute_look
from pyevm_agents.contract_intelligence import tool_plan
from pyevm_agents.contract_intelligence.access import ALWAYS_REVERTS
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
)
from pyevm_agents.contract_intelligence.chain_metadata import ChainMetadata
from pyevm_agents.contract_intelligence.people import Person
from pyevm_agents.contract_intelligence.tool_plan import (
    ACCOUNT_ADVICE,
    MEASURED_TOOLS,
    TASK,
    AgentPlan,
    PlanOptions,
    plan_agent,
)
from pyevm_agents.contract_intelligence.tool_spec import ZERO_ADDRESS, ArgumentLimits
from pyevm_agents.contract_intelligence.untrusted_text import clean_label
from pyevm_agents.errors import ConfigError

ROUTER, ACCOUNT, USDC, DAI, WRAPPED = (
    to_checksum_address("0x" + each * 20) for each in ("a1", "b2", "c3", "d4", "e5")
)
CHAIN = ChainMetadata(chain_id=56, name="Chain", native_symbol="BNB")
EXAMPLE = ExampleCall(args=())
PATHS = tuple(
    QuotedPath(tokens=tokens, amount_in=1, amount_out=1)
    for tokens in (
        (WRAPPED, USDC), (USDC, WRAPPED), (USDC, DAI), (USDC, WRAPPED, DAI), (DAI, WRAPPED),
    )
)  # fmt: skip


def amount(name: str, token: str, role: ParameterRole = ParameterRole.AMOUNT) -> Parameter:
    return Parameter(name=name, abi_type="uint256", token=token, role=role)


PATH = Parameter(name="path", abi_type="address[]", role=ParameterRole.PATH)
AMOUNTS = (Parameter(name="amounts", abi_type="uint256[]"),)
LEAST = replace(
    amount("least", "path[-1]", ParameterRole.MINIMUM),
    derivation=Derivation(source=Source.MINIMUM, slippage_bps=50),
)


def function(name: str, *parameters: Parameter, number: int = 1) -> FunctionCapability:
    types = ",".join(each.abi_type for each in parameters)
    return FunctionCapability(
        name=name,
        signature=f"{name}({types})",
        selector=number.to_bytes(4),
        parameters=parameters,
        access=Access.OPEN,
        example=EXAMPLE,
    )


QUOTE = replace(
    function("quoteOut", amount("given", "path[0]"), PATH, number=2),
    is_read_only=True, outputs=AMOUNTS,
)  # fmt: skip
PAY = replace(function("pay", LEAST, PATH, number=3), is_payable=True, outputs=AMOUNTS)
SELL = replace(
    function("sell", amount("given", "path[0]"), PATH, number=4),
    outputs=AMOUNTS,
    approvals=(Approval(token=USDC, spender=ROUTER, amount=7, parameter="given"),),
)
BUY = replace(
    function(
        "buy", amount("got", "native"), amount("most", "path[0]", ParameterRole.MAXIMUM), PATH,
        number=5,
    ),
    approvals=(Approval(token=USDC, spender=ROUTER, amount=1),),
)  # fmt: skip
CLOSED = replace(
    function("close", number=6), access=Access.FORBIDDEN, reason="only its owner may", example=None
)
BALANCE = replace(
    function(
        "balanceOf", Parameter(name="owner", abi_type="address", role=ParameterRole.OWNER), number=7
    ),
    is_read_only=True,
    outputs=(Parameter(name="", abi_type="uint256", token=USDC),),
)
UNTRIED = replace(function("untried", number=8), access=Access.UNKNOWN, example=None)


def contract(
    name: str, address: str, *functions: FunctionCapability, symbol: str = ""
) -> ContractIntelligence:
    facts = tuple(
        TokenFacts(address=place, symbol=label, decimals=decimals)
        for place, label, decimals in ((USDC, "USDC", 6), (DAI, "DAI", 18), (WRAPPED, "WBNB", 18))
    )
    is_router = address == ROUTER
    return ContractIntelligence(
        address=address,
        name=name,
        kind=ContractKind.DEX_ROUTER if is_router else ContractKind.ERC20,
        account=ACCOUNT,
        block_number=1,
        abi_source="file",
        symbol=symbol,
        decimals=6 if symbol else None,
        functions=functions,
        relationships=Relationships(tokens=facts, paths=PATHS, wrapped_native=WRAPPED)
        if is_router
        else Relationships(),
    )


def plan(*functions: FunctionCapability, names: tuple[str, ...] = ()) -> AgentPlan:
    router = contract("Router", ROUTER, *functions)
    return plan_agent([router], CHAIN, PlanOptions(functions=names))


def list_names(found: AgentPlan) -> list[str]:
    return [tool.spec.name for tool in found.tools]


def test_a_route_is_a_tool_with_a_fixed_path() -> None:
    found = plan(SELL)
    assert list_names(found) == [
        "sell_WBNB_for_USDC", "sell_USDC_for_WBNB", "sell_USDC_for_DAI", "sell_DAI_for_WBNB",
    ]  # fmt: skip
    # Of two paths between the same tokens the first one is the better one.
    spec = found.tools[2].spec
    assert {each.name: each.value for each in spec.arguments}["path"] == (USDC, DAI)
    assert spec.description == "Swaps USDC for DAI; approves the USDC first"
    assert [text for _, _, text in spec.model_parameters] == ["USDC to give, 6 decimals"]
    dai = found.tools[3].spec
    [allowance] = dai.allowances
    assert (allowance.token, allowance.spender, allowance.amount_argument) == (DAI, ROUTER, "given")


def test_the_native_token_has_the_symbol_of_the_chain() -> None:
    [tool] = plan(PAY).tools
    assert tool.spec.name == "pay_BNB_for_USDC"
    assert tool.spec.value.description == "BNB to give, 18 decimals"
    assert [name for _, name, _ in tool.spec.model_parameters] == ["value"]
    assert "quoteOut_USDC_for_BNB" in list_names(plan(QUOTE))


def test_an_exact_output_approves_the_most_that_it_costs() -> None:
    found = plan(BUY)
    assert list_names(found) == ["buy_USDC_for_BNB", "buy_DAI_for_BNB"]
    spec = found.tools[0].spec
    assert [text for _, _, text in spec.model_parameters] == [
        "BNB to get, 18 decimals", "most of USDC to give, 6 decimals",
    ]  # fmt: skip
    assert [each.amount_argument for each in spec.allowances] == ["most"]


def test_the_own_balance_needs_no_argument() -> None:
    token = contract("Coin", USDC, BALANCE, symbol="USDC")
    [tool] = plan_agent([token], CHAIN).tools
    assert tool.spec.model_parameters == ()
    assert tool.spec.description == "Shows the USDC balance of ACCOUNT"
    assert tool.spec.arguments[0].source is Source.ACCOUNT


@pytest.mark.parametrize(
    ("symbol", "name", "others", "text"),
    [
        ("PTS", "Market Points", (), "amount of PTS (Market Points), 6 decimals"),
        ("PTS", "", (), "amount of PTS, 6 decimals"),
        ("PTS", "pts", (), "amount of PTS, 6 decimals"),
        # A name that could be another token's says nothing.
        ("PTS", "Market Points", (("MP", "market points"),), "amount of PTS, 6 decimals"),
        ("PTS", "USD Points", (("USD", "Dollar"),), "amount of PTS, 6 decimals"),
        ("PTS", "BNB", (), "amount of PTS, 6 decimals"),
        ("PTS", "Pay, 18 decimals (BNB x)", (), "amount of PTS, 6 decimals"),
        ("PTS", "Pay, 18 decimals (x)", (), "amount of PTS (Pay 18 decimals x), 6 decimals"),
    ],
)
def test_a_unit_has_the_words_of_a_tokens_name(
    symbol: str, name: str, others: tuple[tuple[str, str], ...], text: str
) -> None:
    send = function("send", amount("value", USDC))
    coin = replace(contract("Coin", USDC, send, symbol=symbol), token_name=clean_label(name, ""))
    facts = tuple(
        TokenFacts(address=DAI, symbol=each, decimals=6, name=called) for each, called in others
    )
    [tool] = plan_agent([replace(coin, relationships=Relationships(tokens=facts))], CHAIN).tools
    assert tool.spec.model_parameters[0][2] == text


def test_the_unit_of_a_list_of_tuples_is_that_of_its_only_number() -> None:
    members = (Parameter(name="to", abi_type="address"), amount("value", USDC))
    pay = function(
        "pay", Parameter(name="list", abi_type="(address,uint256)[]", components=members)
    )
    [tool] = plan_agent([contract("Coin", USDC, pay, symbol="USDC")], CHAIN).tools
    text = "amount of USDC, 6 decimals [abi:(address,uint256)[]]"
    assert tool.spec.model_parameters[0][2] == text
    both = (*members, amount("fee", DAI))
    two = function(
        "pay", Parameter(name="list", abi_type="(address,uint256,uint256)[]", components=both)
    )
    [tool] = plan_agent([contract("Coin", USDC, two, symbol="USDC")], CHAIN).tools
    assert tool.spec.model_parameters[0][2] == "[abi:(address,uint256,uint256)[]]"
    assert tool.spec.tokens == (DAI,)


ASSET = Parameter(name="asset", abi_type="address", tokens=(USDC, DAI))
SUPPLY = replace(
    function("supply", ASSET, amount("amount", "asset"), Parameter(name="to", abi_type="address")),
    approvals=(Approval(token=USDC, spender=ROUTER, amount=7, parameter="amount"),),
)


def test_a_function_of_several_tokens_is_a_tool_for_each() -> None:
    found = plan(SUPPLY)
    assert list_names(found) == ["supply_USDC", "supply_DAI"]
    for tool, token, text in zip(
        found.tools,
        (USDC, DAI),
        ("amount of USDC, 6 decimals", "amount of DAI, 18 decimals"),
        strict=True,
    ):
        spec = tool.spec
        assert [each for _, _, each in spec.model_parameters] == [text, ""]
        assert spec.arguments[0].value == token
        assert [each.token for each in spec.allowances] == [token]
        assert spec.arguments[2].limits.forbidden == (ZERO_ADDRESS, ROUTER, token)
        assert spec.tokens == (token,)
    assert found.tools[1].spec.description == (
        "Supply (DAI, Router). Set by the tool: asset: DAI. It approves DAI by itself."
    )
    one = replace(
        SUPPLY,
        parameters=(replace(ASSET, tokens=(DAI,)), *SUPPLY.parameters[1:]),
        approvals=(replace(SUPPLY.approvals[0], token=DAI),),
    )
    [only] = plan(one).tools
    assert (only.spec.name, only.spec.tokens) == ("supply", (DAI,))


def test_a_function_of_many_tokens_is_one_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_plan, "MAX_ASSET_TOOLS", 1)
    [tool] = plan(SUPPLY).tools
    assert [name for _, name, _ in tool.spec.model_parameters] == ["asset", "amount", "to"]
    assert [each.token for each in tool.spec.allowances] == [USDC, DAI]
    assert {each.tokens_argument for each in tool.spec.allowances} == {"asset"}
    assert tool.spec.arguments[0].limits.allowed == (USDC, DAI)


@pytest.mark.parametrize(
    "name",
    ["supply.to", "Router.supply.to", f"{ROUTER}.supply.to", "supply(address,uint256,address).to"],
)
def test_a_recipient_can_be_any_address(name: str) -> None:
    router = contract("Router", ROUTER, SUPPLY, SELL)
    found = plan_agent([router], CHAIN, PlanOptions(allowed_recipients=(name,)))
    limits = {tool.spec.name: tool.spec.arguments[-1].limits for tool in found.tools}
    assert limits["supply_USDC"] == limits["supply_DAI"] == ArgumentLimits()


@pytest.mark.parametrize("name", ["to", "supply.asset", "sell.given", "Other.supply.to"])
def test_a_recipient_that_is_none_is_refused(name: str) -> None:
    router = contract("Router", ROUTER, SUPPLY, SELL)
    message = r"must be FUNCTION\.PARAMETER of a tool, one of supply\.to"
    with pytest.raises(ConfigError, match=message):
        plan_agent([router], CHAIN, PlanOptions(allowed_recipients=(name,)))


def test_an_approval_of_an_item_names_the_token_and_the_spender() -> None:
    item = Approval(token=DAI, spender=ROUTER, amount=None, kind=ApprovalKind.ITEM, item=1)
    every = replace(item, kind=ApprovalKind.ALL, item=None)
    offer = replace(function("offer", amount("item", "")), approvals=(item,))
    keep = replace(function("keep", amount("item", ""), number=2), approvals=(every,))
    found = plan_agent(
        [contract("Router", ROUTER, offer, keep)], CHAIN, PlanOptions(derives_approvals=False)
    )
    texts = [tool.spec.description for tool in found.tools]
    assert "First DAI needs an approval of the item for Router." in texts[0]
    assert "First DAI needs setApprovalForAll for Router." in texts[1]


def test_functions_of_one_name_name_their_contracts() -> None:
    tokens = [
        contract("Coin", address, BALANCE, symbol=symbol)
        for address, symbol in ((USDC, "USDC"), (DAI, "USDC"))
    ]
    assert list_names(plan_agent(tokens, CHAIN)) == ["balanceOf_USDC", "balanceOf_USDC_2"]


def test_names_do_not_look_alike() -> None:
    functions = [
        function(name, number=index) for index, name in enumerate(("pull", "puII", "puLL"))
    ]
    names = list_names(plan(*functions))
    assert len({compute_look(name) for name in names}) == len(names)


def test_functions_of_one_route_have_names_of_their_own() -> None:
    longer = replace(SELL, name="sell" * 20, selector=b"\0\0\1\0")
    overloaded = replace(SELL, selector=b"\0\0\2\0")
    names = list_names(plan(SELL, overloaded, longer))
    assert names[0] == "sell_WBNB_for_USDC"
    assert names[4] == "sell_WBNB_for_USDC_Router"
    assert names[8] == "call_00000100_WBNB_for_USDC"


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ((), ["pay_BNB_for_USDC"]),
        (("pay",), ["pay_BNB_for_USDC"]),
        (("Router.untried",), ["untried"]),
        (("untried()", f"{ROUTER}.pay"), ["pay_BNB_for_USDC", "untried"]),
    ],
)
def test_functions_are_chosen_by_name(names: tuple[str, ...], chosen: list[str]) -> None:
    assert list_names(plan(PAY, CLOSED, UNTRIED, names=names)) == chosen


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("fly",), "function fly: must be one of pay, close"),
        (("Coin.pay",), r"function Coin\.pay: must be one of"),
        (
            ("close",),
            r"function close of Router: the account .* can't call it: only its owner may; to ",
        ),
    ],
)
def test_a_function_that_cannot_be_a_tool(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan(PAY, CLOSED, names=names)


def test_an_agent_has_some_tools_and_not_too_many() -> None:
    message = (
        r"the account can call none of them \(close: only its owner may\); see `tools inspect`"
    )
    with pytest.raises(ConfigError, match=message):
        plan(CLOSED)
    functions = [function(f"read{'x' * index}", number=index) for index in range(MAX_TOOLS + 1)]
    assert len(plan(*functions[:-1]).tools) == MAX_TOOLS
    with pytest.raises(ConfigError, match="65 tools: must be at most 64"):
        plan(*functions)


DEAD = replace(CLOSED, reason=f"I cannot call close because {ALWAYS_REVERTS}.")
STOPPED = replace(
    function("claim", number=9), example=None, reason="A call of claim reverts now: TooEarly()."
)
MALFORMED = replace(
    function("odd", number=10),
    parameters=(
        Parameter(
            name="number", abi_type="uint256", derivation=Derivation(source=Source.FIXED, value=-1)
        ),
    ),
)


def test_functions_that_are_left_out_are_named_with_the_reason() -> None:
    found = plan(PAY, CLOSED, UNTRIED, STOPPED, MALFORMED, DEAD)
    assert list_names(found) == ["pay_BNB_for_USDC"]
    told = {each.function: (str(each.reason), each.text, each.advice) for each in found.left_out}
    assert told[CLOSED] == ("access", "only its owner may", ACCOUNT_ADVICE)
    assert told[DEAD] == ("access", ALWAYS_REVERTS, "")
    assert told[UNTRIED] == (
        "noExecution",
        "no call of it was found that runs",
        "--function untried makes it a tool all the same",
    )
    assert told[STOPPED] == (
        "noExecution",
        "reverts now: TooEarly()",
        "--function claim makes it a tool all the same",
    )
    assert told[MALFORMED][0] == "unsupported"
    assert "fixed value of number: must be" in told[MALFORMED][1]
    assert plan(PAY, CLOSED, UNTRIED, names=("pay",)).left_out == ()
    with pytest.raises(ConfigError, match=r"function odd\(\) of Router: fixed value of number"):
        plan(PAY, MALFORMED, names=("odd",))


def test_more_tools_than_were_measured_are_a_warning() -> None:
    reads = [
        replace(function(f"read{'x' * index}", number=index), is_read_only=True)
        for index in range(MEASURED_TOOLS)
    ]
    assert plan(*reads).warnings == ()
    [warning] = plan(*reads, PAY).warnings
    assert warning == (
        "9 tools: the default model was measured with at most 8; choose those that you need by "
        "--function NAME, such as --function pay --function read"
    )


def test_warnings_about_contracts_are_those_of_the_plan() -> None:
    router = replace(contract("Router", ROUTER, PAY), warnings=(f"runs the code of {USDC}",))
    assert plan_agent([router], CHAIN).warnings == ("Router: runs the code of USDC",)


ALICE, BOB = (to_checksum_address("0x" + each * 20) for each in ("f1", "f2"))


def test_names_of_people_stand_in_the_base_prompt_after_the_contracts() -> None:
    router = contract("Router", ROUTER, PAY, CLOSED)
    router = replace(router, relationships=replace(router.relationships, admin_address=ALICE))
    router = replace(
        router,
        functions=(PAY, replace(CLOSED, reason=f"only {ALICE} (the owner of Router) may")),
    )
    people = (Person(name="Alice", address=ALICE), Person(name="bob.eth", address=BOB))
    found = plan_agent([router], CHAIN, PlanOptions(people=people))
    lines = found.base_prompt.splitlines()
    assert lines[-3:] == [
        f"Alice = {ALICE}",
        f"bob.eth = {BOB}",
        "I cannot call close because only Alice may.",
    ]
    assert AddressBook(found.base_prompt, ()).handles[-2:] == (("Alice", ALICE), ("bob.eth", BOB))
    assert found.people == people


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Router", "handle Router: must not look like Router, which stands for another address"),
        ("usdc", "handle usdc: must not look like USDC"),
        ("U5DC1", ""),
        ("bnb", "handle bnb: must not be a word for the native currency, or the name of a tool"),
        ("pay_BNB_for_USDC", "handle pay_BNB_for_USDC: must not be a word for the native currency"),
        ("ACCOUNT", "handle ACCOUNT: must not look like ACCOUNT"),
    ],
)
def test_a_person_s_name_is_unlike_others(name: str, message: str) -> None:
    people = (Person(name=name, address=BOB),)
    router = contract("Router", ROUTER, PAY)
    if not message:
        assert plan_agent([router], CHAIN, PlanOptions(people=people)).people == people
        return
    with pytest.raises(ConfigError, match=message):
        plan_agent([router], CHAIN, PlanOptions(people=people))


def test_minimums_without_an_output_are_the_models_choice() -> None:
    silent = replace(PAY, outputs=())
    two = replace(PAY, parameters=(LEAST, replace(LEAST, name="other"), PATH))
    for each, count in ((silent, 2), (two, 3)):
        [tool] = plan(each).tools
        assert len(tool.spec.model_parameters) == count


def test_the_base_prompt_has_the_task_the_handles_and_the_reasons() -> None:
    found = plan(PAY, CLOSED)
    assert found.base_prompt.splitlines() == [
        f"{TASK} BNB is the native currency.",
        "",
        f"ACCOUNT = {ACCOUNT}",
        f"Router = {ROUTER}",
        f"USDC = {USDC}",
        f"DAI = {DAI}",
        f"WBNB = {WRAPPED}",
        "I cannot call close because only its owner may.",
    ]
    assert found.prompt_characters > len(found.base_prompt)

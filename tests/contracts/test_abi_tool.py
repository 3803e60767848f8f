"""AbiTool: one function of one contract as a tool, for every type, source, bound and approval."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_abi.grammar import parse
from eth_utils import keccak, to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.abi import ParamType
from pyevm_agents.contract_intelligence.capabilities import ApprovalKind, Source
from pyevm_agents.contract_intelligence.tool_spec import (
    Argument,
    ArgumentLimits,
    CallValue,
    RequiredAllowance,
    ToolOutput,
    choose_param_type,
    flatten_types,
)
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, RevertedError, plain_evm, reverts
from tests.contracts.tool_bench import ToolBench, open_bench, parameter
from tests.contracts.typed_texts import abi_types, format_text, has_text, values

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract

UINT, STRING, ADDRESS = ParamType.UINT, ParamType.STRING, ParamType.ADDRESS
ALICE, BOB = (to_checksum_address("0x" + each * 20) for each in ("a1", "b2"))
APPROVE = bytes.fromhex("095ea7b3")
MAX = 2**256 - 1
EXAMPLES = 40
PLAIN, NOTHING, FALSE, RESET, FEE = range(5)
"""Manners of ApprovalToken."""


@pytest.fixture
def bench() -> ToolBench:
    return open_bench(plain_evm())


@cache
def shared_bench() -> ToolBench:
    """Return a bench for properties, which make many tools on one EVM."""
    return open_bench(plain_evm())


def as_param(abi_type: str, value: Any) -> tuple[ParamType, object]:  # noqa: ANN401 - any ABI value
    """Return a value as the model gives it: ERC values, and typed texts."""
    kind, marker = choose_param_type(abi_type)
    if kind is ParamType.STRING and marker:
        return kind, format_text(abi_type, value)
    if kind is ParamType.STRING_ARRAY and marker:
        return kind, [format_text(marker, item) for item in value]
    return kind, value


def flatten(abi_type: str, value: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - any ABI value
    """Return the leaves of a value, with their types."""
    kind = parse(abi_type)
    if kind.is_array or not hasattr(kind, "components"):
        return [(abi_type, value)]
    pairs = zip(kind.components, value, strict=True)
    return [leaf for part, member in pairs for leaf in flatten(part.to_type_str(), member)]


typed_values = abi_types.flatmap(lambda t: st.tuples(st.just(t), values(t)))


# -- encoding -- #


@pytest.mark.slow
@given(st.lists(typed_values, max_size=3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_calldata_are_those_of_eth_abi(typed: list[tuple[str, Any]]) -> None:
    bench = shared_bench()
    types, arguments = [t for t, _ in typed], [value for _, value in typed]
    leaves = [leaf for t, value in typed for leaf in flatten(t, value)]
    if not all(has_text(*leaf) for leaf in leaves):
        return
    spec = bench.spec(f"({','.join(types)})")
    tool = bench.create(
        spec, register=not bench.account("isTool", bench.factory("addressOf", spec.as_abi()))
    )
    assert bench.run(tool, *(as_param(*leaf) for leaf in leaves)) == "Done"
    assert bench.data == spec.selector + encode(types, arguments)


@pytest.mark.slow
@given(typed_values)
@settings(max_examples=EXAMPLES, deadline=None)
def test_fixed_values_and_outputs_are_of_any_type(typed: tuple[str, Any]) -> None:
    bench = shared_bench()
    abi_type, value = typed
    leaves = flatten(abi_type, value)
    fixed = [
        Argument(name=f"a{i}", abi_type=t, source=Source.FIXED, value=each)
        for i, (t, each) in enumerate(leaves)
    ]
    spec = bench.spec(
        f"({abi_type})",
        arguments=fixed,
        output_types=f"({abi_type})",
        outputs=(ToolOutput(name="it"),),
    )
    bench.target("setAnswer", encode([abi_type], [value]))
    is_new = not bench.account("isTool", bench.factory("addressOf", spec.as_abi()))
    address = bench.factory("create", spec.as_abi())
    if is_new:
        bench.evm.send(bench.account.address, spec.encode_registration(address))
    sentence = bench.run(bench.evm.at("AbiTool", address))
    bench.target("setAnswer", b"")
    assert bench.data == spec.selector + encode([abi_type], [value])
    whole = f"it: {format_text(abi_type, value)}"
    most = 400
    if len(whole.encode()) <= most:
        assert sentence == whole
    else:
        assert sentence.endswith("...")
        assert whole.startswith(sentence[:-3])
        assert most - 3 - 3 <= len(sentence.encode()) <= most


def test_one_call_has_arguments_of_every_kind(bench: ToolBench) -> None:
    order = (ALICE, (7, b"\x01\x02"), "it's")
    lists = ([1, 2], [-3], [BOB], [True, False], ["a", ""], [b"abcd"], [b"", b"x"])
    others = ([(ALICE, 5)], (1, 2), [[(b"z", True)]])
    types = [
        "(address,(uint8,bytes),string)",
        *("uint8[]", "int256[]", "address[]", "bool[]", "string[]", "bytes4[]", "bytes[]"),
        *("(address,uint24)[]", "uint256[2]", "(bytes,bool)[1][]"),
    ]
    arguments = [order, *lists, *others]
    spec = bench.spec(f"({','.join(types)})")
    tool = bench.create(spec)
    pairs = zip(types, arguments, strict=True)
    leaves = [leaf for abi_type, value in pairs for leaf in flatten(abi_type, value)]
    assert bench.run(tool, *(as_param(*leaf) for leaf in leaves)) == "Done"
    assert bench.data == spec.selector + encode(types, arguments)


@pytest.mark.parametrize(
    ("abi_type", "kind", "marker"),
    [
        ("uint256", "UINT", ""),
        ("int256", "INT", ""),
        ("address", "ADDRESS", ""),
        ("bool", "BOOL", ""),
        ("string", "STRING", ""),
        ("uint256[]", "UINT_ARRAY", ""),
        ("int256[]", "INT_ARRAY", ""),
        ("address[]", "ADDRESS_ARRAY", ""),
        ("bool[]", "BOOL_ARRAY", ""),
        ("string[]", "STRING_ARRAY", ""),
        ("uint8", "UINT", "uint8"),
        ("int24", "INT", "int24"),
        ("uint8[]", "UINT_ARRAY", "uint8"),
        ("int24[]", "INT_ARRAY", "int24"),
        ("bytes32", "STRING", "bytes32"),
        ("bytes", "STRING", "bytes"),
        ("bytes32[]", "STRING_ARRAY", "bytes32"),
        ("bytes[]", "STRING_ARRAY", "bytes"),
        ("uint256[2]", "STRING", "uint256[2]"),
        ("address[][]", "STRING", "address[][]"),
        ("(address,uint24)[]", "STRING", "(address,uint24)[]"),
    ],
)
def test_parameters_have_the_types_of_the_erc(
    bench: ToolBench, abi_type: str, kind: str, marker: str
) -> None:
    assert choose_param_type(abi_type) == (ParamType[kind], marker)
    argument = Argument(name="a0", abi_type=abi_type, description="What")
    tool = bench.create(bench.spec(f"({abi_type})", arguments=[argument]))
    text = f"What [abi:{marker}]" if marker else "What"
    assert tool("inputDescription") == (((ParamType[kind].value, "a0", text),),)


def test_tuples_outside_of_arrays_are_flattened() -> None:
    types = "((address,(uint8,bytes)),(bool,bool)[])"
    assert flatten_types(types) == ["address", "uint8", "bytes", "(bool,bool)[]"]


@pytest.mark.parametrize(
    ("abi_type", "value", "error"),
    [
        ("uint8", 256, ("ValueOutOfRange", "a0", 256, 0, 255)),
        ("uint8[]", [1, 256], ("ValueOutOfRange", "a0", 256, 0, 255)),
        ("int8", 128, ("SignedValueOutOfRange", "a0", 128, -128, 127)),
        ("int8[]", [-129], ("SignedValueOutOfRange", "a0", -129, -128, 127)),
        ("bytes2", "abcd00", ("MalformedText", "bytes2", 4, "the end")),
        ("bytes2[]", ["ab"], ("MalformedText", "bytes2", 2, "a lower-case hexadecimal digit")),
        ("(uint8,bool)[]", "[(256, true)]", ("ValueOutOfRange", "a0", 256, 0, 255)),
    ],
)  # fmt: skip
def test_values_outside_of_their_type_are_refused(
    bench: ToolBench, abi_type: str, value: object, error: tuple[object, ...]
) -> None:
    tool = bench.create(bench.spec(f"({abi_type})"))
    with reverts(*error):
        bench.run(tool, parameter(abi_type, value))


@pytest.mark.parametrize(
    ("abi_type", "param", "reason"),
    [
        ("uint256", (3, bytes(32)), "another ParamType"),
        ("uint256", (4, bytes(31)), "not one word"),
        ("uint256", (4, bytes(64)), "not one word"),
        ("string", (0, encode(["uint256"], [MAX])), "too short"),
        ("string", (0, encode(["uint256", "uint256"], [32, MAX])), "not an ABI-encoded string"),
        ("bytes", (0, b""), "too short"),
        ("uint256[]", (9, encode(["uint256"], [32])), "too short"),
        ("uint256[]", (9, encode(["uint256", "uint256"], [32, 1])), "too short"),
        ("uint256[]", (9, encode(["uint256", "uint256"], [32, MAX])), "not an ABI-encoded list"),
        ("uint256[]", (9, encode(["uint256", "uint256"], [64, 0])), "not an ABI-encoded list"),
        ("string[]", (5, encode(["uint256"] * 3, [32, 1, MAX])), "too short"),
    ],
)
def test_malformed_inputs_are_refused(
    bench: ToolBench, abi_type: str, param: tuple[int, bytes], reason: str
) -> None:
    tool = bench.create(bench.spec(f"({abi_type})"))
    with reverts("UnexpectedInput", "a0", reason):
        tool("run", ([param], b""), ZERO)


def test_inputs_have_as_many_parameters_as_the_tool(bench: ToolBench) -> None:
    tool = bench.create(bench.spec("(uint256)", value=CallValue(is_chosen=True, most_wei=1)))
    with reverts("UnexpectedInput", "a0", "missing"):
        bench.run(tool)
    with reverts("UnexpectedInput", "value", "missing"):
        bench.run(tool, (UINT, 1))
    with reverts("UnexpectedInput", "value", "not a UINT"):
        bench.run(tool, (UINT, 1), (STRING, "1"))
    with reverts("UnexpectedInput", "", "more parameters than the tool has"):
        bench.run(tool, (UINT, 1), (UINT, 1), (UINT, 1))


# -- sources and limits -- #


def test_derived_arguments_are_not_the_models(bench: ToolBench) -> None:
    roots = (b"r" * 32, b"s" * 32)
    spec = bench.spec(
        "((address,uint64),string,bytes32[2],uint256)",
        arguments=[
            Argument(name="order.to", abi_type="address", source=Source.ACCOUNT),
            Argument(name="order.until", abi_type="uint64", source=Source.DEADLINE, seconds=1200),
            Argument(name="note", abi_type="string", source=Source.FIXED, value="it's"),
            Argument(name="roots", abi_type="bytes32[2]", source=Source.FIXED, value=roots),
            Argument(name="amount", abi_type="uint256"),
        ],
    )  # fmt: skip
    tool = bench.create(spec)
    assert len(tool("inputDescription")[0]) == 1
    assert bench.run(tool, (UINT, 5)) == "Done"
    until = bench.evm.vm.state.timestamp + 1200
    order = (bench.account.address, until)
    types = ["(address,uint64)", "string", "bytes32[2]", "uint256"]
    assert bench.data[4:] == encode(types, [order, "it's", roots, 5])
    assert bench.target("sender") == bench.account.address


def test_bounds_hold_for_every_integer_of_an_argument(bench: ToolBench) -> None:
    limits = ArgumentLimits(least=5, most=10)
    types = ("uint256", "uint8[]", "(uint8,string)[]")
    arguments = [Argument(name=f"a{i}", abi_type=t, limits=limits) for i, t in enumerate(types)]
    tool = bench.create(bench.spec(f"({','.join(types)})", arguments=arguments))
    good: list[Any] = [(UINT, 5), (ParamType.UINT_ARRAY, [5, 10]), (STRING, "[(7, 'x'), (10, '')]")]
    bench.run(tool, *good)
    for i, (bad, value) in enumerate(
        [((UINT, 4), 4), ((ParamType.UINT_ARRAY, [5, 11]), 11), ((STRING, "[(4, '')]"), 4)]
    ):
        with reverts("ValueOutOfRange", f"a{i}", value, 5, 10):
            bench.run(tool, *good[:i], bad, *good[i + 1 :])


def test_bounds_are_signed_for_signed_integers(bench: ToolBench) -> None:
    limits = ArgumentLimits(least=-5, most=5)
    tool = bench.create(
        bench.spec("(int64)", arguments=[Argument(name="a0", abi_type="int64", limits=limits)])
    )
    bench.run(tool, (ParamType.INT, -5))
    for value in (-6, 6):
        with reverts("SignedValueOutOfRange", "a0", value, -5, 5):
            bench.run(tool, (ParamType.INT, value))


def test_allow_lists_hold_for_every_address_of_an_argument(bench: ToolBench) -> None:
    limits = ArgumentLimits(allowed=(ALICE,))
    types = ("address", "address[]", "(address,bool)[]")
    arguments = [Argument(name=f"a{i}", abi_type=t, limits=limits) for i, t in enumerate(types)]
    tool = bench.create(bench.spec(f"({','.join(types)})", arguments=arguments))
    good: list[Any] = [
        (ADDRESS, ALICE),
        (ParamType.ADDRESS_ARRAY, [ALICE]),
        (STRING, f"[({ALICE}, true)]"),
    ]
    bench.run(tool, *good)
    bads: list[Any] = [
        (ADDRESS, BOB),
        (ParamType.ADDRESS_ARRAY, [ALICE, BOB]),
        (STRING, f"[({BOB}, true)]"),
    ]
    for i, bad in enumerate(bads):
        with reverts("AddressNotAllowed", f"a{i}", BOB.lower()):
            bench.run(tool, *good[:i], bad, *good[i + 1 :])


def test_wei_are_fixed_or_chosen_in_bounds(bench: ToolBench) -> None:
    bench.evm.send(bench.account.address, b"", value_wei=1_000)
    fixed = bench.create(bench.spec("()", value=CallValue(least_wei=7)))
    bench.run(fixed)
    assert bench.target("value") == 7
    chosen = CallValue(is_chosen=True, least_wei=2, most_wei=9, description="wei to send")
    tool = bench.create(bench.spec("(bool)", value=chosen))
    for wei in (2, 9):
        bench.run(tool, (ParamType.BOOL, True), (UINT, wei))
        assert bench.target("value") == wei
    for wei in (1, 10):
        with reverts("ValueOutOfRange", "value", wei, 2, 9):
            bench.run(tool, (ParamType.BOOL, True), (UINT, wei))
    poor = bench.create(bench.spec("()", name="Poor", value=CallValue(least_wei=5_000)))
    with reverts("ValueAboveBalance", 5_000, 1_000 - 7 - 2 - 9):
        bench.run(poor)


# -- minimums -- #


def deploy_exchange(
    bench: ToolBench, trial_price: int, real_price: int, *, is_honest: bool = True
) -> Contract:
    return bench.evm.deploy("FickleExchange", trial_price, real_price, is_honest)


def exchange_tool(
    bench: ToolBench,
    exchange: Contract,
    *,
    function: str = "exchange",
    outputs: str = "(uint256)",
    slippage_bps: int = 100,
    minimum_output: int = 0,
) -> Contract:
    arguments = [
        Argument(name="amount", abi_type="uint256"),
        Argument(
            name="least", abi_type="uint256", source=Source.MINIMUM, slippage_bps=slippage_bps
        ),
    ]
    return bench.create(
        bench.spec(
            "(uint256,uint256)",
            target=exchange,
            function=function,
            output_types=outputs,
            arguments=arguments,
            minimum_output=minimum_output,
        )
    )


@pytest.mark.parametrize(
    ("slippage_bps", "least"), [(0, 3_000), (1, 2_999), (100, 2_970), (10_000, 0)]
)
def test_minimum_is_what_a_trial_pays_less_slippage(
    bench: ToolBench, slippage_bps: int, least: int
) -> None:
    exchange = deploy_exchange(bench, 3, 3)
    tool = exchange_tool(bench, exchange, slippage_bps=slippage_bps)
    assert bench.run(tool, (UINT, 1_000)) == "3000"
    assert (exchange("lastPaid"), exchange("lastLeast")) == (3_000, least)


def test_minimum_bounds_the_last_item_of_a_list(bench: ToolBench) -> None:
    exchange = deploy_exchange(bench, 3, 3)
    tool = exchange_tool(
        bench, exchange, function="exchangeAlong", outputs="(bool,uint256[])", minimum_output=1
    )
    assert bench.run(tool, (UINT, 1_000)) == "true, [1000, 7, 3000]"
    assert exchange("lastLeast") == 2_970


def test_a_target_that_pays_less_than_in_the_trial_is_undone(bench: ToolBench) -> None:
    honest = deploy_exchange(bench, 3, 2)
    with pytest.raises(RevertedError) as caught:
        bench.run(exchange_tool(bench, honest), (UINT, 1_000))
    name, target, selector, reason = caught.value.error
    assert (name, target) == ("CallFailed", honest.address)
    assert selector == keccak(text="exchange(uint256,uint256)")[:4]
    assert RevertedError(bytes(reason)).error == ("TooLittle", 2_000, 2_970)  # type: ignore[call-overload]
    liar = deploy_exchange(bench, 3, 2, is_honest=False)
    with reverts("OutputBelowMinimum", 2_000, 2_970):
        bench.run(exchange_tool(bench, liar), (UINT, 1_000))
    assert liar("lastPaid") == 0


def test_a_target_that_pays_less_in_the_trial_lowers_the_minimum(bench: ToolBench) -> None:
    """The trial believes the target: a minimum protects against changes between steps alone."""
    exchange = deploy_exchange(bench, 1, 3, is_honest=False)
    assert bench.run(exchange_tool(bench, exchange), (UINT, 1_000)) == "3000"
    assert exchange("lastLeast") == 990


def test_outputs_that_are_no_amount_are_refused(bench: ToolBench) -> None:
    exchange = deploy_exchange(bench, 3, 3)
    empty = exchange_tool(bench, exchange, function="exchangeNothing", outputs="(uint256[])")
    selector = keccak(text="exchangeNothing(uint256,uint256)")[:4]
    with reverts("MalformedOutput", exchange.address, selector, 64):
        bench.run(empty, (UINT, 1))
    silent = exchange_tool(bench, bench.target)
    with reverts(
        "MalformedOutput", bench.target.address, keccak(text="exchange(uint256,uint256)")[:4], 0
    ):
        bench.run(silent, (UINT, 1))


def test_trials_leave_nothing_and_nobody_else_makes_them(bench: ToolBench) -> None:
    bench.target("setAnswer", encode(["uint256"], [50]))
    tool = exchange_tool(bench, bench.target, function="call")
    bench.run(tool, (UINT, 1))
    assert bench.target("calls") == 1
    assert bench.data[4:] == encode(["uint256"] * 2, [1, 49])
    arguments: tuple[object, ...] = (bench.account.address, bench.target.address, 0, bench.data, [])
    for sender in (OWNER, STRANGER):
        with reverts("NotSelf", sender.address):
            tool("tryCall", *arguments, sender=sender)


def test_a_trial_that_reverts_carries_the_reason(bench: ToolBench) -> None:
    # A target that reverts with the error of a trial is not believed.
    forged = keccak(text="Tried(bytes,uint256[])")[:4]
    forged += encode(["bytes", "uint256[]"], [encode(["uint256"], [0]), []])
    bench.target("setReason", forged)
    tool = exchange_tool(bench, bench.target, function="call")
    with pytest.raises(RevertedError) as caught:
        bench.run(tool, (UINT, 1))
    name, target, selector, reason = caught.value.error
    assert (name, target) == ("TrialFailed", bench.target.address)
    assert RevertedError(bytes(reason)).error == (  # type: ignore[call-overload]
        "CallFailed", bench.target.address, selector, forged,
    )  # fmt: skip


# -- approvals -- #


def pull_tool(bench: ToolBench, token: Contract, **changes: Any) -> Contract:  # noqa: ANN401
    allowance = RequiredAllowance(
        token=to_checksum_address(token.address),
        spender=to_checksum_address(token.address),
        amount_argument="amount",
    )
    return bench.create(
        bench.spec(
            "(uint256)",
            target=token,
            function="pull",
            output_types="(bool)",
            arguments=[Argument(name="amount", abi_type="uint256")],
            allowances=(replace(allowance, **changes),),
            must_return_true=True,
        )
    )


def stake(bench: ToolBench, manner: int) -> Contract:
    token = bench.evm.deploy("ApprovalToken", manner, "TKN")
    token("mint", bench.account.address, 1_000)
    return token


@pytest.mark.parametrize("manner", [PLAIN, NOTHING, RESET, FEE])
def test_the_tool_approves_precisely_what_the_call_needs(bench: ToolBench, manner: int) -> None:
    token = stake(bench, manner)
    account = bench.account
    # An allowance that is too low, which some tokens refuse to change to another one.
    approve = APPROVE + encode(["address", "uint256"], [token.address, 1])
    account("ownerExecute", token.address, 0, approve)
    tool = pull_tool(bench, token)
    assert bench.run(tool, (UINT, 70)) == "Done"
    assert token("allowance", account.address, token.address) == 0
    assert token("balanceOf", account.address) == 930
    # An allowance that is high enough stays.
    approve = APPROVE + encode(["address", "uint256"], [token.address, 100])
    account("ownerExecute", token.address, 0, approve)
    assert bench.run(tool, (UINT, 30)) == "Done"
    assert token("allowance", account.address, token.address) == 70


def test_a_refused_approval_ends_the_run(bench: ToolBench) -> None:
    token = stake(bench, FALSE)
    answer = encode(["bool"], [False])
    with reverts("ApprovalFailed", token.address, token.address, answer):
        bench.run(pull_tool(bench, token), (UINT, 1))


def test_without_derived_approvals_the_tool_checks_the_allowance(bench: ToolBench) -> None:
    token = stake(bench, PLAIN)
    tool = pull_tool(bench, token, is_derived=False)
    assert len(tool("permissions")) == 1
    with reverts("AllowanceTooLow", token.address, token.address, 0, 5):
        bench.run(tool, (UINT, 5))
    approve = APPROVE + encode(["address", "uint256"], [token.address, 5])
    bench.account("ownerExecute", token.address, 0, approve)
    assert bench.run(tool, (UINT, 5)) == "Done"


def place_of(contract: Contract) -> str:
    return str(to_checksum_address(contract.address))


def list_allowances(
    puller: Contract,
    *tokens: Contract,
    **fields: Any,  # noqa: ANN401 - fields of RequiredAllowance
) -> tuple[RequiredAllowance, ...]:
    """Return an approval of each token for the puller."""
    spender = to_checksum_address(puller.address)
    return tuple(
        RequiredAllowance(token=to_checksum_address(each.address), spender=spender, **fields)
        for each in tokens
    )


def test_an_approval_can_depend_on_the_token_of_a_path(bench: ToolBench) -> None:
    token, other = stake(bench, PLAIN), stake(bench, PLAIN)
    puller = bench.evm.deploy("Puller")
    arguments = [
        Argument(name="amount", abi_type="uint256"),
        Argument(name="path", abi_type="address[]"),
    ]
    allowances = list_allowances(puller, token, amount_argument="amount", tokens_argument="path")
    spec = bench.spec(
        "(uint256,address[])", target=puller, function="pullFirst", arguments=arguments,
        allowances=allowances,
    )  # fmt: skip
    tool = bench.create(spec)
    kind = ParamType.ADDRESS_ARRAY
    bench.run(tool, (UINT, 9), (kind, []))
    bench.run(tool, (UINT, 9), (kind, [token.address, other.address]))
    assert token("balanceOf", puller.address) == 9
    with pytest.raises(RevertedError, match="CallFailed"):
        bench.run(tool, (UINT, 9), (kind, [other.address, token.address]))


@given(
    manner=st.sampled_from([PLAIN, NOTHING, RESET, FEE]),
    before=st.integers(0, 900),
    amount=st.integers(0, 900),
    used=st.integers(0, 900),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_after_a_call_the_allowance_is_what_it_was_or_zero(
    manner: int, before: int, amount: int, used: int
) -> None:
    bench = shared_bench()
    token, puller = stake(bench, manner), bench.evm.deploy("Puller")
    used = min(used, amount)
    account = bench.account
    approve = APPROVE + encode(["address", "uint256"], [puller.address, before])
    account("ownerExecute", token.address, 0, approve)
    fixed = Argument(name="token", abi_type="address", source=Source.FIXED, value=place_of(token))
    numbers = [Argument(name=each, abi_type="uint256") for each in ("amount", "used")]
    spec = bench.spec(
        "(address,uint256,uint256)", target=puller, function="pull", arguments=[fixed, *numbers],
        allowances=list_allowances(puller, token, amount_argument="amount"),
    )  # fmt: skip
    bench.run(bench.create(spec), (UINT, amount), (UINT, used))
    left = token("allowance", account.address, puller.address)
    # An allowance of the owner's that is high enough is not the tool's.
    assert left == (before - used if before >= amount else 0)
    assert token("balanceOf", account.address) == 1_000 - used


@pytest.mark.parametrize(
    ("tokens", "amounts", "taken"),
    [
        ((0, 1, 0), (5, 6, 7), (12, 6)),
        ((1, 1), (5, 6), (0, 11)),
        ((0,), (5, 6), (11, 0)),
        ((0, 1), (0, 0), (0, 0)),
        ((), (), (0, 0)),
    ],
)
def test_lists_of_amounts_are_approved_by_their_sum(
    bench: ToolBench, tokens: tuple[int, ...], amounts: tuple[int, ...], taken: tuple[int, int]
) -> None:
    both = stake(bench, PLAIN), stake(bench, RESET)
    puller = bench.evm.deploy("Puller")
    names = [
        Argument(name="tokens", abi_type="address[]"),
        Argument(name="amounts", abi_type="uint256[]"),
    ]
    spec = bench.spec(
        "(address[],uint256[])", target=puller, function="pullMany", arguments=names,
        allowances=list_allowances(
            puller, *both, amount_argument="amounts", tokens_argument="tokens"
        ),
    )  # fmt: skip
    places = [both[each].address for each in tokens]
    run = (ParamType.ADDRESS_ARRAY, places), (ParamType.UINT_ARRAY, list(amounts))
    assert bench.run(bench.create(spec), *run) == "Done"
    assert tuple(each("balanceOf", puller.address) for each in both) == taken
    for each in both:
        assert each("allowance", bench.account.address, puller.address) == 0


def bill_tool(bench: ToolBench, puller: Contract, first: Contract, second: Contract) -> Contract:
    tokens = [
        Argument(name=name, abi_type="address", source=Source.FIXED, value=place_of(each))
        for name, each in (("first", first), ("second", second))
    ]
    number, back = (Argument(name=name, abi_type="uint256") for name in ("number", "back"))
    return bench.create(
        bench.spec(
            "(uint256,address,address,uint256)",
            target=puller,
            function="payBill",
            arguments=[number, *tokens, back],
            allowances=list_allowances(puller, first, second, is_measured=True),
        )
    )


@pytest.mark.parametrize("manner", [PLAIN, NOTHING, RESET, FEE])
def test_an_amount_that_only_the_contract_knows_is_measured(bench: ToolBench, manner: int) -> None:
    first, second = stake(bench, manner), stake(bench, PLAIN)
    puller = bench.evm.deploy("Puller")
    tool = bill_tool(bench, puller, first, second)
    account, left = bench.account, 1_000
    for number, amount in enumerate((300, 7, 100)):
        puller("setBill", number, amount)
        bench.run(tool, (UINT, number), (UINT, 2))
        left -= amount
        fee = 2 * (number + 1) - (number + 1 if manner == FEE else 0)
        assert first("balanceOf", account.address) == left + fee
        assert second("balanceOf", account.address) == 1_000 - 2 * (1_000 - left)
        for each in (first, second):
            assert each("allowance", account.address, puller.address) == 0
    # A standing allowance is used, and stays.
    approve = APPROVE + encode(["address", "uint256"], [puller.address, 10**6])
    account("ownerExecute", first.address, 0, approve)
    bench.run(tool, (UINT, 1), (UINT, 1))
    assert first("allowance", account.address, puller.address) == 10**6 - 7
    # More than the account has.
    puller("setBill", 9, 5_000)
    with pytest.raises(RevertedError, match="TrialFailed"):
        bench.run(tool, (UINT, 9), (UINT, 0))
    assert puller("bills", 9) == 5_000


def test_a_measured_amount_is_not_approved_without_derived_approvals(bench: ToolBench) -> None:
    token, puller = stake(bench, PLAIN), bench.evm.deploy("Puller")
    puller("setBill", 1, 5)
    spec = bench.spec("(uint256)", target=puller, function="bills", allowances=list_allowances(
        puller, token, is_measured=True, is_derived=False,
    ))  # fmt: skip
    tool = bench.create(spec)
    assert len(tool("permissions")) == 1
    assert bench.run(tool, (UINT, 1)) == "Done"


@pytest.fixture
def items(bench: ToolBench) -> Contract:
    """An ERC-721 token of which the account has the items 1 to 3."""
    found = bench.evm.deploy("Collectible", OWNER.address, OWNER.address)
    for number in (1, 2, 3):
        found("safeMint", bench.account.address, number, "")
    return found


@pytest.mark.parametrize("is_taken", [True, False])
def test_items_are_approved_one_by_one_and_what_is_left_is_taken_back(
    bench: ToolBench, items: Contract, is_taken: bool
) -> None:
    puller = bench.evm.deploy("Puller")
    arguments = [
        Argument(name="token", abi_type="address", source=Source.FIXED, value=place_of(items)),
        Argument(name="items", abi_type="uint256[]"),
        Argument(name="isTaken", abi_type="bool"),
    ]
    spec = bench.spec(
        "(address,uint256[],bool)", target=puller, function="takeItems", arguments=arguments,
        allowances=list_allowances(
            puller, items, kind=ApprovalKind.ITEM, amount_argument="items"
        ),
    )  # fmt: skip
    tool = bench.create(spec)
    # An approval of the owner's stays.
    approve = APPROVE + encode(["address", "uint256"], [puller.address, 3])
    bench.account("ownerExecute", items.address, 0, approve)
    bench.run(tool, (ParamType.UINT_ARRAY, [1, 3]), (ParamType.BOOL, is_taken))
    owner = puller.address if is_taken else bench.account.address
    assert [items("ownerOf", each) for each in (1, 2, 3)] == [owner, bench.account.address, owner]
    approved = [items("getApproved", each) for each in (1, 2, 3)]
    assert approved == [ZERO, ZERO, ZERO if is_taken else puller.address]
    with reverts("ERC721NonexistentToken", 9):
        bench.run(tool, (ParamType.UINT_ARRAY, [9]), (ParamType.BOOL, True))


def test_all_items_are_approved_for_the_call_alone(bench: ToolBench) -> None:
    stacks = bench.evm.deploy("GameItems", OWNER.address, OWNER.address)
    stacks("grantRole", stacks("KEEPER_ROLE"), OWNER.address)
    stacks("mint", bench.account.address, 1, 10, b"")
    puller = bench.evm.deploy("Puller")
    arguments = [
        Argument(name="token", abi_type="address", source=Source.FIXED, value=place_of(stacks)),
        Argument(name="id", abi_type="uint256"),
        Argument(name="amount", abi_type="uint256"),
    ]
    spec = bench.spec(
        "(address,uint256,uint256)", target=puller, function="takeStack", arguments=arguments,
        allowances=list_allowances(puller, stacks, kind=ApprovalKind.ALL),
    )  # fmt: skip
    tool = bench.create(spec)
    bench.run(tool, (UINT, 1), (UINT, 4))
    assert stacks("balanceOf", bench.account.address, 1) == 6
    assert not stacks("isApprovedForAll", bench.account.address, puller.address)
    every = stacks.artifact.encode_call("setApprovalForAll", puller.address, True)  # noqa: FBT003
    bench.account("ownerExecute", stacks.address, 0, every)
    bench.run(tool, (UINT, 1), (UINT, 4))
    assert stacks("isApprovedForAll", bench.account.address, puller.address)


# -- recipients -- #


@given(
    tokens=st.lists(st.sampled_from([ALICE, BOB]), max_size=2, unique=True),
    recipients=st.lists(st.integers(0, 5), min_size=1, max_size=3),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_recipient_is_zero_the_target_or_a_token(
    tokens: list[str], recipients: list[int]
) -> None:
    bench = shared_bench()
    target = to_checksum_address(bench.target.address)
    places = [ZERO, target, ALICE, BOB, "0x" + "c3" * 20, "0x" + "d4" * 20]
    forbidden = (ZERO, target, *tokens)
    limits = ArgumentLimits(forbidden=forbidden)
    types = ("address", "address[]", "(address,uint256)[]")
    chosen = [places[each] for each in recipients]
    bad = next((each for each in chosen if each in forbidden), None)
    values: list[Any] = [
        (ADDRESS, chosen[0]),
        (ParamType.ADDRESS_ARRAY, chosen),
        (STRING, "[" + ", ".join(f"({to_checksum_address(each)}, 1)" for each in chosen) + "]"),
    ]
    for abi_type, value in zip(types, values, strict=True):
        argument = Argument(name="to", abi_type=abi_type, limits=limits)
        spec = bench.spec(f"({abi_type})", arguments=[argument])
        is_known = bench.account("isTool", bench.factory("addressOf", spec.as_abi()))
        tool = bench.create(spec, register=not is_known)
        first = chosen[0] if abi_type == "address" else bad
        if first in forbidden:
            with reverts("ForbiddenRecipient", "to", str(first).lower()):
                bench.run(tool, value)
        else:
            assert bench.run(tool, value) == "Done"


def test_a_recipient_is_no_token_that_another_argument_names(bench: ToolBench) -> None:
    limits = ArgumentLimits(forbidden=(ZERO,))
    arguments = [
        Argument(name="assets", abi_type="address[]"),
        Argument(name="to", abi_type="address", limits=limits),
        Argument(name="other", abi_type="address"),
    ]
    spec = bench.spec(
        "(address[],address,address)", arguments=arguments, output_types="(uint256)",
        outputs=(ToolOutput(unit_argument="assets"),),
    )  # fmt: skip
    tool = bench.create(spec)
    assets = (ParamType.ADDRESS_ARRAY, [ALICE, BOB])
    bench.run(tool, assets, (ADDRESS, OWNER.address), (ADDRESS, ALICE))
    for token in (ALICE, BOB):
        with reverts("ForbiddenRecipient", "to", token.lower()):
            bench.run(tool, assets, (ADDRESS, token), (ADDRESS, ALICE))


@pytest.mark.parametrize("manner", [PLAIN, NOTHING])
def test_transfers_that_return_true_or_nothing_are_done(bench: ToolBench, manner: int) -> None:
    token = stake(bench, manner)
    types, params = "(address,uint256)", [(ADDRESS, ALICE), (UINT, 5)]
    spec = bench.spec(
        types, target=token, function="transfer", output_types="(bool)", must_return_true=True
    )
    assert bench.run(bench.create(spec), *params) == "Done"
    assert token("balanceOf", ALICE) == 5


def test_a_transfer_that_returns_false_is_undone(bench: ToolBench) -> None:
    token = stake(bench, FALSE)
    spec = bench.spec(
        "(address,uint256)",
        target=token,
        function="transfer",
        output_types="(bool)",
        must_return_true=True,
    )
    with reverts("CallReturnedFalse", token.address, bytes.fromhex("a9059cbb")):
        bench.run(bench.create(spec), (ADDRESS, ALICE), (UINT, 5))


# -- results -- #


@pytest.mark.parametrize(
    ("types", "outputs", "answer", "sentence"),
    [
        ("(uint256)", [("", "USDC", 6)], [12_500_000], "12.5 USDC"),
        ("(uint256)", [("balance", "USDC", 6)], [1], "balance: 0.000001 USDC"),
        ("(uint256)", [("", "USDC", 6)], [5_000_000], "5 USDC"),
        ("(uint256)", [("", "Z", 0)], [5], "5 Z"),
        ("(uint256)", [("", "M", 76)], [MAX], f"{MAX // 10**76}.{MAX % 10**76:076} M"),
        ("(int256)", [("", "ETH", 18)], [-(10**17)], "-0.1 ETH"),
        ("(int256)", [("", "X", 0)], [-(2**255)], f"{-(2**255)} X"),
        ("(uint112,uint32)", [("reserve", "A", 2), ("", "", 0)], [150, 7], "reserve: 1.5 A, 7"),
        ("(uint256[])", [("", "A", 1)], [[5, 10]], "[0.5 A, 1 A]"),
        ("(uint8[2])", [("", "A", 1)], [[5, 10]], "[0.5 A, 1 A]"),
        ("(bool,address)", [("", "", 0), ("owner", "", 0)], [True, ALICE], f"true, owner: {ALICE}"),
        ("(string,bytes4)", [("", "", 0)] * 2, ["it's\nx", b"abcd"], r"'it\'s\nx', 61626364"),
        ("((address,uint8[])[])", [("a", "", 0)], [[(ALICE, [1, 2])]], f"a: [({ALICE}, [1, 2])]"),
    ],
)  # fmt: skip
def test_outputs_are_sentences(
    bench: ToolBench,
    types: str,
    outputs: list[tuple[str, str, int]],
    answer: list[object],
    sentence: str,
) -> None:
    shown = tuple(ToolOutput(name=n, symbol=s, decimals=d) for n, s, d in outputs)
    tool = bench.create(bench.spec("()", output_types=types, outputs=shown))
    kinds = [part.to_type_str() for part in parse(types).components]
    bench.target("setAnswer", encode(kinds, answer))
    assert bench.run(tool) == sentence


@pytest.mark.parametrize(
    "answer", [b"\x01", bytes(31), encode(["uint256"], [256]), encode(["uint256"], [MAX])]
)
def test_outputs_of_another_form_are_said_to_be(bench: ToolBench, answer: bytes) -> None:
    tool = bench.create(bench.spec("()", output_types="(uint8)"))
    bench.target("setAnswer", answer)
    assert bench.run(tool) == "Done, with an output that has another form than expected"


@pytest.mark.parametrize(
    ("symbol", "unit"),
    [
        ("USDC", "USDC"),
        ("U S\nD\u202eC: Final", "USDCFinal"),
        ("A" * 90, "A" * 16),
        ("100", ""),
        ("\u20ae", ""),
    ],
)
def test_units_of_tokens_are_their_clean_symbols(bench: ToolBench, symbol: str, unit: str) -> None:
    token = bench.evm.deploy("ApprovalToken", PLAIN, symbol)
    path = Argument(name="path", abi_type="address[]")
    outputs = (
        ToolOutput(name="amounts", unit_argument="path"),
        ToolOutput(name="last", unit_argument="path"),
    )
    tool = bench.create(
        bench.spec(
            "(address[])", arguments=[path], output_types="(uint256[],uint256)", outputs=outputs
        )
    )
    answer = encode(["uint256[]", "uint256"], [[7, 1_500_000], 2_000_000])
    bench.target("setAnswer", answer)
    # An address without code, and a contract that is no token, have no unit.
    for stranger in (ALICE, bench.factory.address):
        sentence = bench.run(tool, (ParamType.ADDRESS_ARRAY, [stranger, token.address]))
        known = f"amounts: [7, 1.5 {unit}], last: 2 {unit}"
        assert sentence == (known if unit else "amounts: [7, 1500000], last: 2000000")


def test_a_token_that_answers_with_much_costs_its_gas_alone(bench: ToolBench) -> None:
    hostile = bench.evm.deploy("CallRecorder")
    hostile("setAnswerSize", 1_000_000)
    outputs = (ToolOutput(unit_argument="a0"),)
    tool = bench.create(bench.spec("(address)", output_types="(uint256)", outputs=outputs))
    bench.target("setAnswer", encode(["uint256"], [7]))
    assert bench.run(tool, (ADDRESS, hostile.address)) == "7"
    assert bench.evm.last.get_gas_used() < 1_000_000


def test_huge_return_data_are_cut(bench: ToolBench) -> None:
    tool = bench.create(bench.spec("()", output_types="(uint256[])"))
    bench.target("setAnswerSize", 200_000)
    assert bench.run(tool) == "[]"  # zeros
    assert bench.evm.last.get_gas_used() < 1_000_000
    long = bench.create(bench.spec("()", name="Long", output_types="(uint256[])"))
    bench.target("setAnswerSize", 0)
    bench.target("setAnswer", encode(["uint256[]"], [[1] * 300]))
    sentence = bench.run(long)
    assert sentence == ("[" + "1, " * 300)[:397] + "..."


def test_a_call_that_reverts_carries_target_selector_and_reason(bench: ToolBench) -> None:
    tool = bench.create(bench.spec("()"))
    selector = keccak(text="call()")[:4]
    bench.target("setReason", b"because")
    with reverts("CallFailed", bench.target.address, selector, b"because"):
        bench.run(tool)
    bench.target("setReason", b"x" * 5_000)
    with reverts("CallFailed", bench.target.address, selector, b"x" * 1_024):
        bench.run(tool)


# -- who runs a tool -- #


def test_only_the_accounts_agent_runs_a_tool(bench: ToolBench) -> None:
    tool = bench.create(bench.spec("()"))
    with reverts("NotAgent", STRANGER.address):
        bench.run(tool, sender=STRANGER)
    bench.account("setAgent", STRANGER.address)
    with reverts("NotAgent", OWNER.address):
        bench.run(tool)
    assert bench.run(tool, sender=STRANGER) == "Done"


def test_a_target_cannot_run_a_tool_again(bench: ToolBench) -> None:
    outer = bench.create(bench.spec("()"))
    inner = bench.create(bench.spec("(bool)", name="Inner"))
    call = inner.artifact.encode_call("run", ([(2, encode(["bool"], [True]))], b""), ZERO)
    bench.target("setCallee", inner.address, call)
    with pytest.raises(RevertedError) as caught:
        bench.run(outer)
    assert RevertedError(bytes(caught.value.error[3])).error == ("NotAgent", bench.target.address)  # type: ignore[call-overload]
    # Not even if the target is the agent.
    bench.account("setAgent", bench.target.address)
    run = outer.artifact.encode_call("run", ([], b""), ZERO)
    bench.target("setCallee", outer.address, run)
    with pytest.raises(RevertedError) as caught:
        bench.evm.send(bench.target.address, b"call")
    assert "CallFailed" in str(caught.value.error)
    assert keccak(text="ReentrancyGuardReentrantCall()")[:4] in caught.value.data


def test_the_code_behind_the_tools_is_no_tool(bench: ToolBench) -> None:
    implementation = bench.evm.at("AbiTool", bench.factory("implementation"))
    for function in ("name", "description", "inputDescription", "spec", "permissions"):
        with reverts("NotTool"):
            implementation(function)
    with reverts("NotTool"):
        bench.run(implementation)


def test_metadata_are_cheap_and_interfaces_are_told(bench: ToolBench) -> None:
    arguments = [
        Argument(name=f"a{i}", abi_type="uint256", description="what " * 20) for i in range(16)
    ]
    types = f"({','.join(['uint256'] * 16)})"
    tool = bench.create(bench.spec(types, arguments=arguments, description="does " * 100))
    for function in ("name", "description", "inputDescription"):
        tool(function)
        assert bench.evm.last.get_gas_used() < 21_064 + 10_000
    tool_id = 0
    for signature in (
        "name()",
        "description()",
        "inputDescription()",
        "run(((uint8,bytes)[],bytes),address)",
    ):
        tool_id ^= int.from_bytes(keccak(text=signature)[:4])
    assert tool("supportsInterface", tool_id.to_bytes(4))
    assert tool("supportsInterface", bytes.fromhex("01ffc9a7"))
    assert not tool("supportsInterface", b"\xff" * 4)

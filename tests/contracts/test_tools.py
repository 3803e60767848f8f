"""The tools, and the contracts that exist for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth.exceptions import OutOfGas
from eth_abi import decode, encode

from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    RevertedError,
    decode_error,
    reverts,
    text_input,
)

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract, Evm

ADD = bytes.fromhex("1003e2d2")  # add(uint256)
ADD_THEN_FAIL = bytes.fromhex("9299d5e9")  # addThenFail(uint256)
NUMBER = bytes.fromhex("8381f58a")  # number()
AMOUNT = ([(4, "amount", "how much to add")],)
NOBODY = "0x" + "00" * 18 + "0123"


def amount_input(amount: int) -> tuple[object, ...]:
    encoded = encode(["uint256"], [amount])
    return ([(4, encoded)], encoded)


def asset_input(asset: str) -> tuple[object, ...]:
    encoded = encode(["address"], [asset])
    return ([(1, encoded)], encoded)


def deploy_tool(
    evm: Evm,
    target: str,
    selector: bytes,
    *,
    kind: str = "SimpleSmartContractTool",
    converter: str = ZERO,
) -> Contract:
    static = converter == ZERO
    return evm.deploy(
        kind,
        "AddTool",
        "Adds",
        target,
        selector,
        AMOUNT,
        static,
        "Added" if static else "",
        converter,
    )


def test_tool_shows_what_it_was_given(evm: Evm) -> None:
    tool = deploy_tool(evm, NOBODY, ADD)
    assert tool("name") == "AddTool"
    assert tool("description") == "Adds"
    assert tool("inputDescription") == (((4, "amount", "how much to add"),),)
    assert tool("toolContract") == NOBODY
    assert tool("toolSelector") == ADD


def test_tool_calls_the_function_with_its_parameters(evm: Evm) -> None:
    counter = evm.deploy("Counter")
    tool = deploy_tool(evm, counter.address, ADD)
    assert tool("run", amount_input(2**255 + 3), ZERO, sender=STRANGER) == (-1, "Added")
    assert counter("number") == 2**255 + 3


def test_tool_converts_the_result(evm: Evm) -> None:
    counter = evm.deploy("Counter")
    counter("add", 510)
    converter = evm.deploy("ViewBalanceResultConverter")
    tool = deploy_tool(evm, counter.address, NUMBER, converter=converter.address)
    assert tool("run", ([], b""), ZERO) == (-1, "The balance is: 510")


@pytest.mark.parametrize("number", [0, 9, 10, 99, 100, 10**18, 2**256 - 1])
def test_numbers_are_written_in_decimal(evm: Evm, number: int) -> None:
    converter = evm.deploy("ViewBalanceResultConverter")
    assert (
        converter("convertToString", encode(["uint256"], [number])) == f"The balance is: {number}"
    )


def test_reason_of_a_failing_function_is_kept(evm: Evm) -> None:
    counter = evm.deploy("Counter")
    tool = deploy_tool(evm, counter.address, ADD_THEN_FAIL)
    with pytest.raises(RevertedError) as caught:
        tool("run", amount_input(4), ZERO)
    name, target, reason = caught.value.error
    assert (name, target) == ("ToolCallReverted", counter.address)
    assert isinstance(reason, bytes)
    assert decode(["uint256"], reason[4:]) == (4,)
    assert counter("number") == 0


def test_target_without_code_is_a_failure(evm: Evm) -> None:
    tool = deploy_tool(evm, NOBODY, ADD)
    with reverts("ToolCallReverted", NOBODY, b""):
        tool("run", amount_input(4), ZERO)


def test_agent_only_tool_serves_its_creator_alone(evm: Evm) -> None:
    counter = evm.deploy("Counter")
    tool = deploy_tool(evm, counter.address, ADD, kind="AgentOnlyTool")
    assert tool("agent") == OWNER.address
    assert tool("run", amount_input(4), ZERO) == (-1, "Added")
    with reverts("NotAgent", STRANGER.address):
        tool("run", amount_input(4), ZERO, sender=STRANGER)
    assert counter("number") == 4


def test_token_info(evm: Evm) -> None:
    tool = evm.deploy("TokenInfoTool")
    usdc = evm.deploy("DemoToken", "USD Coin", "USDC", 6, 0)
    assert tool("run", asset_input(usdc.address), ZERO) == (-1, "USD Coin (USDC), 6 decimals")


@pytest.mark.parametrize("address", [NOBODY, OWNER.address, "0x" + "00" * 19 + "04"])
def test_token_info_of_something_else(evm: Evm, address: str) -> None:
    tool = evm.deploy("TokenInfoTool")
    assert tool("run", asset_input(address), ZERO) == (-1, "This is not a token")


@pytest.mark.parametrize("encoded", [b"", b"\1" * 31, b"\1" * 32, bytes(33)])
def test_token_info_refuses_other_inputs(evm: Evm, encoded: bytes) -> None:
    tool = evm.deploy("TokenInfoTool")
    with reverts("UnexpectedInput", "one ADDRESS expected"):
        tool("run", ([], encoded), ZERO)


def test_echo_tool_has_every_type_and_keeps_what_it_gets(evm: Evm) -> None:
    tool = evm.deploy("EchoTool")
    (described,) = tool("inputDescription")
    assert [param[0] for param in described] == list(range(10))
    types = ["string", "address", "bool", "int256", "uint256"]
    types += [f"{t}[]" for t in types]
    values: list[object] = ["héllo", OWNER.address, True, -5, 2**256 - 1]
    values += [["a", ""], [ZERO], [False, True], [-(2**255)], []]
    encoded = encode(types, values)
    params = [(i, encode([t], [v])) for i, (t, v) in enumerate(zip(types, values, strict=True))]

    assert tool("run", (params, encoded), ZERO) == (-1, "héllo")
    assert tool("abiEncodedParams") == encoded
    assert tool("reencodedParams") == encoded
    assert tool("params") == tuple(params)


def test_bad_metadata(evm: Evm) -> None:
    name = bytes.fromhex("06fdde03")
    tool = evm.deploy("BadMetadataTool", name, 0, b"")
    assert tool("name") == "BadMetadataTool"
    tool("set", name, 1, encode(["bytes"], [b"\xff"]))
    assert evm.send(tool.address, name) == encode(["bytes"], [b"\xff"])
    assert tool("description") == "Does nothing"
    tool("set", name, 2, b"why")
    with reverts(b"why"):
        tool("name")
    tool("set", name, 3, b"")
    with reverts(b""):
        evm.send(tool.address, name, gas=100_000)
    assert isinstance(evm.last.error, OutOfGas)
    tool("set", name, 4, encode(["uint256"], [20_000]))
    assert tool("name") == "\0" * (20_000 - 64)
    # There is no executor in this EVM: the call succeeds with nothing.
    tool("set", name, 5, b"data")
    with reverts(b""):
        tool("name")


@pytest.mark.parametrize(
    ("kind", "counts_in_target"), [(0, True), (1, False), (2, False), (3, False)]
)
def test_caller_has_every_kind_of_call(evm: Evm, kind: int, *, counts_in_target: bool) -> None:
    caller = evm.deploy("Caller")
    counter = evm.deploy("Counter")
    data = counter.artifact.encode_call("add", 3)
    success, output = caller("forward", kind, counter.address, 200_000, 0, data)
    assert (success, output) == (kind != 1, b"")
    assert caller.events("Forwarded") == [{"success": kind != 1, "output": b""}]
    assert counter("number") == (3 if counts_in_target else 0)


def test_caller_returns_revert_data(evm: Evm) -> None:
    caller = evm.deploy("Caller")
    tool = evm.deploy("RevertingTool", 0)
    success, output = caller(
        "forward", 0, tool.address, 0, 0, tool.artifact.encode_call("run", text_input(""), ZERO)
    )
    assert not success
    assert decode_error(output) == ("ToolRefused", 1)


def test_deep_caller_reaches_the_target(evm: Evm) -> None:
    deep = evm.deploy("DeepCaller")
    counter = evm.deploy("Counter")
    assert deep("descend", 50, counter.address, counter.artifact.encode_call("add", 3)) == (
        True,
        b"",
    )
    assert deep.events("Reached") == [{"success": True, "output": b""}]
    assert counter("number") == 3

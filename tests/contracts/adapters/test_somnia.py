"""SomniaAdapter: contracts that were written for Somnia's agents, unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode
from eth_utils import function_signature_to_4byte_selector
from eth_utils.abi import abi_to_signature

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.adapters.adapter_bench import MODEL, TIMEOUT, AdapterBench, somnia_bench
from tests.contracts.callback.oracle_bench import WORKER
from tests.contracts.plain_evm import OWNER, STRANGER, Contract, reverts, use_tool
from tests.run_answers import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Sequence

SUCCESS, FAILED, TIMED_OUT = 2, 3, 4
"""Members of `ResponseStatus`."""

AGENT_ID = 12847293847561029384
THOUGHT = 'Thought: I add.\nAction: add\nAction Input: {"amount": 5, "reason": "asked"}'
RESULT_TYPES = ["string", "string", "string[]", "string[]", "string[]", "bytes[]"]


@pytest.fixture
def bench() -> AdapterBench:
    return somnia_bench()


def payload(function: str, *arguments: object) -> bytes:
    return load_artifact("ISomniaLanguageModel").encode_call(function, *arguments)


def ask(bench: AdapterBench, data: bytes, *, extra_wei: int = 0) -> int:
    """Ask as the contract; return the deposit."""
    deposit: int = bench.adapter("getRequestDeposit")
    bench.consumer("ask", data, value_wei=deposit + extra_wei)
    return deposit


def string_payload(*allowed: str) -> bytes:
    return payload("inferString", "Is it day?", "You answer.", False, list(allowed))  # noqa: FBT003 - Solidity's order


def number_payload(low: int = -5, high: int = 100) -> bytes:
    return payload("inferNumber", "How many?", "You count.", low, high, True)  # noqa: FBT003 - Solidity's order


def chat_payload(*conversation: tuple[str, str]) -> bytes:
    roles, messages = [one[0] for one in conversation], [one[1] for one in conversation]
    return payload("inferChat", roles, messages, False)  # noqa: FBT003 - Solidity's order


def tools_payload(
    tools: Sequence[tuple[str, str]], *conversation: tuple[str, str], servers: Sequence[str] = ()
) -> bytes:
    said = conversation or (("user", "Do it"),)
    roles, messages = [one[0] for one in said], [one[1] for one in said]
    return payload("inferToolsChat", roles, messages, list(servers), list(tools), 5, True)  # noqa: FBT003 - Solidity's order


def result(bench: AdapterBench, *types: str) -> tuple[Any, ...]:
    assert bench.consumer("status") == SUCCESS
    return decode(types, bench.consumer("result"))


def tool_at(bench: AdapterBench, index: int = 0) -> Contract:
    """Return a tool that the last transaction's request names."""
    return bench.evm.at("YieldedTool", bench.arguments()[2][index])  # type: ignore[index]


# ---- The interface


def test_the_interface_is_that_of_somnias_platform() -> None:
    abi = [e for e in load_artifact("SomniaAdapter").abi if e["type"] in {"function", "event"}]
    assert {abi_to_signature(element) for element in abi} >= {
        "createRequest(uint256,address,bytes4,bytes)",
        "createAdvancedRequest(uint256,address,bytes4,bytes,uint256,uint256,uint8,uint256)",
        "getRequest(uint256)",
        "hasRequest(uint256)",
        "getRequestDeposit()",
        "getAdvancedRequestDeposit(uint256)",
        "RequestCreated(uint256,uint256,uint256,bytes,address[])",
        "RequestFinalized(uint256,uint8)",
    }
    methods = {abi_to_signature(e) for e in load_artifact("ISomniaLanguageModel").abi}
    chat = "inferToolsChat(string[],string[],string[],(string,string)[],uint256,bool)"
    assert methods == {
        "inferString(string,string,bool,string[])",
        "inferNumber(string,string,int256,int256,bool)",
        "inferChat(string[],string[],bool)",
        chat,
    }
    assert function_signature_to_4byte_selector(chat).hex() == "d0683905"  # as on Somnia


# ---- inferString


def test_a_string_is_the_answer(bench: AdapterBench) -> None:
    ask(bench, string_payload())
    assert bench.arguments() == (MODEL, "You answer.", (), (), (), "Is it day?")
    assert bench.say_text("It is day.")
    assert result(bench, "string") == ("It is day.",)
    assert bench.consumer("validator") == WORKER.address


def test_allowed_values_stand_at_the_end_of_the_prompt(bench: AdapterBench) -> None:
    ask(bench, string_payload("YES", "NO"))
    prompt = "Is it day?\nAnswer with one of: YES, NO"
    assert bench.arguments() == (MODEL, "You answer.", (), (), (), prompt)


@pytest.mark.parametrize("text", ["YES", "Failed"])
def test_an_allowed_value_is_the_result(bench: AdapterBench, text: str) -> None:
    ask(bench, string_payload("YES", "Failed"))
    assert bench.say_text(text)
    assert result(bench, "string") == (text,)


@pytest.mark.parametrize("text", ["MAYBE", "yes", "", "UNSURE: which?"])
def test_another_value_is_a_failure(bench: AdapterBench, text: str) -> None:
    ask(bench, string_payload("YES", "NO"))
    assert bench.say_text(text)
    assert bench.consumer("status") == FAILED


# ---- inferNumber


def test_a_range_stands_at_the_end_of_the_prompt(bench: AdapterBench) -> None:
    ask(bench, number_payload())
    prompt = "How many?\nAnswer with a whole number from -5 to 100"
    assert bench.arguments() == (MODEL, "You count.", (), (), (), prompt)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", 42),
        ("It is 42.", 42),
        ("-3 degrees", -3),
        ("-5", -5),
        ("-6", -5),
        ("a-7", -5),
        ("1000000", 100),
        ("3 of 9", 3),
    ],
)
def test_the_first_integer_of_an_answer_is_moved_into_the_range(
    bench: AdapterBench, text: str, number: int
) -> None:
    ask(bench, number_payload())
    assert bench.say_text(text)
    assert result(bench, "int256") == (number,)


@pytest.mark.parametrize("text", ["many", "-", "9" * 80, *(f"{text} 5" for text in REFUSALS)])
def test_an_answer_without_a_number_is_a_failure(bench: AdapterBench, text: str) -> None:
    ask(bench, number_payload())
    assert bench.say_text(text)
    assert bench.consumer("status") == FAILED


def test_a_range_has_numbers(bench: AdapterBench) -> None:
    with reverts("EmptyRange", 2, 1):
        ask(bench, number_payload(2, 1))


# ---- inferChat


def test_a_single_message_is_the_prompt(bench: AdapterBench) -> None:
    ask(bench, chat_payload(("system", "Be kind."), ("user", "Hello"), ("system", "Be short.")))
    assert bench.arguments() == (MODEL, "Be kind.\nBe short.", (), (), (), "Hello")
    assert bench.say_text("Hi")
    assert result(bench, "string") == ("Hi",)


def test_messages_keep_their_roles_and_order(bench: AdapterBench) -> None:
    ask(bench, chat_payload(("user", "Hello"), ("assistant", "Hi"), ("user", "Who?")))
    assert bench.arguments()[5] == "user: Hello\nassistant: Hi\nuser: Who?"


def test_a_conversation_is_checked(bench: AdapterBench) -> None:
    with reverts("UnknownRole", "developer"):
        ask(bench, chat_payload(("developer", "Hello")))
    with reverts("WrongMessages", 0, 0):
        ask(bench, chat_payload())
    with reverts("WrongMessages", 2, 1):
        ask(bench, payload("inferChat", ["user", "user"], ["Hello"], False))  # noqa: FBT003 - Solidity's order


# ---- inferToolsChat


def test_a_tool_call_comes_as_calldata_and_the_run_goes_on_with_its_result(
    bench: AdapterBench,
) -> None:
    """The contract runs the call itself and asks again, as it would on Somnia."""
    deposit = bench.adapter("getRequestDeposit")
    bench.give(bench.consumer, deposit)
    bench.consumer("askWithTools", "Add five", value_wei=deposit)
    assert bench.arguments()[:2] == (MODEL, "You count.")
    add, reset = tool_at(bench, 0), tool_at(bench, 1)
    tools = (add.address, reset.address)

    assert bench.say_step(use_tool(add.address, ["uint256", "string"], [5, "asked"], THOUGHT))
    assert bench.arguments() == (
        MODEL,
        "You count.",
        tools,
        (THOUGHT,),
        ('{"tool_call_id":"call_1","content":"the total is 5"}',),
        "Add five",
    )
    assert bench.consumer("total") == 5
    assert bench.say_text("Done.")
    assert bench.consumer("answer") == "Done."
    assert (add("name"), add("description")) == ("add", "Add to the counter")
    assert [tuple(p) for p in add("inputDescription")[0]] == [
        (4, "amount", "uint256"),
        (0, "reason", "string"),
    ]
    assert reset("inputDescription") == ((),)


def test_only_what_the_model_thought_is_a_step(bench: AdapterBench) -> None:
    said = [("user", "Add"), ("assistant", "I call it"), ("tool", "5")]
    ask(bench, tools_payload([("f()", "Does f")], *said))
    assert bench.arguments()[3:] == ((), (), "user: Add\nassistant: I call it\ntool: 5")


def test_the_result_of_a_tool_call_is_as_published(bench: AdapterBench) -> None:
    ask(bench, tools_payload([("send(address,uint8)", "Send")], ("user", "Send it")))
    tool = tool_at(bench)
    ask(bench, tools_payload([("send(address,uint8)", "Send")], ("user", "Send it")))
    assert bench.say_step(
        use_tool(tool.address, ["address", "uint256"], [OWNER.address, 7], THOUGHT)
    )
    call = function_signature_to_4byte_selector("send(address,uint8)")
    call += encode(["address", "uint8"], [OWNER.address, 7])
    assert result(bench, *RESULT_TYPES) == (
        "tool_calls",
        "",
        ("user", "assistant"),
        ("Send it", THOUGHT),
        ("call_1",),
        (call,),
    )


def test_the_result_of_an_answer_is_as_published(bench: AdapterBench) -> None:
    ask(bench, tools_payload([], ("user", "Hello")))
    assert bench.say_text("Hi")
    assert result(bench, *RESULT_TYPES) == (
        *("stop", "Hi", ("user", "assistant"), ("Hello", "Hi")),
        *((), ()),
    )


def test_equal_tools_are_one_contract(bench: AdapterBench) -> None:
    stated = [("f(uint256 x)", "Does f"), ("g()", "Does g")]
    ask(bench, tools_payload(stated))
    first = bench.arguments()[2]
    ask(bench, tools_payload(list(reversed(stated))))
    assert bench.arguments()[2] == tuple(reversed(first))  # type: ignore[call-overload]


def test_a_tool_of_another_request_cannot_be_chosen(bench: AdapterBench) -> None:
    ask(bench, tools_payload([("drain(address)", "Drain")]))
    other = tool_at(bench)
    ask(bench, tools_payload([("f()", "Does f")]))
    assert bench.say_step(use_tool(other.address, ["address"], [OWNER.address], THOUGHT))
    assert bench.consumer("status") == FAILED


def test_a_yielded_tool_is_not_run(bench: AdapterBench) -> None:
    ask(bench, tools_payload([("f()", "Does f")]))
    with reverts("NotRunHere"):
        tool_at(bench)("run", ([], b""), OWNER.address)


def test_mcp_servers_are_refused(bench: AdapterBench) -> None:
    with reverts("McpServersUnsupported"):
        ask(bench, tools_payload([], servers=["https://example.org"]))


@pytest.mark.parametrize(
    ("signature", "error"),
    [
        ("f", ("MalformedSignature", "f")),
        ("f(", ("MalformedSignature", "f(")),
        ("(uint256)", ("MalformedSignature", "(uint256)")),
        ("f(bytes)", ("UnsupportedType", "f(bytes)", "bytes")),
        ("f(uint7 x)", ("UnsupportedType", "f(uint7 x)", "uint7")),
        ("f(uint264)", ("UnsupportedType", "f(uint264)", "uint264")),
        ("f(uint08)", ("UnsupportedType", "f(uint08)", "uint08")),
        ("f(int256[2] x)", ("UnsupportedType", "f(int256[2] x)", "int256[2]")),
        ("f((uint256))", ("UnsupportedType", "f((uint256))", "(uint256")),
        ("f(uint256,)", ("UnsupportedType", "f(uint256,)", "")),
    ],
)
def test_a_signature_that_the_executor_cannot_fill_is_refused(
    bench: AdapterBench, signature: str, error: tuple[object, ...]
) -> None:
    with reverts(*error):
        ask(bench, tools_payload([(signature, "Does f")]))


@pytest.mark.parametrize(
    ("signature", "canonical", "params"),
    [
        ("f()", "f()", []),
        ("f( )", "f()", []),
        ("function f(uint x) external", "f(uint256)", [(4, "x", "uint256")]),
        (
            "f(address[] memory who, bool)",
            "f(address[],bool)",
            [(6, "who", "address[]"), (2, "argument2", "bool")],
        ),
        (
            "f( int8 a , uint16 b )",
            "f(int8,uint16)",
            [(3, "a", "int8, from -128 to 127"), (4, "b", "uint16, from 0 to 65535")],
        ),
        ("f(string[] calldata x,int[])", "f(string[],int256[])", None),
    ],
)
def test_signatures_are_read_with_and_without_names(
    bench: AdapterBench, signature: str, canonical: str, params: list[tuple[object, ...]] | None
) -> None:
    reader = bench.evm.deploy("ToolSignatureReader")
    selector, name, found = reader("read", signature)
    assert (selector, name) == (function_signature_to_4byte_selector(canonical), "f")
    if params is not None:
        assert [tuple(one) for one in found] == params


# ---- Requests, failures and money


def test_a_request_can_be_read(bench: AdapterBench) -> None:
    assert bench.adapter("hasRequest", 1) is False
    with reverts("UnknownRequest", 1):
        bench.adapter("getRequest", 1)
    deposit = ask(bench, string_payload())
    assert bench.adapter("hasRequest", 1) is True
    request = bench.adapter("getRequest", 1)
    assert request[:3] == (1, bench.consumer.address, bench.consumer.address)
    assert request[11] == 1  # Pending
    bench.say_text("It is day.")
    request = bench.adapter("getRequest", 1)
    assert (request[4], request[6], request[11]) == ((WORKER.address,), 1, SUCCESS)
    assert request[14] == deposit


def test_an_advanced_request_has_its_own_timeout(bench: AdapterBench) -> None:
    deposit = bench.adapter("getAdvancedRequestDeposit", 5)
    selector = function_signature_to_4byte_selector("nothing()")
    arguments = (AGENT_ID, STRANGER.address, selector, string_payload(), 5, 3, 1, 50)
    bench.adapter("createAdvancedRequest", *arguments, value_wei=deposit)
    request = bench.adapter("getRequest", 1)
    assert (request[8], request[10] - request[9], request[12]) == (3, 50, 1)


def test_a_refused_prompt_is_a_failure(bench: AdapterBench) -> None:
    ask(bench, string_payload())
    assert bench.refuse(b"\x01\x02\x03\x04")
    assert bench.adapter.events("RequestFinalized") == [{"requestId": 1, "status": FAILED}]
    assert bench.consumer("status") == FAILED
    assert bench.consumer("result") == b"\x01\x02\x03\x04"


def test_an_output_that_is_no_result_is_a_failure(bench: AdapterBench) -> None:
    ask(bench, string_payload())
    assert bench.answer(bench.last_request(), b"nothing of the kind")
    assert bench.consumer("status") == FAILED


def test_a_request_without_an_answer_times_out_and_its_deposit_comes_back(
    bench: AdapterBench,
) -> None:
    deposit = ask(bench, string_payload(), extra_wei=7)
    bench.pass_time(TIMEOUT + 1)
    assert bench.expire(bench.last_request())
    assert bench.consumer("status") == TIMED_OUT
    bench.adapter("sendRefund", bench.consumer.address, sender=STRANGER)
    assert bench.balance(bench.consumer.address) == deposit + 7
    assert bench.balance(bench.adapter.address) + bench.balance(bench.oracle.address) == 0


def test_a_contract_that_fails_can_be_called_again(bench: AdapterBench) -> None:
    """The next request can't be paid; once it can, the callback is repeated."""
    deposit = bench.adapter("getRequestDeposit")
    bench.consumer("askWithTools", "Add five", value_wei=deposit)
    add = tool_at(bench)
    assert bench.say_step(use_tool(add.address, ["uint256", "string"], [5, "asked"], THOUGHT))
    assert bench.adapter.events("AnswerPassedOn")[0]["success"] is False
    assert bench.consumer("total") == 0
    bench.give(bench.consumer, deposit)
    assert bench.adapter("retry", 1, sender=STRANGER) is True
    assert bench.consumer("total") == 5
    assert bench.say_text("Done.")
    assert bench.consumer("answer") == "Done."


def test_only_the_language_model_is_served(bench: AdapterBench) -> None:
    arguments = (1, STRANGER.address, bytes(4), string_payload())
    with reverts("AgentNotServed", 1):
        bench.adapter("createRequest", *arguments, value_wei=10**18)


@pytest.mark.parametrize("data", [b"", b"\x01\x02\x03\x04", string_payload()[:40]])
def test_a_malformed_payload_is_refused(bench: AdapterBench, data: bytes) -> None:
    with reverts("MalformedPayload", data[:4].ljust(4, b"\0")):
        ask(bench, data)


def test_a_deposit_pays_for_the_oracle(bench: AdapterBench) -> None:
    deposit = bench.adapter("getRequestDeposit")
    with reverts("InsufficientFee", deposit - 1, deposit):
        bench.consumer("ask", string_payload(), value_wei=deposit - 1)


@pytest.mark.parametrize("name", ["oracle", "adapter"])
def test_the_adapter_calls_neither_its_oracle_nor_itself(bench: AdapterBench, name: str) -> None:
    """Else anybody could name `withdraw` as a callback and send the refunds of others away."""
    target: Contract = getattr(bench, name)
    selector = function_signature_to_4byte_selector("withdraw(address)")
    arguments = (AGENT_ID, target.address, selector, string_payload())
    with reverts("ForbiddenTarget", target.address):
        bench.adapter("createRequest", *arguments, value_wei=10**18)


def test_long_conversations_fit_into_the_adapters_own_gas(bench: AdapterBench) -> None:
    """20 messages of 500 bytes and a result of 4,000; the contract can't store that."""
    messages = [("user" if i % 2 else "assistant", f"{i} " + "word " * 100) for i in range(20)]
    ask(bench, tools_payload([("f(uint256 x)", "Does f")], *messages))
    assert bench.say_text("x" * 4_000)
    assert bench.adapter.events("RequestFinalized") == [{"requestId": 1, "status": SUCCESS}]
    assert len(bench.adapter.events("AnswerPassedOn")) == 1

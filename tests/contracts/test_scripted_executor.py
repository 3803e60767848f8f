"""`ScriptedAgentExecutor` beside the precompile: the same words, byte for byte the same result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_typing import Address
from eth_utils import function_abi_to_4byte_selector
from hypothesis import example, given, settings
from hypothesis import strategies as st

from precompiles.abi import ParamType
from precompiles.react import GrammarViolationError
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.models import answer, use
from tests.contracts.plain_evm import ZERO, decode_error, reverts, text_input
from tests.contracts.spoken import (
    ADDRESSES,
    ALL_NAMED,
    ARGUMENTS,
    PARAMETERS,
    PROMPTS,
    TALKATIVE,
    TEXTS,
    encoded,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import ComputationAPI

    from pyevm_agents.models.fakes.scripted import Step
    from tests.chain_bench import Bench
    from tests.contracts.plain_evm import Contract, Evm

    MakeBench = Callable[..., Bench]

PRECOMPILE = EXECUTOR_ADDRESS
REASONING = "Thought: Pay.\nAction: Pay\nAction Input: {}"


@dataclass
class Both:
    """A chain with the precompile, and the executor of Solidity at another address."""

    bench: Bench
    executor: Address
    tools: list[Address]
    step: Step = ""

    def request(self, base_prompt: str, prompt: str, results: Sequence[str] = ()) -> bytes:
        arguments = ("bytes", base_prompt, self.tools, [REASONING] * len(results), list(results))
        return load_artifact("IERCAgentExecutor").encode_call(
            "runNextIteration", *arguments, prompt
        )

    def tell(self, function: str, *arguments: object) -> None:
        call = load_artifact("ScriptedAgentExecutor").encode_call(function, *arguments)
        receipt, computation = self.bench.send(self.executor, call)
        assert receipt.state_root == b"\x01", computation.error

    def script(self, step: Step, tool: str = "", arguments: bytes = b"") -> None:
        """Set the next step of both."""
        self.step = step
        self.tell("clear")
        if tool:
            self.tell("use", tool, arguments, getattr(step, "thought", ""))
        else:
            self.tell("answer", getattr(step, "answer", ""), getattr(step, "thought", ""))

    def ask(self, request: bytes) -> ComputationAPI:
        return self.bench.call(self.executor, request)

    def refusal(self, request: bytes) -> tuple[object, ...]:
        computation = self.ask(request)
        assert computation.is_error
        return decode_error(computation.output)

    def require_same(self, request: bytes) -> None:
        """Require the same result, or two errors for a text outside the grammar."""
        try:
            expected = self.bench.call(PRECOMPILE, request)
        except GrammarViolationError:
            name, step, *_ = self.refusal(request)
            assert (name, step) == ("NotSayable", 0)
            return
        expected.raise_if_error()
        told = self.ask(request)
        assert not told.is_error, decode_error(told.output)
        assert told.output == expected.output


@pytest.fixture
def both(bench: MakeBench) -> Both:
    chain = bench(lambda request: words_of(made.step, request.handles), profile=TALKATIVE)
    made: Both = Both(chain, chain.deploy("ScriptedAgentExecutor"), [])
    for name, parameters in PARAMETERS.items():
        described = [(kind, one, f"the {one}") for one, kind in parameters.items()]
        tool = chain.deploy("ScriptedTool", name, "A tool", described, bytes(20), "Done", [])
        made.tools.append(tool)
    return made


EXAMPLES = pytest.mark.parametrize("examples", [5, pytest.param(60, marks=pytest.mark.slow)])


@EXAMPLES
def test_says_of_a_tool_what_the_precompile_says(both: Both, examples: int) -> None:
    @settings(max_examples=examples)
    @given(
        texts=st.tuples(PROMPTS, PROMPTS, st.one_of(ALL_NAMED, st.just(""))),
        told=ARGUMENTS,
        thought=st.one_of(st.none(), TEXTS.filter(bool)),
    )
    @example(
        texts=(f"true = {ADDRESSES[0]}\nUSDC = {ADDRESSES[1]}", "", ""),
        told=("Note It", {"text": f"a\n{ADDRESSES[0]}\tUSDC", "offset": 0, "is_urgent": True}),
        thought="true",
    )
    def check(
        texts: tuple[str, str, str], told: tuple[str, dict[str, Any]], thought: str | None
    ) -> None:
        base_prompt, prompt, result = texts
        tool, arguments = told
        both.script(use(tool, thought, arguments), tool, encoded(tool, arguments))
        both.require_same(both.request(base_prompt, prompt, [result]))

    check()


@EXAMPLES
def test_answers_what_the_precompile_answers(both: Both, examples: int) -> None:
    @settings(max_examples=examples)
    # A line break at the end of an answer is the grammar's, so no text of a script ends with one.
    @given(
        base_prompt=PROMPTS,
        prompt=PROMPTS,
        text=TEXTS.filter(lambda text: not text.endswith("\n")),
    )
    def check(base_prompt: str, prompt: str, text: str) -> None:
        both.script(answer(text))
        both.require_same(both.request(base_prompt, prompt))

    check()


# -- what it refuses, and what it says besides -- #


def result_of(computation: ComputationAPI) -> Any:  # noqa: ANN401 - an AgentIterationResult
    assert not computation.is_error, decode_error(computation.output)
    return load_artifact("IERCAgentExecutor").decode_result("runNextIteration", computation.output)


def test_says_steps_in_their_order_and_counts_them(both: Both) -> None:
    for text in ("One.", "Two."):
        both.tell("answer", text, "")
    request = both.request("", "Go")
    receipt, first = both.bench.send(both.executor, request)
    assert receipt.state_root == b"\x01"
    assert result_of(first)[1] == "One."
    assert decode_error(both.bench.call(both.executor, DONE).output) == (
        "ScriptNotUsedUp", 1, 2, "answer: Two.",
    )  # fmt: skip
    assert result_of(both.bench.send(both.executor, request)[1])[1] == "Two."
    assert not both.bench.call(both.executor, DONE).is_error
    assert both.refusal(request) == ("ScriptUsedUp", 2, "Go", 0)
    assert both.refusal(both.request("", "Go", ["was"])) == ("ScriptUsedUp", 2, "Go", 1)


DONE = load_artifact("ScriptedAgentExecutor").encode_call("assertDone")
STATICCALL = 1


def test_a_static_call_takes_the_step_that_the_run_has_come_to(both: Both) -> None:
    for text in ("One.", "Two."):
        both.tell("answer", text, "")
    caller = both.bench.deploy("Caller")
    for results, said in (([], "One."), (["was"], "Two."), ([], "One.")):
        data = both.request("", "Go", results)
        call = load_artifact("Caller").encode_call("forward", STATICCALL, both.executor, 0, 0, data)
        success, output = load_artifact("Caller").decode_result(
            "forward", both.bench.call(caller, call).output
        )
        assert success
        assert (
            load_artifact("IERCAgentExecutor").decode_result("runNextIteration", output)[1] == said
        )


def test_refuses_a_tool_that_is_not_on_offer(both: Both) -> None:
    both.tell("use", "pay", b"", "")
    offered = "Pay, Note It, Many, Nothing"
    assert both.refusal(both.request("", "")) == ("ToolNotOffered", 0, "pay", offered)


@pytest.mark.parametrize(
    "arguments",
    [
        encode(["address"], [ADDRESSES[0]]),
        encode(["address", "uint256", "bool"], [ADDRESSES[0], 1, True]),
        encode(["uint256", "uint256"], [2**160, 1]),
        b"",
        b"\0" * 63,
    ],
    ids=["few", "many", "no address", "none", "short"],
)
def test_refuses_arguments_of_another_tool(both: Both, arguments: bytes) -> None:
    both.tell("use", "Pay", arguments, "")
    name, step, tool, expected, shown = both.refusal(both.request("", ", ".join(ADDRESSES)))
    assert (name, step, tool) == ("WrongArguments", 0, "Pay")
    assert (expected, shown) == ("(address asset, uint256 amount)", arguments)


MANY = encode(
    ["string[]", "address[]", "bool[]", "int256[]", "uint256[]", "string"],
    [["a", "bc"], [ADDRESSES[0]], [True], [-1], [1], "text"],
)


@pytest.mark.slow
@pytest.mark.parametrize("word", [2**256 - 1, 2**256 - 32, 2**255, len(MANY)])
@pytest.mark.parametrize("position", range(12))
def test_an_offset_or_a_length_beyond_all_numbers_is_no_panic(
    both: Both, position: int, word: int
) -> None:
    altered = MANY[: 32 * position] + word.to_bytes(32, "big") + MANY[32 * position + 32 :]
    both.tell("clear")
    both.tell("use", "Many", altered, "")
    computation = both.ask(both.request("", ADDRESSES[0]))
    if computation.is_error:
        assert decode_error(computation.output)[0] in {"WrongArguments", "NotSayable"}
    else:
        assert altered in computation.output


@EXAMPLES
def test_arguments_with_an_altered_byte_never_end_without_a_reason(
    both: Both, examples: int
) -> None:
    @settings(max_examples=examples)
    @given(position=st.integers(0, len(MANY) - 1), byte=st.integers(1, 255))
    @example(position=MANY.index(b"text"), byte=0x80)  # no UTF-8
    def check(position: int, byte: int) -> None:
        altered = bytearray(MANY)
        altered[position] ^= byte
        both.tell("clear")
        both.tell("use", "Many", bytes(altered), "")
        computation = both.ask(both.request("", ADDRESSES[0]))
        # What is said may be no UTF-8, so it is not decoded.
        if computation.is_error:
            assert computation.output[:4] in {
                function_abi_to_4byte_selector(one)
                for one in load_artifact("ScriptedAgentExecutor").abi
                if one["type"] == "error" and one["name"] in {"WrongArguments", "NotSayable"}
            }
        else:
            assert bytes(altered) in computation.output

    check()


def test_gives_and_fails_with_what_no_model_says(both: Both) -> None:
    both.tell("giveResult", b"garbage")
    assert both.ask(both.request("", "")).output == b"garbage"
    both.tell("clear")
    both.tell("fail", bytes.fromhex("f9c0bab4"))
    assert both.refusal(both.request("", "")) == ("ReentrantMetadata",)


@pytest.mark.parametrize(
    ("reasoning", "results"),
    [
        ([], ["was"]),
        (["", REASONING], ["", "was"]),
        (["Thought: Pay."], ["was"]),
        (["Thought: a\nAction: b\nAction Input: {}\n"], ["was"]),
        ([REASONING, "Thought: \nAction: b\nAction Input: {}"], ["was", "is"]),
    ],
)
def test_refuses_histories_as_the_precompile_does(
    both: Both, reasoning: list[str], results: list[str]
) -> None:
    both.tell("answer", "Done.", "")
    request = load_artifact("IERCAgentExecutor").encode_call(
        "runNextIteration", "bytes", "", both.tools, reasoning, results, "Go"
    )
    expected = both.bench.call(PRECOMPILE, request)
    assert expected.is_error
    assert both.refusal(request) == decode_error(expected.output)


def test_refuses_tools_as_the_precompile_does(both: Both) -> None:
    both.tell("answer", "Done.", "")
    pay = both.tools[0]
    for tools in ([pay, pay], [Address(bytes(20))], [pay] * 65, [both.executor]):
        both.tools = tools
        request = both.request("", "")
        expected = decode_error(both.bench.call(PRECOMPILE, request).output)
        told = both.refusal(request)
        assert told[:3] == expected[:3]


LETTERS = st.sampled_from(
    [*"01lIO|m\"'` xX_9aFgG", "addr", "rn", "0x", "true", "Null", "é", "\x7f"]
)
NAMES = st.one_of(
    st.sampled_from(["true", "False", "nullx", "addr7", "Addr", "addr1a", "a" * 64, "a" * 65]),
    st.lists(LETTERS, max_size=4).map("".join),
)
LISTS_OF_NAMES = st.lists(NAMES, max_size=3)


@EXAMPLES
def test_refuses_the_names_that_the_precompile_refuses(both: Both, examples: int) -> None:
    both.tell("answer", "Done.", "")
    deployed: dict[tuple[str, ...], Address] = {}

    def make_tool(*names: str) -> Address:
        if names not in deployed:
            parameters = [(ParamType.BOOL, name, "") for name in names[1:]]
            arguments: tuple[object, ...] = (names[0], "", parameters, bytes(20), "Done", [])
            deployed[names] = both.bench.deploy("ScriptedTool", *arguments)
        return deployed[names]

    @settings(max_examples=examples)
    @given(names=LISTS_OF_NAMES, parameters=LISTS_OF_NAMES)
    @example(names=["Tool1"], parameters=["a1", "to", "al"])
    @example(names=["rnodem", "modern"], parameters=[])
    def check(names: list[str], parameters: list[str]) -> None:
        both.tools = [make_tool("Tool", *parameters), *map(make_tool, names)]
        both.step = answer("Done.")
        request = both.request("", "")
        expected, told = both.bench.call(PRECOMPILE, request), both.ask(request)
        assert expected.is_error == told.is_error
        if told.is_error:
            refusal, wanted = decode_error(told.output), decode_error(expected.output)
            assert refusal[:3] == wanted[:3]
        else:
            assert told.output == expected.output

    check()


def test_has_no_other_functions_than_the_precompile(both: Both) -> None:
    for data in (b"", b"\x01", b"\x01\x02\x03\x04\x05"):
        told = decode_error(both.bench.call(both.executor, data).output)
        assert told == decode_error(both.bench.call(PRECOMPILE, data).output)


# -- with agents -- #


def test_one_script_is_for_nested_agents_too(evm: Evm) -> None:
    executor, counter = evm.deploy("ScriptedAgentExecutor"), evm.deploy("CounterTool")
    texts = ("Does things", "what to do", "You count.")
    inner = deploy_agent(evm, executor, "Inner", texts, counter)
    outer = deploy_agent(evm, executor, "Outer", texts, inner)
    executor("use", "Inner", encode(["string"], ["add 7"]), "")
    executor("use", "CounterTool", encode(["uint256"], [7]), "")
    executor("answer", "Added 7.", "")
    executor("answer", "It is done.", "")

    assert outer("run", text_input("Please add 7"), ZERO) == (-1, "It is done.")

    assert counter("number") == 7
    executor("assertDone")


def test_a_run_that_reverts_gives_its_steps_back(evm: Evm) -> None:
    executor, counter = evm.deploy("ScriptedAgentExecutor"), evm.deploy("CounterTool")
    agent = deploy_agent(evm, executor, "Agent", ("Does things", "what to do", ""), counter)
    executor("use", "CounterTool", encode(["uint256"], [7]), "")
    with reverts("ScriptUsedUp", 1, "Add", 1):
        agent("run", text_input("Add"), ZERO)
    assert (executor("usedSteps"), counter("number")) == (0, 0)
    executor("answer", "Done.", "")
    assert agent("run", text_input("Add"), ZERO) == (-1, "Done.")
    assert counter("number") == 7


def deploy_agent(
    evm: Evm, executor: Contract, name: str, texts: tuple[str, str, str], tool: Contract
) -> Contract:
    arguments = (executor.address, "any", name, *texts, [tool.address], 3)
    return evm.deploy("SimpleAgent", *arguments)

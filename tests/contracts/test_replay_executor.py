"""`ReplayAgentExecutor`: recorded steps, replayed for the same agents at other addresses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import (
    is_checksum_address,
    is_checksum_formatted_address,
    to_checksum_address,
)
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from precompiles.escaping import ADDRESS, escape_line, unescape_line
from precompiles.react import GrammarViolationError
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.iteration_results import decode_iteration
from pyevm_agents.models import answer, use
from tests.contracts.plain_evm import ZERO, RevertedError, decode_error, reverts, text_input
from tests.contracts.recorded_steps import exported, record_argument
from tests.contracts.spoken import (
    ADDRESSES,
    ALL_NAMED,
    ARGUMENTS,
    OTHER_ADDRESSES,
    PARAMETERS,
    PROMPTS,
    TALKATIVE,
    TEXTS,
    words_of,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from eth_typing import Address

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models.fakes.scripted import Step
    from tests.chain_bench import Bench
    from tests.contracts.plain_evm import Contract, Evm

    MakeBench = Callable[..., Bench]

COUNTING = "You count. Use CounterTool to add a number to the counter."
PROMPT = "Ask the Counting Agent: add 7 to the counter"
OTHER = "Ask the Counting Agent: add 8 to the counter"
ASKING = "You ask other agents. Ask Counting Agent to add a number to the counter."


REASONING = "Thought: Pay.\nAction: Pay\nAction Input: {}"
PRECOMPILE = EXECUTOR_ADDRESS


@dataclass
class Nested:
    """The agents of `chain_fixtures/nested.json`, elsewhere, or with other texts."""

    evm: Evm
    executor: Contract
    base_prompt: str = ASKING
    model: str = "llama_model_3"
    description: str = "Adds to the counter"
    extra_tools: list[str] = field(default_factory=list)

    def run(self, prompt: str = PROMPT) -> Any:  # noqa: ANN401 - what Solidity returns
        self.evm.deploy("Ledger")  # Other nonces, so other addresses.
        self.counter = self.evm.deploy("CounterTool")
        texts = ("Counting Agent", self.description, "what to do", COUNTING)
        where = self.executor.address
        counting = self.evm.deploy(
            "SimpleAgent", where, self.model, *texts, [self.counter.address], 5
        )
        texts = ("Asking Agent", "Asks an agent", "what to do", self.base_prompt)
        tools = [counting.address, *self.extra_tools]
        self.agent = self.evm.deploy("SimpleAgent", where, self.model, *texts, tools, 5)
        return self.agent("run", text_input(prompt), ZERO)


@pytest.fixture
def nested(evm: Evm) -> Nested:
    made = Nested(evm, evm.deploy("ReplayAgentExecutor"))
    for step in exported("nested")["steps"]:
        made.executor("record", record_argument(step))
    return made


def test_says_what_was_recorded_of_agents_that_are_elsewhere(nested: Nested) -> None:
    steps = exported("nested")["steps"]
    assert nested.run() == (-1, "Done. Counting Agent: Done. CounterTool: The counter is: 7")
    assert nested.counter("number") == 7
    recorded = {tool["address"].lower() for step in steps for tool in step["tools"]}
    assert nested.counter.address not in recorded
    gas = exported("nested")["inferenceGas"]
    assert nested.executor("replayedSteps") == nested.executor("steps") == 4
    # The rules decided each step: no inference was paid for.
    assert nested.executor("inferenceGas") == gas == 0
    nested.executor("assertDone")


def test_tells_what_nobody_asked_for(nested: Nested) -> None:
    with reverts("NotReplayed", 0, 4, 0, PROMPT, 0):
        nested.executor("assertDone")


def inner(error: RevertedError) -> tuple[object, ...]:
    """Return the error that a nested agent's run ended with."""
    name, _, reason = error.error
    assert name == "ToolCallFailed"
    return decode_error(bytes(reason))  # type: ignore[call-overload]


@pytest.mark.slow
def test_a_result_that_was_not_recorded_is_refused(nested: Nested) -> None:
    nested.run()
    with pytest.raises(RevertedError) as caught:
        nested.agent("run", text_input(PROMPT), ZERO)
    # The counter goes on, so its tool says what it never said when it was recorded.
    told = ("NotRecorded", 2, "toolResults[0]", "The counter is: 7", "The counter is: 14")
    assert inner(caught.value) == told


@pytest.mark.parametrize(
    ("changes", "field", "recorded", "asked"),
    [
        ({"base_prompt": "Ask."}, "basePrompt", ASKING, "Ask."),
        ({"model": "default"}, "modelId", "llama_model_3", "default"),
        (
            {"description": "Counts"},
            "tools[0]",
            "Counting Agent: Adds to the counter (string prompt: what to do)",
            "Counting Agent: Counts (string prompt: what to do)",
        ),
    ],
    ids=["base prompt", "model", "tool"],
)
def test_tells_what_differs(
    nested: Nested, changes: dict[str, str], field: str, recorded: str, asked: str
) -> None:
    for name, value in changes.items():
        setattr(nested, name, value)
    with reverts("NotRecorded", 0, field, recorded, asked):
        nested.run()


def test_tells_another_prompt_and_another_number_of_tools(nested: Nested) -> None:
    with reverts("NotRecorded", 0, "prompt", PROMPT, OTHER):
        nested.run(OTHER)
    nested.extra_tools.append(nested.evm.deploy("TokenInfoTool").address)
    with reverts("NotRecorded", 0, "tools", "1", "2"):
        nested.run()


def test_tells_a_run_that_goes_on_for_longer(nested: Nested) -> None:
    nested.run()
    request: tuple[object, ...] = (
        "llama_model_3",
        ASKING,
        [],
        ["Thought: a\nAction: b\nAction Input: {}"] * 5,
    )
    arguments = (*request, ["was"] * 5, PROMPT)
    with pytest.raises(RevertedError) as caught:
        nested.executor("runNextIteration", *arguments)
    assert caught.value.error[0:1] + caught.value.error[2:] == ("NotRecorded", "steps", "1", "5")


def test_a_step_is_recorded_once_and_only_with_one_answer(nested: Nested) -> None:
    first, *_ = exported("nested")["steps"]
    nested.executor("record", record_argument(first))
    assert nested.executor("steps") == 4
    with reverts("ContradictoryRecord", 4, 0):
        nested.executor("record", record_argument({**first, "reasoning": "other"}))


def test_without_a_record_says_so(evm: Evm) -> None:
    executor = evm.deploy("ReplayAgentExecutor")
    with reverts("NothingRecorded"):
        Nested(evm, executor).run()
    with reverts("NothingRecorded"):  # Else a forgotten `load` would be no failure.
        executor("assertDone")


def test_a_record_is_forgotten_and_made_anew(nested: Nested) -> None:
    nested.run()
    nested.executor("clear")
    told = [nested.executor(name) for name in ("steps", "replayedSteps", "inferenceGas")]
    assert told == [0, 0, 0]
    with reverts("NothingRecorded"):
        nested.run()
    first, *_ = exported("nested")["steps"]
    nested.executor("record", record_argument({**first, "reasoning": REASONING}))
    assert nested.executor("steps") == 1
    with reverts("NotReplayed", 0, 1, 0, PROMPT, 0):
        nested.executor("assertDone")


# -- addresses -- #


THERE = dict(zip((one.lower() for one in ADDRESSES), OTHER_ADDRESSES, strict=True))


def elsewhere(text: str) -> str:
    """Return a text with another address for each address; similar texts stay."""

    def moved(found: re.Match[str]) -> str:
        is_one = not is_checksum_formatted_address(found[0]) or is_checksum_address(found[0])
        return THERE[found[0].lower()] if is_one else found[0]

    return ADDRESS.sub(moved, text)


@dataclass
class Said:
    """Set the next generations of a chain's model: first a step, then the same text again."""

    step: Step
    words: str = ""

    def __call__(self, request: GenerationRequest) -> str:
        self.words = self.words or words_of(self.step, request.handles)
        return self.words


@dataclass
class Elsewhere:
    """A chain with the precompile, an executor of Solidity, and tools."""

    bench: Bench
    said: Said
    executor: Address
    tools: list[Address]

    def request(self, texts: tuple[str, ...], version: int) -> bytes:
        base_prompt, prompt, result = texts
        rest: tuple[object, ...]
        if version == 1:
            entry = f"{REASONING}\nObservation: {escape_line(result)}\n"
            name, rest = "IERCAgentExecutorV1", ("An agent", base_prompt, self.tools, [entry, ""])
        else:
            name = "IERCAgentExecutor"
            rest = (base_prompt, self.tools, [REASONING, ""], [result, ""])
        return load_artifact(name).encode_call("runNextIteration", "bytes", *rest, prompt)


@pytest.fixture
def chain(bench: MakeBench) -> Elsewhere:
    said = Said(answer(""))
    made = bench(said, profile=TALKATIVE)
    tools = [deploy_tool(made, name) for name in PARAMETERS]
    return Elsewhere(made, said, made.deploy("ReplayAgentExecutor"), tools)


BESIDE_ESCAPES = f"a\n{ADDRESSES[0]}\r{ADDRESSES[1]}\\{ADDRESSES[0]}\\n{ADDRESSES[1]}"
"""After two escapes of JSON, after a backslash, and after a backslash and a letter: no address."""

STEPS = st.one_of(TEXTS.map(answer), ARGUMENTS.map(lambda told: use(told[0], None, told[1])))


@pytest.mark.parametrize(
    ("examples", "version"),
    [
        (5, 2),
        pytest.param(5, 1, marks=pytest.mark.slow),
        pytest.param(25, 2, marks=pytest.mark.slow),
    ],
)
def test_says_of_other_addresses_what_the_model_would_have_said(
    chain: Elsewhere, examples: int, version: int
) -> None:
    @settings(max_examples=examples)
    @given(texts=st.tuples(PROMPTS, PROMPTS, ALL_NAMED), step=STEPS)
    @example(
        texts=(f"USDC = {ADDRESSES[0]}", "", ADDRESSES[1]),
        step=use("Note It", None, {"text": BESIDE_ESCAPES, "offset": 0, "is_urgent": True}),
    )
    def check(texts: tuple[str, str, str], step: Step) -> None:
        require_same_words(chain, texts, step, version)

    check()


def require_same_words(
    chain: Elsewhere, texts: tuple[str, str, str], step: Step, version: int
) -> None:
    chain.said.step, chain.said.words = step, ""
    try:
        recorded = chain.bench.call(PRECOMPILE, chain.request(texts, version))
    except GrammarViolationError:
        reject()
    before = chain.bench.chain.snapshot()
    *prompts, result = texts
    if version == 1:
        result = unescape_line(escape_line(result))
    record = recorded_step((*prompts, result), chain.tools, recorded.output)
    call = load_artifact("ReplayAgentExecutor").encode_call("record", record)
    receipt, _ = chain.bench.send(chain.executor, call)
    assert receipt.state_root == b"\x01"

    asked = chain.request(tuple(map(elsewhere, texts)), version)
    expected = chain.bench.call(PRECOMPILE, asked)
    assert expected.output
    assert chain.bench.call(chain.executor, asked).output == expected.output
    chain.bench.chain.revert(before)


def deploy_tool(made: Bench, name: str) -> Address:
    described = [(kind, one, f"the {one}") for one, kind in PARAMETERS[name].items()]
    return made.deploy("ScriptedTool", name, "A tool", described, bytes(20), "Done", [])


def recorded_step(texts: tuple[str, ...], tools: list[Address], output: bytes) -> Any:  # noqa: ANN401 - a struct
    base_prompt, prompt, result = texts
    said = decode_iteration(output)
    described = [
        (name, "A tool", [(kind, one, f"the {one}") for one, kind in parameters.items()])
        for name, parameters in PARAMETERS.items()
    ]
    addresses = [str(to_checksum_address(one)) for one in tools]
    place = 0 if said.is_final_answer else addresses.index(said.tool)
    asked = ("bytes", base_prompt, described, [REASONING], [result], prompt)
    values = [value for _, value in said.params]
    answered = (said.is_final_answer, said.final_answer, place, values, said.agent_reasoning)
    return (*asked, *answered, 1, 2)

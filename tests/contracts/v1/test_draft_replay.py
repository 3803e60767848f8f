"""`ReplayAgentExecutor` answers version-1 agents: their histories, and a run that was exported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from hypothesis import example, given, settings
from hypothesis import strategies as st

from precompiles.errors import Refusal
from precompiles.react import parse_history
from precompiles.versions import decode_request
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.recordings.export import (
    CALL_TRACER,
    ReplayExport,
    extract_replay_steps,
    render_json,
)
from tests.contracts.plain_evm import ZERO, RevertedError, reverts
from tests.contracts.plain_evm import text_input as text_input_v2
from tests.contracts.recorded_steps import record_argument
from tests.contracts.v1.draft import (
    RUN_NEXT_ITERATION,
    SYNCHRONOUS,
    interface_id,
    reason,
    selector,
    text_input,
)
from tests.pyevm_agents.cli.draft_node import ANSWER, DESCRIPTION, NAME, PROMPT, SEEN, DraftNode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.recordings.export import ReplayStep
    from tests.contracts.plain_evm import Contract, Evm

MODEL = "some-model"
REASONING = reason("CounterToolV1", 5)
NO_TOOLS: list[str] = []
ENDED = (True, "done", ZERO, b"", "")


@pytest.fixture
def executor(evm: Evm) -> Contract:
    return evm.deploy("ReplayAgentExecutor")


def arguments_of(entries: list[str]) -> tuple[object, ...]:
    return (MODEL, NAME, DESCRIPTION, NO_TOOLS, entries, PROMPT)


def ask(executor: Contract, entries: list[str]) -> Any:  # noqa: ANN401 - what Solidity returns
    """Ask by the draft's signature for the next step of a run."""
    draft = executor.evm.at("IERCAgentExecutorV1", executor.address)
    return draft("runNextIteration", *arguments_of(entries))


def read_history(entries: list[str]) -> list[str] | None:
    """Return the observations that the precompile reads; None where it refuses the history."""
    artifact = load_artifact("IERCAgentExecutorV1")
    calldata = artifact.encode_call("runNextIteration", *arguments_of(entries))
    try:
        return [step.observation for step in parse_history(decode_request(calldata))]
    except Refusal:
        return None


# -- histories -- #

PIECES = st.sampled_from(
    [
        *("\\", "\\n", "\\r", "\\t", "\\u0000", "\\u0009", "\\u000a", "\\u001F", "\\u001f"),
        *("\\u0085", "\\u00a0", "\\u2028", "\\u2029", "\\u202", "\\u2030", "u0000", "n", "0"),
        *("\t", "é", "\xa0", "→", "\u2027", "\u202a", "🦉", "Observation: ", "a b"),
    ]
)
BREAKS = st.sampled_from(["\0", "\n", "\r", "\x1f", "\x7f", "\x80", "\x9f", "\u2028", "\u2029"])
LINES = st.one_of(
    st.lists(PIECES, max_size=6).map("".join),
    st.lists(st.one_of(PIECES, PIECES, BREAKS), max_size=6).map("".join),
)
TAILS = st.builds("\nObservation: {}{}".format, LINES, st.sampled_from(["", "\n", "\n\n"]))


@pytest.mark.parametrize("examples", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_a_history_is_read_as_the_precompile_reads_it(executor: Contract, examples: int) -> None:
    @settings(max_examples=examples)
    @given(tail=TAILS)
    @example(tail="\nObservation: ")
    @example(tail="\nObservation:")
    @example(tail="")
    @example(tail="\n")
    def check(tail: str) -> None:
        entries = [REASONING + tail, ""]
        observations = read_history(entries)
        executor("clear")
        if observations is None:
            with pytest.raises(RevertedError, match="MalformedHistory"):
                ask(executor, entries)
            return
        asked = (MODEL, DESCRIPTION, NO_TOOLS, [REASONING], observations, PROMPT)
        executor("record", (*asked, True, "done", 0, [], "", 1, 2))
        assert ask(executor, entries) == ENDED

    check()


@pytest.mark.parametrize(
    "entries",
    [
        ["", f"{REASONING}\nObservation: 5"],
        ["\nObservation: 5"],
        ["Observation: 5"],
        ["\n"],
        [f"{REASONING}\nThought: no\nObservation: 5"],
    ],
)
def test_another_history_is_refused_with_its_place(executor: Contract, entries: list[str]) -> None:
    assert read_history(entries) is None
    with pytest.raises(RevertedError, match="MalformedHistory") as caught:
        ask(executor, entries)
    assert caught.value.error[1] == 0


def test_the_executor_supports_both_versions(executor: Contract) -> None:
    draft = interface_id(RUN_NEXT_ITERATION)
    for identifier in (draft, selector("supportsInterface(bytes4)"), bytes.fromhex("7e636a24")):
        assert executor("supportsInterface", identifier)
    for identifier in (b"\xff" * 4, bytes(4)):
        assert not executor("supportsInterface", identifier)


# -- an exported run -- #


@pytest.fixture(scope="module")
def steps() -> Iterator[tuple[ReplayStep, ...]]:
    node = DraftNode()
    sent = node.ask("eth_sendTransaction", node.question())
    yield extract_replay_steps(
        node.ask("debug_traceTransaction", sent, CALL_TRACER),
        node.ask("agent_traceTransaction", sent),
    )
    node.node.close()


def test_an_export_has_the_observations_as_tool_results(steps: tuple[ReplayStep, ...]) -> None:
    first, second, last = steps
    assert {step.base_prompt for step in steps} == {DESCRIPTION}
    assert (first.tool, second.tool, last.answer) == (0, 1, ANSWER)
    assert second.values == (encode(["uint256"], [7]),)
    assert second.tool_results == (SEEN,)
    assert last.tool_results == (SEEN, "The counter is: 7")
    assert [text.count("\n") for text in last.agent_reasoning] == [2, 2]


class Elsewhere:
    """The agent of the export, in an EVM with the replaying executor, at other addresses."""

    def __init__(self, evm: Evm, steps: tuple[ReplayStep, ...]) -> None:
        self.evm, self.executor = evm, evm.deploy("ReplayAgentExecutor")
        rendered = render_json(ReplayExport(name="draft", source="", steps=steps))
        for step in json.loads(rendered)["draft"]["steps"]:
            self.executor("record", record_argument(step))
        self.counter = evm.deploy("CounterToolV1")
        self.look = evm.deploy("ScriptedTool", "Look", "Shows something", [], ZERO, SEEN, [])

    def deploy_agent(self, version: int) -> Contract:
        texts = ("llama_model_3", NAME, DESCRIPTION, "what to do")
        where = self.executor.address
        if version == 1:
            look = self.evm.deploy("ToolV2AsV1", self.look.address, ZERO)
            tools = [look.address, self.counter.address]
            return self.evm.deploy("SimpleAgentV1", where, *texts, tools, 5)
        counter = self.evm.deploy("ToolV1AsV2", self.counter.address, ZERO)
        tools = [self.look.address, counter.address]
        return self.evm.deploy("SimpleAgent", where, *texts, DESCRIPTION, tools, 5)


@pytest.mark.parametrize("version", [1, 2])
def test_an_exported_run_is_replayed_by_an_agent_of_either_version(
    evm: Evm, steps: tuple[ReplayStep, ...], version: int
) -> None:
    made = Elsewhere(evm, steps)
    agent = made.deploy_agent(version)
    given = text_input(PROMPT) if version == 1 else text_input_v2(PROMPT)
    run_id = SYNCHRONOUS if version == 1 else -1
    assert agent("run", given, ZERO) == (run_id, ANSWER)
    assert made.counter("number") == 7
    made.executor("assertDone")
    assert made.executor("inferenceGas") == sum(one.prompt_gas + one.output_gas for one in steps)


def test_another_prompt_is_refused_with_what_differs(
    evm: Evm, steps: tuple[ReplayStep, ...]
) -> None:
    agent = Elsewhere(evm, steps).deploy_agent(1)
    with reverts("NotRecorded", 0, "prompt", PROMPT, "Count"):
        agent("run", text_input("Count"), ZERO)

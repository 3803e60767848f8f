"""Version-1 agents by JSON-RPC: traces, simulated calls, exports, runs and descriptions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address

from pyevm_agents.cli.app import main
from pyevm_agents.recordings import Replay, codec
from pyevm_agents.rpc.recorded_answers import format_request
from pyevm_agents.server.recorded_page import read_recorded_page
from tests.pyevm_agents.cli.draft_node import ANSWER, DESCRIPTION, NAME, PROMPT, SEEN, DraftNode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result


class Sent:
    """A node, a simulated run, and the hash of the same run in a transaction."""

    def __init__(self) -> None:
        self.node = DraftNode()
        self.tried = self.node.ask("agent_traceCall", self.node.question())
        self.hash = str(self.node.ask("eth_sendTransaction", self.node.question()))
        self.agent = to_checksum_address(self.node.agent)

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        return self.node.ask(method, *params)


@pytest.fixture(scope="module")
def sent() -> Iterator[Sent]:
    """A node that no test changes."""
    made = Sent()
    yield made
    made.node.node.close()


def run_command(*words: object) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


def test_a_trace_has_steps_tools_and_observations(sent: Sent) -> None:
    trace = sent.ask("agent_traceTransaction", sent.hash)
    first, second, last = trace["steps"]
    assert [first["action"], second["action"], last["answer"]] == ["Look", "CounterToolV1", ANSWER]
    assert [first["observation"], second["observation"]] == [SEEN, "The counter is: 7"]
    assert {step["agent"] for step in trace["steps"]} == {sent.agent}
    assert json.loads(second["input"]) == {"amount": 7}


def test_a_simulated_call_does_what_the_transaction_did(sent: Sent) -> None:
    trace = sent.ask("agent_traceTransaction", sent.hash)
    for name in ("gas", "tokens"):
        assert sent.tried[name] == trace[name]
    decisions = ("thought", "action", "input", "observation", "answer", "prompt", "tool")
    tried, steps = (
        [{name: step[name] for name in decisions if name in step} for step in traced["steps"]]
        for traced in (sent.tried, trace)
    )
    assert tried == steps


def test_a_simulated_call_has_another_description_as_its_prompt(sent: Sent) -> None:
    other = {"address": sent.agent, "basePrompt": "You see all."}
    tried = sent.ask("agent_traceCall", sent.node.question(), None, None, [other])
    assert all("You see all." in step["prompt"] for step in tried["steps"])
    assert all(DESCRIPTION not in step["prompt"] for step in tried["steps"])


def test_the_calls_are_named_and_decoded(sent: Sent) -> None:
    call = sent.ask("agent_traceCalls", sent.hash)["call"]
    text = json.dumps(call)
    assert PROMPT in text
    assert ANSWER in text


def test_the_list_of_runs_has_its_request_and_answer(sent: Sent) -> None:
    listed = sent.ask("agent_getRuns", "0x0", "latest", "0x64")
    (run,) = [run for run in listed if run["transactionHash"] == sent.hash]
    assert (run["request"], run["answer"], run["steps"]) == (PROMPT, ANSWER, 3)
    assert (run["agent"], run["agentName"]) == (sent.agent, "SimpleAgentV1")


def test_an_agent_is_described_with_its_description_as_its_prompt(sent: Sent) -> None:
    described = sent.ask("agent_describe", sent.agent)
    assert described["kind"] == "agent"
    assert (described["name"], described["basePrompt"]) == (NAME, DESCRIPTION)
    assert [tool["name"] for tool in described["tools"]] == ["Look", "CounterToolV1"]
    assert (described["model"], described["entry"]) == ("llama_model_3", "runV1")
    counter = sent.ask("agent_describe", to_checksum_address(sent.node.counter))
    assert (counter["kind"], counter["basePrompt"], counter["entry"]) == ("tool", None, None)


def test_a_replay_is_exported_in_both_forms(sent: Sent) -> None:
    exported = sent.ask("agent_exportReplay", sent.hash)
    assert "library" in exported
    assert "step.agentReasoning[1] = " in exported


@pytest.mark.slow
def test_the_commands_read_its_record(sent: Sent, tmp_path: Path) -> None:
    file, page, library = (tmp_path / name for name in ("run.json", "run.html", "Run.sol"))
    file.write_text(sent.ask("agent_exportRecord", sent.hash), encoding="utf-8")
    fixture = codec.decode(file.read_bytes())
    assert Replay(fixture).finish().head.hash == fixture.blocks[-1].block.hash
    run_command("replay", file)
    run_command("show", file, "-o", page)
    run_command("export-replay", "--fixture", file, "-o", library)
    results = read_recorded_page(page.read_text(encoding="utf-8")).results
    shown = json.loads(results[format_request("agent_traceTransaction", [sent.hash])])
    assert [step["action"] for step in shown["steps"]] == ["Look", "CounterToolV1", None]
    assert "Observation" not in library.read_text()

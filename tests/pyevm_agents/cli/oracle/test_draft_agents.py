"""`oracle deploy-agent --erc-version 1`, `ask` and `follow` of agents of the ERC's first draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.models.fakes.script_steps import answer, use
from pyevm_agents.models.fakes.scripted import render_step
from tests.pyevm_agents.cli.oracle.conftest import NO_CONTRACT, OTHER, Commands
from tests.pyevm_agents.oracle.oracle_chain import CALLBACK_GAS, PROMPT

if TYPE_CHECKING:
    from precompiles.language_model import GenerationRequest

DESCRIPTION = f"You count.\nBOB = {OTHER}"
SETTINGS = ("--callback-gas", CALLBACK_GAS, "--iterations", 3)


def count_for_bob(request: GenerationRequest) -> str:
    prompt = "".join(segment.text for segment in request.segments)
    if "Observation: The counter is: 7\n" in prompt:
        return render_step(answer(f"{OTHER} has 7."), request.handles)
    return render_step(use("CounterToolV1", thought="It is 7", amount=7), request.handles)


def deploy(commands: Commands, *options: object, tool: str = "CounterToolV1") -> str:
    words = ("deploy-agent", "--erc-version", 1, "--name", "Clerk", "--description", DESCRIPTION)
    return str(commands.read(*words, "--tool", tool, *SETTINGS, *options)["agent"])


def test_an_agent_is_deployed_and_asked(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = deploy(commands)
    commands.answer_while_waiting(monkeypatch, count_for_bob)
    lines = commands.run("ask", agent, PROMPT).stdout.splitlines()
    assert lines[0].startswith(f"Run 1 of {agent}: ")
    assert lines[1] == f"  prompt       {PROMPT}"
    assert lines[3:10] == [
        "Step 1",
        "  thought      It is 7",
        "  tool         CounterToolV1",
        '  arguments    {"amount": 7}',
        "  result       The counter is: 7",
        "Answer",
        f"  BOB ({OTHER[:6]}…{OTHER[-4:]}) has 7.",
    ]
    run = commands.read("follow", agent, 1, sender=None)
    assert (run["status"], run["result"]) == ("Answered", f"{OTHER} has 7.")
    [step] = run["steps"]
    assert step["toolResult"] == "The counter is: 7"
    assert step["agentReasoning"].endswith('Action Input: {"amount": 7}')


def test_the_subscription_of_an_agent_pays(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = deploy(commands)
    commands.run("subscription", "create", "--fund", "1ether")
    commands.run("subscription", "add-consumer", 1, agent, "--pay-runs")
    commands.answer_while_waiting(monkeypatch, count_for_bob)
    run = commands.read("ask", agent, PROMPT, "--subscription")
    assert (run["hasSubscription"], run["isSuccess"]) == (True, True)


def test_a_tool_that_reverts_says_why(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    def use_tool(request: GenerationRequest) -> str:
        return render_step(use("RevertingTool"), request.handles)

    tool = commands.chain.deploy("RevertingTool", 2)
    agent = deploy(
        commands, tool=commands.chain.deploy("ToolV2AsV1", tool.address, NO_CODE).address
    )
    commands.answer_while_waiting(monkeypatch, use_tool)
    told = commands.run("ask", agent, PROMPT, status=1).stdout
    assert "  called again, it reverts: ToolRefused(call=2)\n" in told


NO_CODE = "0x" + "00" * 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--description", "x", "--base-prompt", "x"), "--base-prompt: must be omitted"),
        ((), "must be with --description"),
        (("--description", "x", "--ask-human", OTHER), "--ask-human: must be omitted"),
        (("--description", "x", "--tool", "CounterTool"), "must be of version 1 of the ERC"),
        (("--description", "x", "--tool", NO_CONTRACT), "no contract on chain"),
    ],
)
def test_options_of_version_2_are_refused(
    unchanged_commands: Commands, options: tuple[str, ...], message: str
) -> None:
    words = ("deploy-agent", "--erc-version", 1, "--name", "Clerk", *options)
    told = unchanged_commands.run(*words, status=2).stderr
    assert message in " ".join(told.replace("│", " ").split())


def test_a_tool_of_the_other_version_needs_an_adapter(commands: Commands) -> None:
    chain = commands.chain
    counter = chain.deploy("CounterToolV1")
    words = ("deploy-agent", "--name", "Clerk", "--base-prompt", "x", "--tool")
    told = commands.run(*words, counter.address, status=2).stderr
    assert f"--tool {counter.address}: must be of version 2 of the ERC" in told
    assert "deploy a ToolV1AsV2 of it" in told
    adapter = chain.deploy("ToolV1AsV2", counter.address, NO_CODE)
    assert commands.read(*words, adapter.address)["tools"] == [adapter.address]


def test_an_embedded_agent_is_not_asked(commands: Commands) -> None:
    tools: list[str] = []
    texts = ("bytes", "Clerk", "You count.", "what")
    agent = commands.chain.deploy("SimpleAgentV1", "0x" + "00" * 19 + "19", *texts, tools, 3)
    told = commands.run("ask", agent.address, PROMPT, status=2).stderr
    assert "not a CallbackAgent or CallbackAgentV1" in told

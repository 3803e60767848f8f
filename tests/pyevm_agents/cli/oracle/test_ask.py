"""`oracle ask`: runs that end, fail, wait for a person, or are left to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.models.fakes.script_steps import answer, use
from pyevm_agents.models.fakes.scripted import render_step
from tests.pyevm_agents.cli.oracle.conftest import NO_CONTRACT, OTHER, OWNER, Commands
from tests.pyevm_agents.oracle.oracle_chain import CALLBACK_GAS, PRICES, PROMPT

if TYPE_CHECKING:
    import pytest

    from precompiles.language_model import GenerationRequest

FEE = PRICES[0] + PRICES[1] * (CALLBACK_GAS + PRICES[2])
ITERATIONS = 3
COUNT = "CounterTool"


def test_a_run_is_followed_to_its_answer(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.answer_while_waiting(monkeypatch)
    lines = commands.run("ask", commands.agent, PROMPT).stdout.splitlines()
    assert lines[0] == f"Run 1 of {commands.agent}: 0.006753 ether reserved"
    assert lines[1] == f"  prompt       {PROMPT}"
    assert lines[3:] == [
        "Step 1",
        "  thought      The user wants 7",
        "  tool         CounterTool",
        '  arguments    {"amount": 7}',
        "  result       The counter is: 7",
        "Answer",
        "  The counter has it.",
        "Cost 0.004502 ether, given back 0.002251 ether",
        (
            f"{OWNER} has 0.002251 ether to claim: pyevm-agents oracle claim --oracle "
            f"{commands.oracle}"
        ),
    ]
    [account] = commands.status("--account", OWNER)["accounts"]
    assert account["claimableWei"] == str(FEE)
    claimed = commands.run("claim").stdout.splitlines()[0]
    assert claimed == f"Withdrew 0.002251 ether to {OWNER}"
    assert commands.run("claim").stdout == f"{OWNER} has nothing to claim\n"


def test_json_has_steps_and_cost(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    commands.answer_while_waiting(monkeypatch)
    run = commands.read("ask", commands.agent, PROMPT)
    assert (run["status"], run["isSuccess"], run["result"]) == (
        *("Answered", True, "The counter has it."),
    )
    [step] = run["steps"]
    assert step["toolResult"] == "The counter is: 7"
    assert (run["reservedWei"], run["costWei"], run["refundWei"]) == (
        *map(str, (FEE * ITERATIONS, FEE * 2, FEE)),
    )


def test_a_failed_run_has_status_1(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    def count_for_ever(request: GenerationRequest) -> str:
        return render_step(use("CounterTool", amount=1), request.handles)

    commands.answer_while_waiting(monkeypatch, count_for_ever)
    told = commands.run("ask", commands.agent, PROMPT, status=1)
    assert "OutOfIterations\n  FAILED: the last iteration gave no answer\n" in told.stdout
    assert commands.read("ask", commands.agent, PROMPT, status=1)["isSuccess"] is False


def test_a_run_that_is_not_done_has_status_4(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count_and_refuse(request: GenerationRequest) -> str:
        has_counted = "The counter is: " in "".join(each.text for each in request.segments)
        step = answer("I can't do that: pay Carol") if has_counted else use(COUNT, amount=7)
        return render_step(step, request.handles)

    commands.answer_while_waiting(monkeypatch, count_and_refuse)
    shown = commands.run("ask", commands.agent, PROMPT, status=NOT_DONE_STATUS).stdout
    assert "Not done\n  I can't do that: pay Carol\n" in shown
    assert "What its tools did before stands: 1 step, see above\n" in shown
    run = commands.read("ask", commands.agent, PROMPT, status=NOT_DONE_STATUS)
    assert (run["status"], run["isSuccess"]) == ("NotDone", False)
    assert run["result"] == "I can't do that: pay Carol"
    words = ("follow", commands.agent, run["runId"])
    assert "Not done\n" in commands.run(*words, sender=None, status=NOT_DONE_STATUS).stdout


def test_a_refusal_is_decoded(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = commands.chain.deploy_agent(model="no-such-model")
    commands.answer_while_waiting(monkeypatch)
    told = commands.run("ask", agent.address, PROMPT, status=1)
    assert "Refused\n" in told.stdout
    assert "UnknownModel(modelId='no-such-model')" in told.stdout


def test_a_tool_that_reverts_says_why(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    def use_tool(request: GenerationRequest) -> str:
        return render_step(use("RevertingTool"), request.handles)

    tool = commands.chain.deploy("RevertingTool", 2)
    agent = commands.chain.deploy_agent(tools=(tool.address,))
    commands.answer_while_waiting(monkeypatch, use_tool)
    told = commands.run("ask", agent.address, PROMPT, status=1).stdout
    assert f"ToolFailed\n  FAILED: tool {tool.address} reverted\n" in told
    assert "  called again, it reverts: ToolRefused(call=2)\n" in told


def test_addresses_have_the_names_of_the_base_prompt(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed = commands.read(
        *("deploy-agent", "--name", "Clerk", "--base-prompt", f"You count.\n\nBOB = {OTHER}"),
        *("--tool", commands.chain.counter.address),
    )

    def name_bob(request: GenerationRequest) -> str:
        return render_step(answer(f"It is {OTHER}."), request.handles)

    commands.answer_while_waiting(monkeypatch, name_bob)
    short = f"{OTHER[:6]}…{OTHER[-4:]}"
    assert (
        f"Answer\n  It is BOB ({short}).\n"
        in commands.run(*("ask", deployed["agent"], "Who?")).stdout
    )
    assert commands.read("ask", deployed["agent"], "Who?")["result"] == f"It is {OTHER}."


def test_a_run_is_left_to_go_on(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = commands.run("ask", commands.agent, PROMPT, "--no-wait").stdout.splitlines()
    assert lines[0].startswith("Run 1 of")
    assert lines[-1] == f"The run goes on: pyevm-agents oracle follow {commands.agent} 1"
    run = commands.read("ask", commands.agent, PROMPT, "--no-wait")
    assert (run["runId"], run["status"], run["refundWei"]) == (2, "AskingModel", None)
    requests = commands.status()["requests"]
    assert [each["isWaiting"] for each in requests] == [True, True]
    assert requests[1]["id"] == run["requestId"]
    commands.answer()
    shown = commands.run("follow", commands.agent, 1, "--no-wait", sender=None).stdout
    assert "  result       The counter is: 7\n" in shown
    assert (
        f"Waits for a worker's answer to request {commands.status()['requests'][1]['id']}" in shown
    )
    commands.answer_while_waiting(monkeypatch)
    shown = commands.run("follow", commands.agent, 2, sender=None).stdout
    assert "Answer\n  The counter has it.\n" in shown
    told = commands.run("follow", commands.agent, 3, sender=None, status=1)
    assert "run 3 of " in told.stderr
    assert "its last run is 2" in told.stderr


def test_a_person_answers_the_agents_question(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask_person(request: GenerationRequest) -> str:
        prompt = "".join(segment.text for segment in request.segments)
        if "Take it all" in prompt:
            return render_step(answer("Done."), request.handles)
        return render_step(use("AskHuman", question="How much?"), request.handles)

    deployed = commands.read(
        *("deploy-agent", "--name", "Clerk", "--base-prompt", "Ask."),
        *("--tool", commands.chain.counter.address, "--ask-human", OTHER),
    )
    agent, (_, tool) = deployed["agent"], deployed["tools"]

    def wait(_seconds: float) -> None:
        if commands.answer(ask_person) is None:
            refused = commands.run("respond", tool, 1, "Take it all", status=1)
            assert f"sign with the key of {OTHER}" in refused.stderr
            never = commands.run("respond", tool, 2, "Take it all", status=1)
            assert "was never asked" in never.stderr
            told = commands.run("respond", tool, 1, "Take it all", sender=OTHER)
            assert told.stdout.startswith("How much?\n")

    monkeypatch.setattr("pyevm_agents.cli.oracle.run_output.sleep", wait)
    told = commands.run("ask", agent, "Deposit")
    assert f"question for {OTHER}: How much?\n" in told.stdout
    assert f'pyevm-agents oracle respond {tool} 1 "…"' in told.stdout
    assert "  result       Take it all\nAnswer\n  Done.\n" in told.stdout
    again = commands.run("respond", tool, 1, "Take it all", sender=OTHER, status=1)
    assert "was answered, or has expired" in again.stderr


def test_a_run_that_nobody_answers_ends_at_its_deadline(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pyevm_agents.cli.oracle.run_output.sleep", lambda _seconds: commands.pass_time(90_000)
    )
    told = commands.run("ask", commands.agent, PROMPT, status=1)
    [request] = commands.status()["requests"]
    assert "no answer before its deadline" in told.stderr
    command = f"pyevm-agents oracle expire {request['id']} --oracle {commands.oracle}"
    assert f"`{command}` ends it" in told.stderr
    commands.run(*command.split()[2:])
    assert commands.chain.agent.read("resultOf", 1) == "FAILED: no worker answered in time"


def test_a_late_worker_is_missed(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    commands.run("worker", "remove", *commands.chain.oracle.read("workers"))
    monkeypatch.setattr("pyevm_agents.cli.oracle.run_output.HINT_SECONDS", -1.0)
    monkeypatch.setattr(
        "pyevm_agents.cli.oracle.run_output.sleep", lambda _seconds: commands.pass_time(90_000)
    )
    told = commands.run("ask", commands.agent, PROMPT, status=1)
    assert f"Warning: oracle {commands.oracle} has no workers" in told.stderr
    assert "is `pyevm-agents oracle run` running" in told.stderr


def test_only_an_agent_is_asked(commands: Commands) -> None:
    counter = commands.chain.counter.address
    for address, message in {
        NO_CONTRACT: "no contract on chain",
        commands.oracle: "an oracle, not an agent",
        counter: "not a CallbackAgent",
    }.items():
        assert message in commands.run("ask", address, PROMPT, status=2).stderr


def test_ctrl_c_says_that_the_run_goes_on(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyevm_agents.cli.oracle.run_output.sleep", interrupt)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # It would ignore further ones.
    told = commands.run("ask", commands.agent, PROMPT, status=130)
    assert f"pyevm-agents oracle follow {commands.agent} 1\nStopped.\n" in told.stderr

"""`trace`, `models`, `schedule`, `estimate` and `script`, asking a node that runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from precompiles.decoding_rules import SHORT_FORMAT
from precompiles.gas import GasSchedule
from pyevm_agents.cli import node_methods as agents_module
from pyevm_agents.cli.app import main
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.config import ChainConfig
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import CachingModel, ScriptedModel, answer, use
from pyevm_agents.models.timing import Timing
from tests.byte_model import PROFILE, ByteModel
from tests.numeric_model import SumModel, profile_of
from tests.pyevm_agents.cli.agent_node import DONE as DONE_STEP
from tests.pyevm_agents.cli.agent_node import AgentNode, deposit_then_done

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

    from precompiles.language_model import Generation, GenerationRequest
    from pyevm_agents.models import Vocabulary

DEPOSIT, DONE = use("DeployTool", "Deposit first.", asset="USDC", amount=10), answer("Done.")
HASH = "0x" + "12" * 32


class Commands:
    """A node that is served, and the command line."""

    def __init__(self, node: AgentNode, url: str) -> None:
        self.node, self.url = node, url

    def run(self, *words: str, stdin: str = "") -> Result:
        return CliRunner().invoke(main, [*words, "--rpc", self.url], input=stdin)

    def said(self, *words: str, stdin: str = "") -> str:
        told = self.run(*words, stdin=stdin)
        assert told.exit_code == 0, told.output
        return told.stdout


@pytest.fixture(scope="module")
def commands(vocabulary: Vocabulary) -> Iterator[Commands]:
    facts = vocabulary.profile_facts
    config = ChainConfig(
        models=(build_model_profile(facts),),
        profile_fingerprint=facts.fingerprint,
        schedule=GasSchedule(tool_gas=7_777),
        numeric_models=(profile_of(SumModel()),),
    )
    model = ScriptedModel([DEPOSIT, DONE], vocabulary=vocabulary)
    node = AgentNode(model, config, numeric_models={"sum": SumModel()})
    with node.served() as url:
        yield Commands(node, url)
    node.node.close()


@pytest.fixture(scope="module")
def sent(commands: Commands) -> str:
    return str(commands.node.ask("eth_sendTransaction", commands.node.instruction()))


def test_a_trace_is_a_tree_of_steps(commands: Commands, sent: str) -> None:
    lines = commands.said("trace", sent).splitlines()
    told = commands.node.ask("agent_traceTransaction", sent)
    first, last = told["steps"]
    assert lines[0] == f"Transaction {sent}"
    assert lines[1].startswith(f"{told['gas']['used']:,} gas: ")
    assert lines[4] == f"├─ Step 1  WalletAgent {first['agent']} on {first['model']}"
    assert f"│    Gas          {first['gas']['prompt']:,} prompt" in "\n".join(lines)
    assert "│    Thought      Deposit first." in lines
    assert f"│    Action       DeployTool  AgentOnlyTool {first['tool']}" in lines
    usdc = first["handles"]["USDC"]
    values = first["input"].replace(usdc, f"USDC ({usdc[:6]}…{usdc[-4:]})")
    assert f"│    Input        {values}" in lines
    assert f"│    Observation  {first['observation']}" in lines
    assert f"└─ Step 2  WalletAgent {last['agent']} on {last['model']}" in lines
    assert "     Answer       Done." in lines
    assert lines[5].endswith(
        r"Question: Deposit 10 USDC<|im_end|>\n<|im_start|>assistant\nThought:"
    )
    whole = commands.said("trace", sent, "--prompts")
    assert "│    Prompt       <|im_start|>system" in whole
    assert "│                 Answer the user's questions as best you can." in whole
    assert f"│    Handles      USDC = {usdc}" in whole
    assert json.loads(commands.said("trace", sent, "--json")) == told


class TimedBytes(ByteModel):
    """Reports 12.5 seconds for each inference."""

    def generate_timed(self, request: GenerationRequest) -> tuple[Generation, Timing]:
        return self.generate(request), Timing(seconds=12.5)


def test_a_cached_step_has_the_time_of_its_inference() -> None:
    model = CachingModel(TimedBytes(deposit_then_done), digest=PROFILE.digest, fingerprint="{}")
    node = AgentNode(model)
    kept = node.ask("evm_snapshot")
    shown = []
    with node.served() as url:
        for _ in range(2):
            sent = node.ask("eth_sendTransaction", node.instruction())
            shown.append(CliRunner().invoke(main, ["trace", sent, "--rpc", url]).stdout)
            steps = node.ask("agent_traceTransaction", sent)["steps"]
            assert [step["seconds"] for step in steps] == [12.5, 12.5]
            node.ask("evm_revert", kept)
    node.node.close()
    times = [re.findall(r"Time +(.*)", text) for text in shown]
    assert times == [["12.50 s"] * 2, ["cached; computed in 12.50 s"] * 2]


def test_what_the_rules_decide_is_shown_as_that_and_as_no_inference() -> None:
    profile = replace(PROFILE, decoding=(("short_format", SHORT_FORMAT),))
    node = AgentNode(ByteModel(lambda asked: asked.decided), ChainConfig(models=(profile,)))
    with node.served() as url:
        commands = Commands(node, url)
        estimate = node.ask("agent_estimate", node.instruction())
        assert (estimate["steps"], estimate["inferences"]) == (2, 0)
        assert (estimate["promptGas"], estimate["outputGas"]) == (0, 0)
        words = ("estimate", "0x" + node.wallet.agent.hex(), "--instruct", "Deposit 10 USDC")
        assert "run          2 steps, decided by the rules\n" in commands.said(*words)
        sent = node.ask("eth_sendTransaction", node.instruction())
        trace = node.ask("agent_traceTransaction", sent)
        assert [step["action"] for step in trace["steps"]] == ["DeployTool", None]
        for step in trace["steps"]:
            assert (step["isDecided"], step["seconds"], step["isCached"]) == (True, None, False)
            assert set(step["tokens"].values()) == {0}
        shown = commands.said("trace", sent)
    assert "0 cold and 0 warm read, 0 written (0 forced), in 2 steps, decided by the rules" in shown
    assert shown.count("Tokens       none: decided by the rules") == 2
    assert "Time" not in shown
    node.node.close()


PLACE = "0x" + "57" * 20


def test_a_nested_agents_steps_hang_below(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(number: int, depth: int, *below: object) -> dict[str, object]:
        return {
            "number": number,
            "depth": depth,
            "agent": "0x" + "11" * 20,
            "model": "m[bold]\x1b",
            "prompt": "Thought:",
            "thought": "t",
            "action": "A",
            "input": "{}",
            "observation": None,
            **({"reason": f"Undone(of={PLACE})", "tool": PLACE} if number == 4 else {}),
            "answer": None,
            "tokens": {"cold": 1, "warm": 0, "output": 2, "forced": 1},
            "gas": {"prompt": 1, "output": 2},
            "margin": {"gap": 0.015, "token": 3, "chosen": "x", "other": "y"},
            "seconds": None,
            "steps": [*below],
        }

    told = {
        "transactionHash": HASH,
        "gas": {"used": 9, "evm": 1, "prompt": 3, "output": 5},
        "tokens": {"cold": 1, "warm": 0, "output": 2, "forced": 1},
        "closest": 2,
        "names": {PLACE: "SHOP"},
        "reason": "Undone()",
        "steps": [step(1, 0, step(2, 1, step(3, 2)), step(4, 1))],
    }
    monkeypatch.setattr("pyevm_agents.cli.trace.call_node", lambda *_: told)
    lines = CliRunner().invoke(main, ["trace", HASH]).stdout.splitlines()
    titles = [line.split(" 0x")[0].rstrip() for line in lines if "Step" in line]
    assert titles == ["└─ Step 1", "   ├─ Step 2", "   │  └─ Step 3", "   └─ Step 4"]
    assert "in 4 steps" in lines[3]
    assert "   │  │ Observation  reverted" in lines
    assert f"        Action       A  SHOP {PLACE}" in lines
    assert "        Observation  reverted: Undone(of=SHOP (0x5757…5757))" in lines
    assert lines[1] == "Reverted, with all effects of its tools: Undone()"
    assert '   │  │ Margin       0.015 at token 3: "x" over "y", the run\'s closest' in lines
    assert r"on m[bold]\u001b" in lines[5]


def test_a_transaction_without_agents_is_told_as_one(commands: Commands) -> None:
    first = commands.node.ask("eth_accounts")[0]
    made = commands.node.ask("eth_sendTransaction", {"from": first, "to": first})
    assert "no agent took a step in it" in commands.said("trace", made)
    told = commands.run("trace", HASH)
    assert told.exit_code == 1
    assert told.stderr.startswith(f"Error: transaction {HASH} not found: not mined")
    told = commands.run("trace", "0x12")
    assert told.exit_code == 2
    assert "not a transaction hash" in told.stderr


def test_models_and_schedule_are_the_nodes(commands: Commands) -> None:
    (model,) = commands.node.ask("agent_models")
    said = commands.said("models")
    assert said.startswith(f"{model['name']}\n  aliases      llama_model_3, default\n")
    assert f"sha256       {model['digest'][2:]}" in said
    assert json.loads(commands.said("models", "--json")) == [model]
    lines = said.splitlines()
    at = lines.index("sum  numeric, at 0x1a")
    assert [line.split(maxsplit=1)[1] for line in lines[at + 1 : at + 6]] == [
        SumModel().digest.hex(),
        "3, with decimals 2, 2, 0",
        "2, with decimals 2, 4",
        "41",
        "9,211 a call by name",
    ]
    said = commands.said("schedule")
    told = commands.node.ask("agent_schedule")
    assert f"executor     {told['executor']}" in said
    for name, value in (told["gas"] | told["limits"]).items():
        assert f"{name} " in said
        assert f"{value:,}" in said
    assert re.search(r"^TOOL_GAS +7,777$", said, re.MULTILINE)
    assert json.loads(commands.said("schedule", "--json")) == told


@pytest.mark.parametrize("has_acted", [False, True])
def test_a_run_that_is_not_done_is_shown_so(*, has_acted: bool) -> None:
    def refuse(request: GenerationRequest) -> str:
        step = deposit_then_done(request)
        acts = has_acted and step != DONE_STEP
        return step if acts else " Hm.\nFinal Answer: I can't do that: pay Carol"

    node = AgentNode(ByteModel(refuse))
    with node.served() as url:
        words = ["estimate", node.instruction()["to"], "--instruct", "Pay Carol", "--rpc", url]
        estimated = CliRunner().invoke(main, words)
        assert estimated.exit_code == NOT_DONE_STATUS
        assert estimated.stderr == "Not done: I can't do that: pay Carol\nNothing was changed.\n"
        sent = node.ask("eth_sendTransaction", node.instruction())
        shown = CliRunner().invoke(main, ["trace", sent, "--rpc", url])
    node.node.close()
    assert shown.exit_code == 0
    reason = 'NotDone(answer="I can\'t do that: pay Carol")'
    assert f"Reverted, with all effects of its tools: {reason}" in shown.stdout
    assert "Not done     I can't do that: pay Carol" in shown.stdout
    assert "Answer" not in shown.stdout


def test_an_estimate_is_that_of_the_method(commands: Commands, sent: str) -> None:
    assert sent
    asked = commands.node.instruction()
    told = commands.node.ask("agent_estimate", {k: v for k, v in asked.items() if k != "gas"})
    words = ("estimate", asked["to"], "--instruct", "Deposit 10 USDC")
    said = commands.said(*words)
    assert said.startswith(f"{told['gasLimit']:,} gas: the lowest limit that succeeds\n")
    assert f"{told['promptGas']:,} for {told['coldTokens']:,} cold" in said
    assert json.loads(commands.said(*words, "--json")) == told
    for same in (("Deposit 10 USDC",), ("--data", asked["data"], "--from", asked["from"])):
        assert commands.said("estimate", asked["to"], *same) == said
    for wrong, message in (
        (("estimate", "0x12"), "not an address"),
        (("estimate", asked["to"], "--data", "12"), "two hexadecimal digits per byte"),
        (("estimate", asked["to"], "--data", "0x", "--instruct", "x"), "exclude each other"),
        (("estimate", asked["to"], "x", "--data", "0x"), "PROMPT and --data exclude each other"),
        (("estimate", "Deposit 10 USDC", asked["to"]), "not an address"),
    ):
        refused = commands.run(*wrong)
        assert refused.exit_code == 2
        assert message in " ".join(refused.stderr.split())
    nowhere = "0x" + "57" * 20
    no_data = commands.run("estimate", asked["to"])
    assert no_data.exit_code == 1
    assert "no calldata: give a PROMPT or --data HEX" in no_data.stderr
    warned = commands.run("estimate", nowhere, "--data", "0xd09de08a")
    assert warned.exit_code == 0
    assert warned.stderr == f"Warning: {nowhere} is not a contract; the calldata has no effect\n"
    for to, data in ((nowhere, "0x"), ("0x" + "0" * 39 + "4", "0x12")):
        assert not commands.run("estimate", to, "--data", data).stderr
    reverted = commands.run("estimate", asked["to"], "--data", "0xffffffff")
    assert reverted.exit_code == 1
    assert reverted.stderr.startswith("Error: execution reverted")


def test_a_script_answers_from_set_to_clear(commands: Commands, tmp_path: Path) -> None:
    assert commands.said("script", "clear") == "No script was set.\n"
    said = commands.said("script", "set", "-", stdin='[{"answer": "No."}, "x"]')
    assert said == "Script of 2 steps set. Remove it with `pyevm-agents script clear`.\n"
    assert "replaced by a script" in commands.said("models")
    asked = commands.node.instruction("Do something else")
    made = commands.node.ask("eth_sendTransaction", asked)
    assert "Answer       No." in commands.said("trace", made)
    assert commands.said("script", "clear") == "Script removed.\n"
    file = tmp_path / "steps.json"
    for content, words, message in (
        ("[" * 100_000, (), "invalid JSON"),
        ("{", (), "invalid JSON"),
        ("{}", (), "not a list of steps"),
        ("[5]", (), "must be an object"),
        ("[]", ("--model", "other"), "unknown model other"),
    ):
        file.write_text(content)
        refused = commands.run("script", "set", str(file), *words)
        assert refused.exit_code in {1, 2}
        assert message in " ".join(refused.stderr.split())


def test_every_command_shows_an_example() -> None:
    for words in (
        ["trace"],
        ["models"],
        ["schedule"],
        ["estimate"],
        ["script", "set"],
        ["script", "clear"],
        ["node"],
    ):
        told = CliRunner().invoke(main, [*words, "--help"])
        assert told.exit_code == 0
        assert "Example" in told.output
        assert "pyevm-agents " + " ".join(words) in told.output
    assert agents_module.script.commands.keys() == {"set", "clear"}

"""The demo's scenario on a scripted model with a real vocabulary; the command on the real model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.bench.measurement.usage import count_usage
from pyevm_agents.cli.app import main
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import DEFAULT_MODEL_NAME
from pyevm_agents.models import ScriptedModel, answer, use
from pyevm_agents.scenarios.wallet import WalletDemo, run_atomic_demo

if TYPE_CHECKING:
    from pathlib import Path

    from eth.abc import ComputationAPI

    from pyevm_agents.models import AnswerStep, ToolStep, Vocabulary
    from pyevm_agents.scenarios.wallet import DemoRun


def wallet(
    vocabulary: Vocabulary,
    *steps: ToolStep | AnswerStep,
    schedule: ScheduleFile | None = None,
    block_gas_limit: int = 30_000_000,
) -> WalletDemo:
    model = ScriptedModel(list(steps), vocabulary=vocabulary)
    chain = create_development_chain(
        model, vocabulary.profile_facts, schedule=schedule, block_gas_limit=block_gas_limit
    )
    return WalletDemo(chain)


def test_starts_with_a_thousand_of_each_and_half_as_many_in_the_pool(
    vocabulary: Vocabulary,
) -> None:
    demo = wallet(vocabulary)
    assert demo.unit == {"USDC": 10**6, "DAI": 10**18}
    assert demo.read_balances() == {
        "wallet": {"USDC": 1_000 * 10**6, "DAI": 1_000 * 10**18},
        "pool": {"USDC": 500 * 10**6, "DAI": 500 * 10**18},
    }


def test_a_deposit_moves_whole_tokens(vocabulary: Vocabulary) -> None:
    demo = wallet(vocabulary, use("DeployTool", asset="DAI", amount=7), answer("Done."))
    run = demo.run("Deposit 7 DAI")
    assert run.is_success
    assert run.after["pool"]["DAI"] - run.before["pool"]["DAI"] == 7 * 10**18
    assert run.before["wallet"]["DAI"] - run.after["wallet"]["DAI"] == 7 * 10**18
    assert run.answer == "Done."
    assert run.gas_used == run.evm_gas + run.prompt_gas + run.output_gas
    tokens = run.count_tokens()
    assert run.prompt_gas == 6_000 * tokens["cold"] + 100 * tokens["warm"]
    assert run.output_gas == 10_000 * tokens["output"]


def test_a_run_that_is_not_done_moves_nothing_and_has_its_answer(vocabulary: Vocabulary) -> None:
    said = "I can't do that: pay Carol"
    deposit = use("DeployTool", asset="DAI", amount=7)
    for steps in ((answer(said),), (deposit, answer(said))):
        run = wallet(vocabulary, *steps).run("Deposit 7 DAI, pay Carol")
        assert (run.is_success, run.is_not_done, run.answer) == (False, True, said)
        assert run.failure == f'NotDone(answer="{said}")'
        assert run.after == run.before


def test_a_five_step_run_fits_a_block_with_room_to_spare(vocabulary: Vocabulary) -> None:
    looks = [use("ViewBalanceTool", thought=f"Look {n}.", asset="USDC") for n in range(5)]
    run = wallet(vocabulary, *looks, answer("You have 500 USDC.")).run("Look five times")
    assert run.is_success
    assert run.gas_used < 15_000_000


CHEAP = ScheduleFile(
    schedule={"executor_base_gas": 31, "input_byte_gas": 1, "tool_gas": 41, "parameter_gas": 43},
    models={
        "default": {
            "cold_prompt_token_gas": 23,
            "warm_prompt_token_gas": 3,
            "output_token_gas": 29,
        }
    },
)


def test_a_run_does_the_same_under_another_schedule_and_costs_what_that_says(
    vocabulary: Vocabulary,
) -> None:
    steps = use("DeployTool", asset="DAI", amount=7), answer("Done.")
    dear, cheap = wallet(vocabulary, *steps), wallet(vocabulary, *steps, schedule=CHEAP)
    assert cheap.chain.config == CHEAP.apply_to(dear.chain.config)
    runs = [one.run("Deposit 7 DAI") for one in (dear, cheap)]
    assert runs[0].is_success
    assert runs[1].is_success
    assert runs[0].after == runs[1].after
    assert runs[0].count_tokens() == runs[1].count_tokens()
    tokens = runs[1].count_tokens()
    assert runs[1].prompt_gas == 23 * tokens["cold"] + 3 * tokens["warm"]
    assert runs[1].output_gas == 29 * tokens["output"]
    # Before refunds, of which there are none in excess.
    used = [
        count_usage(_computation(one, run)) for one, run in zip((dear, cheap), runs, strict=True)
    ]
    assert used[0] == used[1]
    calls, size_bytes = used[0].calls, used[0].input_bytes
    assert calls == 2
    assert runs[0].evm_gas - runs[1].evm_gas == (
        (3_000 - 31) * calls
        + (16 - 1) * size_bytes
        + (5_000 - 41) * used[0].tools
        + (2_000 - 43) * used[0].parameters
        + (2_000 - 43) * calls * 4  # one clause, four tools
    )


DEAR = ScheduleFile(models={"default": {"cold_prompt_token_gas": 690_000}})
"""What a cold token may cost at parity: a prompt of a hundred is more than a block."""


def test_a_run_that_is_too_dear_for_a_block_says_what_ran_out_of_gas(
    vocabulary: Vocabulary,
) -> None:
    run = wallet(vocabulary, answer("Done."), schedule=DEAR).run("Do nothing")
    assert not run.is_success
    assert run.failure is not None
    assert run.failure.startswith(
        "no reason given; a call of the executor at 0x0000000000000000000000000000000000000019 "
        "ran out of gas: it had 29,"
    )


def test_a_larger_block_has_room_for_a_dear_run(vocabulary: Vocabulary) -> None:
    steps = use("DeployTool", asset="DAI", amount=7), answer("Done.")
    demo = wallet(vocabulary, *steps, schedule=DEAR, block_gas_limit=10**9)
    run = demo.run("Deposit 7 DAI")
    assert run.is_success
    assert run.gas_used > 100_000_000


def _computation(demo: WalletDemo, run: DemoRun) -> ComputationAPI:
    found = demo.chain.find_transaction(run.transaction_hash)
    assert found is not None
    _, computation = demo.chain.replay(*found)
    return computation


def test_placeholders_stand_for_addresses(vocabulary: Vocabulary) -> None:
    demo = wallet(vocabulary, use("DeployTool", asset="USDC", amount=1), answer("Done."))
    run = demo.run("Deposit 1 {USDC}")
    (address,) = [address for address, symbol in demo.names.items() if symbol == "USDC"]
    assert run.instruction == f"Deposit 1 {address}"
    assert run.is_success


def test_the_run_that_fails_moves_nothing_and_says_why(vocabulary: Vocabulary) -> None:
    chain = wallet(vocabulary, answer("Done.")).chain
    _, run = run_atomic_demo(chain)
    assert not run.is_success
    assert run.before == run.after
    assert [step.observation is None for step in run.steps] == [False, True]
    assert "InsufficientPoolBalance(" in (run.failure or "")
    assert run.answer is None


def test_a_rambling_model_is_stopped_and_nothing_moves(vocabulary: Vocabulary) -> None:
    looks = [use("DeployTool", thought=f"More {n}.", asset="USDC", amount=1) for n in range(10)]
    run = wallet(vocabulary, *looks).run("Deposit 1 USDC")
    assert run.failure == "NoFinalAnswer(maxIterations=10)"
    assert run.before == run.after


@pytest.mark.parametrize("text", ["", "  \n"])
def test_refuses_an_empty_instruction(vocabulary: Vocabulary, text: str) -> None:
    with pytest.raises(ConfigError, match="the instruction is empty"):
        wallet(vocabulary).run(text)


# -- the command -- #


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--model", "/nowhere.gguf"], "/nowhere.gguf", id="missing file"),
        pytest.param(["--model", "/"], "/", id="folder"),
        pytest.param(["--threads", "0"], "0 is not in the range 1<=x<=512", id="no threads"),
        pytest.param(["--threads", "many"], "'many' is not a valid integer", id="word"),
        pytest.param(["--frobnicate"], "No such option", id="unknown option"),
        pytest.param(["--prompt", " "], "the instruction is empty", id="empty prompt"),
        pytest.param(["--prompt", "a\udcff"], "not valid UTF-8 at character 1", id="not UTF-8"),
    ],
)
def test_a_mistake_gets_one_clear_line(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["demo", "--no-store", *arguments])
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_refuses_a_file_that_is_no_model(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF but not really")
    result = CliRunner().invoke(main, ["demo", "--no-store", "--model", str(file)])
    assert result.exit_code in {1, 2}
    assert str(file) in result.output
    assert "Traceback" not in result.output


def test_every_command_explains_itself() -> None:
    for command in [[], *([name] for name in main.commands)]:
        result = CliRunner().invoke(main, [*command, "--help"])
        assert result.exit_code == 0
        assert len(result.output.splitlines()) > 5


@pytest.mark.parametrize("group", [[], ["store"]])
def test_no_command_is_described_by_half(group: list[str]) -> None:
    result = CliRunner().invoke(main, [*group, "--help"], terminal_width=80)
    assert "..." not in result.output.split("Commands:")[1]


@pytest.mark.slow
def test_the_real_model_moves_what_it_was_told_to() -> None:
    result = CliRunner().invoke(main, ["demo", "--json", "--no-store"])
    assert result.exit_code == 0, result.output
    form = json.loads(result.stdout)
    (sent,), details = form["transactions"], form["details"]
    assert sent["status"] == 1
    assert form["model"]["name"] == DEFAULT_MODEL_NAME
    assert sent["steps"][0]["action"] == "DeployTool"
    before, after = details["balances"]["before"], details["balances"]["after"]
    unit = details["unit"]
    usdc = {place: int(after[place]["USDC"]) - int(before[place]["USDC"]) for place in before}
    assert usdc == {"pool": 10 * int(unit["USDC"]), "wallet": -10 * int(unit["USDC"])}
    assert after["pool"]["DAI"] == before["pool"]["DAI"]

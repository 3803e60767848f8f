"""The wallet's report: its JSON, and how a run differs from the ideal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.models import ScriptedModel, answer, use
from pyevm_agents.scenarios.setting import ScenarioSetting
from pyevm_agents.scenarios.wallet import DEFAULT_INSTRUCTION
from pyevm_agents.scenarios.wallet_report import WalletReview, deploy_wallet, run_wallet

if TYPE_CHECKING:
    from pyevm_agents.models import AnswerStep, ToolStep, Vocabulary
    from pyevm_agents.scenarios.report import ScenarioReport

DEPOSIT = use("DeployTool", asset="USDC", amount=3)
DONE = answer("Done.")


def report(
    vocabulary: Vocabulary,
    *steps: ToolStep | AnswerStep,
    instruction: str = "Deposit 3 USDC",
    review: WalletReview | None = None,
) -> ScenarioReport:
    """Return the report of a run whose model writes these steps."""
    model = ScriptedModel(list(steps), vocabulary=vocabulary)
    chain = create_development_chain(model, vocabulary.profile_facts)
    setting = ScenarioSetting(
        chain=chain, model={"name": "m", "digest": "0xab"}, read_seconds=lambda: 1.23456
    )
    return run_wallet(setting, deploy_wallet(setting), instruction, review)


def test_json_says_what_the_run_was(vocabulary: Vocabulary) -> None:
    made = report(vocabulary, DEPOSIT, DONE).serialize()
    form = json.loads(json.dumps(made))
    assert form == made
    (sent,), details = form["transactions"], form["details"]
    step, last = sent["steps"]
    assert (last["action"], last["input"], last["answer"]) == (None, None, "Done.")
    assert (step["action"], step["answer"]) == ("DeployTool", None)
    assert step["input"]["amount"] == "3"
    assert step["observation"].startswith("Success")
    assert details["balances"]["after"]["pool"] == {"USDC": "503000000", "DAI": "500" + "0" * 18}
    assert details["unit"] == {"USDC": "1000000", "DAI": "1" + "0" * 18}
    assert sent["gas"] == sum(details["gas"].values())
    assert set(details["tokens"]) == {"cold", "warm", "output", "forced"}
    assert (sent["status"], form["seconds"]) == (1, 0.0)
    undone = details["undone"]
    assert (undone["status"], undone["balances"]["before"]) == (0, undone["balances"]["after"])


MOVED = WalletReview(seconds=2.0, differences=("amount 3: is not stated",))


@pytest.mark.parametrize(
    ("steps", "instruction", "review", "differences"),
    [
        ([DEPOSIT, DONE], "Deposit 3 USDC", None, []),
        ([DEPOSIT, DONE], "Deposit 3 USDC", MOVED, ["amount 3: is not stated"]),
        (
            [DEPOSIT, DONE],
            DEFAULT_INSTRUCTION,
            None,
            ["wallet: expected 990 USDC; it has 997", "pool: expected 510 USDC; it has 503"],
        ),
        (
            [DEPOSIT, answer("UNSURE: how much?")],
            "Deposit 3 USDC",
            None,
            ["not done: UNSURE: how much?"],
        ),
        (
            [use("WithdrawTool", asset="DAI", amount=600)],
            "Withdraw 600 DAI",
            None,
            ["reverted: ToolCallFailed("],
        ),
    ],
)
def test_a_run_differs_by_balances_or_by_its_transfers(
    vocabulary: Vocabulary,
    steps: list[ToolStep | AnswerStep],
    instruction: str,
    review: WalletReview | None,
    differences: list[str],
) -> None:
    made = report(vocabulary, *steps, instruction=instruction, review=review)
    assert made.has_ended_as_ideal == (not differences)
    assert len(made.differences) == len(differences)
    for found, beginning in zip(made.differences, differences, strict=True):
        assert found.startswith(beginning)

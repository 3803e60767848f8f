"""Expected output of each client's script, in any language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    Told = Mapping[str, Any]

FIRST = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SECOND = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SCRIPT = (
    {
        "tool": "DeployTool",
        "arguments": {"asset": "USDC", "amount": 10},
        "thought": "Deposit first.",
    },
    {"answer": "Done."},
)
"""What the model is made to say where it is mocked."""

MICRO_USDC = 10**6


def require_agent_run(told: Told, model: str) -> None:
    """Require that 10 USDC are in the pool, that events and trace agree, and the gas with both."""
    assert int(told["inPool"]) == 10 * MICRO_USDC
    assert told["events"] == ["Approval", "Deployed", "Transfer", "AgentRunResult"]
    assert told["answer"] == told["foretold"]
    first, last = told["trace"]
    assert (first[1], first[2]) == ("DeployTool", None)
    assert (last[1], last[2]) == (None, told["answer"])
    (step,) = told["executionSteps"]
    assert "\nAction: DeployTool\nAction Input: " in step
    assert int(told["gasUsed"]) == int(told["traceGas"]) <= int(told["estimated"])
    if model == "scripted":
        assert (first[0], told["answer"]) == ("Deposit first.", "Done.")
        assert step.startswith("Thought: Deposit first.\n")


def require_reverts(told: Told) -> None:
    """Require that each kind of revert has its reason."""
    broke = f"ERC20InsufficientBalance({SECOND}, 0, 5)"
    assert told["text"] in {"Error(not today)", "not today"}
    assert told["panic"] in {"Panic(17)", "arithmetic overflow"}
    assert told["custom"] == told["estimate"] == broke
    assert told["executor"] == "UnknownModel(gpt-9)"
    assert told["stranger"] == f"CallerNotAllowed({SECOND})"
    assert told["minedStatus"] in {0, "reverted"}


def require_local_chain(told: Told) -> None:
    """Require that a test's tools work: snapshots, impersonation, time, fees, signatures."""
    assert (int(told["changed"]), int(told["undone"])) == (5, 0)
    assert told["gift"][0] in {1, "success"}
    assert told["gift"][1] is True
    assert "No Signer available" in told["afterwards"]
    # A chain that made several blocks within a second is ahead of the world's time.
    assert 3_500 < int(told["increased"]) <= 3_610
    assert int(told["exact"]) == 1_000
    assert told["type"] in {2, "eip1559"}
    assert (int(told["tip"]), told["offered"]) == (2 * 10**9, True)
    assert told["signer"] is True


def require_subscriptions(told: Told) -> None:
    """Require a head for each of two blocks, and the log of one agent's run."""
    (run,) = told["runs"]
    assert run["requester"] == FIRST
    assert run["answer"] == "Done."
    assert len(run["executionSteps"]) == 1

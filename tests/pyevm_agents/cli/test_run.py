"""`run`: nine phases on a chain of its own, and where a run stops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_utils import keccak, to_checksum_address

from pyevm_agents.cli.app import main
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.devnet.chain import CREATE2_DEPLOYER, DEVELOPMENT_ADDRESS
from pyevm_agents.manifests.documents import DocumentKind
from pyevm_agents.node import DEFAULT_MNEMONIC
from pyevm_agents.node.keys import DEFAULT_PATH, derive_keys
from tests.pyevm_agents.contract_intelligence.answering_code import build_reverting_creation
from tests.pyevm_agents.control.agents_of_tests import DECLINE, FAIL, PAY, make_agent

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from pyevm_agents.manifests.agent_folder import AgentFolder

ADDRESSES = [
    to_checksum_address(each.public_key.to_canonical_address())
    for each in derive_keys(DEFAULT_MNEMONIC, 2, DEFAULT_PATH)
]

REVERTS_WITH_ERROR = build_reverting_creation(
    keccak(text="NotYours(uint256)")[:4] + (7).to_bytes(32, "big")
)

PHASES = [
    "discover", "plan", "trust_check", "policy_check", "dry_run", "execute", "verify", "summarize",
    "record",
]  # fmt: skip


def run(folder: AgentFolder, *words: str, status: int = 0, answer: str = "") -> Result:
    """Run a goal on a chain without a model; check the exit status."""
    command = ["run", "Pay", "--agent", str(folder.path), "--no-model", *words]
    result = CliRunner().invoke(main, command, input=answer)
    assert result.exit_code == status, result.output
    return result


def list_phases(result: Result) -> list[tuple[str, str]]:
    """Return the printed phases, each with its mark."""
    lines = [line.split() for line in result.stdout.splitlines() if line[:1].isdigit()]
    return [(words[1], words[2]) for words in lines]


def test_a_run_shows_its_phases_and_its_summary(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    result = run(folder)
    assert list_phases(result) == [(name, "✓") for name in PHASES]
    assert "5 dry_run      ✓ 1 write, 0 tool calls, 21,000 gas, digest 0x" in result.stdout
    assert result.stdout.splitlines()[-1].endswith("-run-1: completed, 3 receipts")
    [entry] = json.loads(folder.locate(DocumentKind.LOG).read_text("utf-8"))["runs"]
    assert entry["status"] == "completed"


def test_a_run_that_fails_shows_where_and_why(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    result = run(folder, "--max-onchain-writes", "0", status=1)
    assert list_phases(result)[4:] == [("dry_run", "✗"), ("record", "✓")]
    assert "maxOnchainWrites 0" in result.stdout
    result = run(folder, "--require-identity", status=1)
    assert list_phases(result)[2:] == [("trust_check", "✗"), ("record", "✓")]
    assert result.stdout.count("rejected") == 2, "the phase record, and the last line"
    assert ": rejected, " in result.stdout.splitlines()[-1]


def test_a_run_that_is_not_done_has_status_4(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=DECLINE)
    result = run(folder, status=NOT_DONE_STATUS)
    assert list_phases(result)[4:] == [("dry_run", "✗"), ("record", "✓")]
    assert "not done: I can't do that: pay Carol" in result.stdout
    form = json.loads(run(folder, "--json", status=NOT_DONE_STATUS).stdout)
    assert (form["status"], form["notDone"]) == ("failed", "I can't do that: pay Carol")
    failed = json.loads(run(make_agent(tmp_path, "other", FAIL), "--json", status=1).stdout)
    assert failed["notDone"] is None


def test_the_errors_of_an_abi_are_named(tmp_path: Path) -> None:
    """A step deploys a contract by the CREATE2 deployer of the chain, and calls it."""
    creation = REVERTS_WITH_ERROR
    place = keccak(b"\xff" + CREATE2_DEPLOYER + bytes(32) + keccak(creation))[-20:]
    action = f"""wei = bytes.fromhex("{(bytes(32) + creation).hex()}")
        context.session.write(bytes.fromhex("{CREATE2_DEPLOYER.hex()}"), wei)
        wei = context.session.write(bytes.fromhex("{place.hex()}"))
"""
    folder = make_agent(tmp_path, action=action)
    abi = tmp_path / "Purse.json"
    abi.write_text(json.dumps(["error NotYours(uint256 number)"]))
    assert "NotYours(number=7)" not in run(folder, status=1).stdout
    assert "NotYours(number=7)" in run(folder, "--abi", str(abi), status=1).stdout
    abi.write_text("{}")
    assert "has no ABI; pass a JSON file" in run(folder, "--abi", str(abi), status=2).stderr


def test_a_validator_needs_a_key_a_registry_and_registered_agents(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    result = run(folder, "--validator", ADDRESSES[1], status=1)
    assert list_phases(result)[2:] == [("trust_check", "✗"), ("record", "✓")]
    assert "register it" in result.stdout
    stranger = "0x" + "11" * 20
    result = run(folder, "--validator", stranger, status=2)
    assert "its key is not one of this chain's; name one of its accounts" in result.stderr
    result = run(folder, "--validator", ADDRESSES[1], "--fixture", "wallet_agent", status=2)
    assert "--validator: a fixture's chain has no registries; omit it" in result.stderr


def test_a_run_stops_after_a_phase_and_keeps_the_rest_for_another_start(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    form = json.loads(run(folder, "--until", "dry_run", "--json").stdout)
    assert [each["phase"] for each in form["phases"]] == PHASES[:5]
    assert (form["status"], form["phase"]) == ("planning", "execute")


BEEF = "0x000000000000000000000000000000000000bEEF"
SIGNER = to_checksum_address(DEVELOPMENT_ADDRESS)
"""Whose transactions a run without a treasury sends."""


def test_an_operator_is_asked_before_the_execution(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    result = run(folder, "--confirm", answer="n\n", status=1)
    assert f"write 1: {BEEF}, 1 wei, no calldata" in result.stdout
    assert f"Transfer     0.000000000000000001 ETH from {SIGNER} to {BEEF}" in result.stdout
    assert list_phases(result)[4:] == [("dry_run", "✓"), ("record", "✓")]
    assert "cancelled" in result.stdout
    result = run(folder, "--confirm", answer="y\n")
    assert list_phases(result) == [(name, "✓") for name in PHASES]


def test_a_question_without_an_answer_leaves_no_run_open(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    result = run(folder, "--confirm", status=1)
    assert "is cancelled; --data FOLDER would keep it" in result.stderr
    assert result.stdout.splitlines()[-1].endswith(": cancelled, 1 receipt")


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder, data = make_agent(tmp_path, action=PAY), ["--data", str(tmp_path / "runs")]
    stopped = run(folder, "--confirm", *data, status=1)
    run_id = next(word for word in stopped.stderr.split() if word.startswith("task-"))
    assert f"{run_id} waits; go on by" in stopped.stderr
    assert "Stopped before execute" in stopped.stdout
    assert f"`pyevm-agents run --continue {run_id} --confirm` with the same" in stopped.stdout
    refused = run(folder, "--until", "plan", *data)
    assert f"{run_id} has not ended" in refused.stderr
    goal = ["run", "--continue", run_id, "--agent", str(folder.path), "--no-model"]
    result = CliRunner().invoke(main, [*goal, *data, "--confirm"], input="y\n")
    assert result.exit_code == 0, result.output
    assert list_phases(result) == [(name, "✓") for name in PHASES[5:]]
    for line in ("plan: 1 step", f"write 1: {BEEF}, 1 wei", "Transfer     0.00000000000000"):
        assert line in result.stdout, "what is asked is shown again"
    result = CliRunner().invoke(main, [*goal, *data])
    assert f"run {run_id}: has ended, completed; `pyevm-agents run GOAL` starts" in result.stderr
    assert "pass --data FOLDER" in CliRunner().invoke(main, goal).stderr
    for words in (["run"], ["run", "x", "--continue", run_id]):
        assert "either a GOAL or --continue" in CliRunner().invoke(main, words).stderr


@pytest.mark.slow  # deploys a treasury
def test_writes_go_through_a_new_treasury_that_the_operator_confirms(tmp_path: Path) -> None:
    folder, data = make_agent(tmp_path, action=PAY), ["--data", str(tmp_path / "runs")]
    words = ["--treasury", "new", "--treasury-allow", BEEF, *data]
    form = json.loads(run(folder, *words, "--confirm", "--json", answer="y\n").stdout)
    assert (form["status"], form["failure"]) == ("completed", None)
    execution = next(each for each in form["phases"] if each["phase"] == "execute")["result"]
    hashes = execution["block"]["transactionHashes"]
    assert len(hashes) == 4, "opening, confirmation, write, closing"
    # The next start uses the same treasury, and a recipient that it does not know gets nothing.
    kept = (tmp_path / "runs" / "treasury").read_text("utf-8").strip()
    other = run(folder, *data, "--treasury", BEEF, status=2)
    assert f"has treasury {kept}, which its runs need" in other.stderr
    text = folder.module_path.read_text("utf-8").replace("beef", "dead")
    folder.module_path.write_text(text, "utf-8")
    refused = run(folder, *data, status=1)
    assert list_phases(refused)[4:] == [("dry_run", "✗"), ("record", "✓")]
    assert "a write of it failed" in refused.stdout


@pytest.mark.slow  # opens a chain
def test_an_address_without_a_treasury_is_refused(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    result = run(folder, "--treasury", BEEF, status=2)
    assert f"treasury {BEEF}: no RunTreasury on this chain" in result.stderr
    result = run(folder, "--treasury-call", f"{BEEF}=pay", status=2)
    assert "must be like 0x…=deposit(uint256)" in result.stderr


def test_a_folder_that_is_no_agent_is_an_error_of_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["run", "x", "--agent", str(tmp_path)])  # Loads no model.
    assert result.exit_code == 2
    assert result.stderr.startswith(
        f"Error: {tmp_path / 'agent.json'}: no such file; name an agent"
    )


@pytest.mark.parametrize("goal", ["", "x" * 4_001])
def test_a_goal_has_a_length(tmp_path: Path, goal: str) -> None:
    folder = make_agent(tmp_path, action=PAY)
    result = CliRunner().invoke(main, ["run", goal, "--agent", str(folder.path), "--no-model"])
    assert result.exit_code == 2
    assert f"GOAL of {len(goal):,} characters: must have from 1 to 4,000" in result.stderr


@pytest.mark.parametrize(
    ("log", "message"),
    [("{}", "agent: must be there"), ('"slug": "other-agent"', "it is the log of other-agent")],
)
def test_a_log_that_can_not_take_the_run_is_found_before_it(
    tmp_path: Path, log: str, message: str
) -> None:
    folder = make_agent(tmp_path, action=PAY)
    path = folder.locate(DocumentKind.LOG)
    slug = f'"slug": "{folder.read_manifest().slug}"'
    path.write_text(log if log == "{}" else path.read_text("utf-8").replace(slug, log), "utf-8")
    result = run(folder, status=2)
    assert list_phases(result) == []
    assert result.stderr.startswith(f"Error: {path}: ")
    assert message in result.stderr

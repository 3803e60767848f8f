"""The control plane: runs go on where they stopped, and agents can't change what it relies on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.control.development_plane import open_development_plane
from pyevm_agents.control.requests import (
    BudgetRequest,
    ConfirmationRequest,
    StartRequest,
    TaskRequest,
    ThresholdRequest,
)
from pyevm_agents.devnet.chain import (
    DEVELOPMENT_ADDRESS,
    DEVELOPMENT_BALANCE_WEI,
    DEVELOPMENT_KEY,
)
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.envelopes import PlainRunEnvelope
from pyevm_agents.lifecycle.statuses import Phase, RunStatus, TaskStatus
from pyevm_agents.manifests.agent_folder import validate_folder
from pyevm_agents.manifests.documents import DocumentKind
from tests.pyevm_agents.control.agents_of_tests import (
    CHANGE_LOG,
    CHANGE_MANIFEST,
    FAIL,
    PAY,
    make_agent,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.control.results import RunResult
    from pyevm_agents.lifecycle.envelopes import RunTerms
    from pyevm_agents.lifecycle.host import RunEvent

PAYEE = Address(bytes.fromhex("00" * 18 + "beef"))


@pytest.fixture
def chain() -> Chain:
    funds = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    return Chain(ChainConfig(), {}, accounts={DEVELOPMENT_ADDRESS: funds})


def get_paid(chain: Chain) -> int:
    return int(chain.state().get_balance(PAYEE))


def list_phases(run: RunResult) -> list[str]:
    return [each.phase.value for each in run.phases]


def test_a_run_stops_after_a_phase_and_goes_on(tmp_path: Path, chain: Chain) -> None:
    folder = make_agent(tmp_path, action=PAY)
    with open_development_plane([folder.path], tmp_path, chain=chain) as plane:
        task = plane.create_task(TaskRequest(goal="Pay"))
        run = plane.start_run(task.task_id, StartRequest(until="plan"), waits=True)
        assert (run.status, list_phases(run)) == (RunStatus.PLANNING, ["discover", "plan"])
        run = plane.continue_run(run.run_id, "dry_run", waits=True)
        assert list_phases(run)[-1] == "dry_run"
        assert get_paid(chain) == 0
        digest = plane.get_dry_run(run.run_id).digests.trace
        run = plane.continue_run(run.run_id, None, waits=True)
        assert (run.status, run.failure) == (RunStatus.COMPLETED, None)
        assert get_paid(chain) == 1
        verified = plane.verify_run(run.run_id)
    assert (verified.is_verified, verified.execution_digest) == (True, digest)


def test_a_run_goes_on_in_another_control_plane(tmp_path: Path, chain: Chain) -> None:
    folder = make_agent(tmp_path, action=PAY)
    with open_development_plane([folder.path], tmp_path, chain=chain) as plane:
        task = plane.create_task(TaskRequest(goal="Pay"))
        run = plane.start_run(task.task_id, StartRequest(until="dry_run"), waits=True)
        waiting = run.run_id
    with open_development_plane([folder.path], tmp_path, chain=chain) as plane:
        run = plane.get_run(waiting, waits=True)
        assert (run.phase, run.status) == (Phase.EXECUTE, RunStatus.PLANNING)
        assert plane.continue_run(waiting, None, waits=True).status is RunStatus.COMPLETED
    assert get_paid(chain) == 1


def test_a_confirmed_run_waits_for_its_operator(tmp_path: Path, chain: Chain) -> None:
    folder = make_agent(tmp_path, action=PAY)

    def open_envelope(terms: RunTerms) -> PlainRunEnvelope:
        return PlainRunEnvelope(terms, chain.config.chain_id, requires_confirmation=True)

    with open_development_plane(
        [folder.path], tmp_path, chain=chain, open_envelope=open_envelope
    ) as plane:
        run = plane.run_goal("Pay")
        assert (run.phase, run.waits_for_confirmation) == (Phase.EXECUTE, True)
        expiry = 2**33
        wanted = plane.get_confirmation(run.run_id, expiry)
        [effects] = wanted.effects
        [transfer] = effects.transfers
        assert (effects.failure, transfer.amount) == (None, "1")
        assert bytes.fromhex(transfer.receiver[2:]) == PAYEE
        digest = bytes.fromhex(wanted.digest[2:])
        stranger = ConfirmationRequest(
            expiry=expiry, signature=sign(PrivateKey(b"\x01" * 32), digest)
        )
        with pytest.raises(ConfigError, match="operator"):
            plane.confirm_run(run.run_id, stranger)
        assert get_paid(chain) == 0
        form = ConfirmationRequest(expiry=expiry, signature=sign(DEVELOPMENT_KEY, digest))
        run = plane.confirm_run(run.run_id, form, waits=True)
    assert (run.status, run.failure) == (RunStatus.COMPLETED, None)
    assert get_paid(chain) == 1


def sign(key: PrivateKey, digest: bytes) -> str:
    signature = key.sign_msg_hash(digest)
    return "0x" + (signature.to_bytes()[:64] + bytes([27 + signature.v])).hex()


def test_a_cancelled_run_does_nothing(tmp_path: Path, chain: Chain) -> None:
    folder = make_agent(tmp_path, action=PAY)
    with open_development_plane([folder.path], tmp_path, chain=chain) as plane:
        task = plane.create_task(TaskRequest(goal="Pay"))
        run = plane.start_run(task.task_id, StartRequest(until="dry_run"), waits=True)
        plane.cancel_run(run.run_id)
        run = plane.get_run(run.run_id, waits=True)
        assert run.status is RunStatus.CANCELLED
        assert plane.get_task(task.task_id).status is TaskStatus.CANCELLED
    assert get_paid(chain) == 0


@pytest.mark.parametrize(
    ("members", "phase_and_status", "message"),
    [
        ({"budget": BudgetRequest(max_steps=51)}, "policy_check rejected", "maxSteps 51"),
        ({"trust_threshold": ThresholdRequest()}, "trust_check rejected", "identity"),
        ({"trust_threshold": ThresholdRequest(min_score=0.5, requires_identity=False,
          requires_registration=False)}, "trust_check rejected", "trust score 0.00"),
        ({"budget": BudgetRequest(max_onchain_writes=0)}, "dry_run failed", "maxOnchainWrites 0"),
        ({"category": "trading"}, "discover failed", "can't handle the task"),
    ],
)  # fmt: skip
def test_a_run_that_may_not_go_on_stops_in_its_phase_and_is_recorded(
    tmp_path: Path,
    chain: Chain,
    members: dict[str, Any],
    phase_and_status: str,
    message: str,
) -> None:
    phase, status = phase_and_status.split()
    folder = make_agent(tmp_path, action=PAY)
    with open_development_plane([folder.path], tmp_path, chain=chain) as plane:
        run = plane.run_goal("Pay", **members)
        assert plane.get_task(run.task_id).status is TaskStatus(status)
        [entry] = plane.get_document(None, DocumentKind.LOG)["runs"]
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase(phase))
    assert message in (run.failure or "")
    assert entry["failures"] == [{"phase": phase, "reason": run.failure}]
    assert get_paid(chain) == 0
    assert validate_folder(folder) == ()


def test_an_agents_exception_is_the_reason_of_a_failed_run(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=FAIL)
    with open_development_plane([folder.path], tmp_path) as plane:
        run = plane.run_goal("Divide")
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DRY_RUN)
    assert "division" in (run.failure or "")


def test_an_agent_that_changes_its_manifest_fails(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=CHANGE_MANIFEST)
    with open_development_plane([folder.path], tmp_path) as plane:
        run = plane.run_goal("Grow")
    assert run.status is RunStatus.FAILED
    assert "agent.json of gas-watcher: was changed" in (run.failure or "")


def test_an_agent_whose_manifest_was_changed_stops_no_run_of_another(tmp_path: Path) -> None:
    folder, other = make_agent(tmp_path), make_agent(tmp_path, "other")
    path = other.locate(DocumentKind.MANIFEST)
    with open_development_plane([folder.path, other.path], tmp_path) as plane:
        text = path.read_text("utf-8")
        path.write_text(text.replace('"maxSteps": 10', '"maxSteps": 11'), "utf-8")
        run = plane.run_goal("What is my balance?")
        assert (run.status, run.failure) == (RunStatus.COMPLETED, None)
        [discovery, *_] = run.phases
        assert discovery.phase is Phase.DISCOVER
        [rejected] = discovery.result.rejected_agents.items()
        with pytest.raises(ConfigError, match=r"agent\.json of other: was changed"):
            plane.run_goal("What is my balance?", agent_slug="other")
    assert rejected == (
        "other",
        "agent.json of other: was changed after the agent was loaded; restart the control plane",
    )


def test_an_agent_that_changes_its_log_is_found_and_the_run_can_be_recorded_later(
    tmp_path: Path,
) -> None:
    folder = make_agent(tmp_path, action=CHANGE_LOG)
    path = folder.locate(DocumentKind.LOG)
    with open_development_plane([folder.path], tmp_path) as plane:
        assert plane.run_goal("First").status is RunStatus.COMPLETED
        before = path.read_bytes()
        with pytest.raises(AgentsError, match="the log was changed after it was written"):
            plane.run_goal("Second")
        [_, second] = plane.list_runs()
        assert plane.get_run(second.run_id).fault is not None
        path.write_bytes(before)
        run = plane.continue_run(second.run_id, None, waits=True)
        assert (run.status, run.fault) == (RunStatus.COMPLETED, None)
    goals = [each["goal"] for each in json.loads(path.read_text("utf-8"))["runs"]]
    assert goals == ["First", "Second"]
    assert validate_folder(folder) == ()


def test_two_agents_of_one_slug_and_an_unknown_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first, second = make_agent(tmp_path), make_agent(tmp_path / "a")
    with (
        pytest.raises(ConfigError, match="agent gas-watcher is installed from"),
        open_development_plane([first.path, second.path], tmp_path),
    ):
        pass
    with open_development_plane([first.path], tmp_path) as plane:
        with pytest.raises(
            ConfigError, match="agent 'other': not installed; there are gas-watcher"
        ):
            plane.create_task(TaskRequest(goal="x", agent_slug="other"))
        with pytest.raises(ConfigError, match="phase 'later': must be one of discover, plan"):
            plane.start_run(
                plane.create_task(TaskRequest(goal="x")).task_id, StartRequest(until="later")
            )


def test_a_listener_hears_every_phase(tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    heard: list[RunEvent] = []
    with open_development_plane([folder.path], tmp_path, listener=heard.append) as plane:
        run = plane.run_goal("What is my balance?")
    phases = [each.phase.value for each in heard if each.moment.value == "stored"]
    assert phases == list_phases(run)
    assert len(phases) == 9

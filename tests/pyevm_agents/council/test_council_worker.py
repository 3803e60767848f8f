"""Participants on a node of this process: phases, reorganisations, lost stores, limits, money."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.council.answers import FixedAnswer
from pyevm_agents.council.council_client import CONTRACT, CouncilClient
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.messages import RequestPhase
from pyevm_agents.council.participants import Judge, Keeper
from pyevm_agents.council.store import CouncilStore
from pyevm_agents.display import format_amount
from pyevm_agents.errors import ConfigError
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.council.council_chain import BOND, ETHER, HOUR, NOBODY, REWARD, CouncilChain
from tests.pyevm_agents.council.living import KEYS, CountingAnswer, living

if TYPE_CHECKING:
    from pathlib import Path


def test_an_agent_commits_reveals_and_withdraws(chain: CouncilChain, tmp_path: Path) -> None:
    account = chain.fund(KEYS[0])
    number = chain.ask()
    with living(chain, tmp_path / "store") as life:
        life.work_until("mined", kind="withdraw")
        life.work()
        assert life.events.counts["rejected"] == 0
        assert life.events.counts["sent"] == 4  # commit, reveal, distributeRewards, withdraw
    assert chain.read("getResolution", number) == (b"yes", True)
    assert chain.read("claimable", NOBODY, account) == 0
    assert int(chain.ask_node("eth_getBalance", account, "latest"), 16) > ETHER


def test_an_answer_is_in_the_store_before_a_commitment_is_signed(
    chain: CouncilChain, tmp_path: Path
) -> None:
    chain.fund(KEYS[0])
    chain.ask(agents=2)
    with living(chain, tmp_path / "store") as life:
        life.work_until("mined", kind="commit")
        names = [name for name, _ in life.events.all]
        assert names.index("kept") < names.index("signed")
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0


def test_a_removed_commitment_is_sent_again_with_its_nonce(
    chain: CouncilChain, tmp_path: Path
) -> None:
    chain.fund(KEYS[0])
    number = chain.ask(agents=2)
    chain.ask_node("evm_mine")
    source = CountingAnswer("yes", "no")
    with living(chain, tmp_path / "store", source=source) as life:
        life.work_until("mined", kind="commit")
        [before] = chain.read("getCommits", number)[1]
        chain.ask_node("anvil_reorg", 1, [])
        chain.ask_node("anvil_dropAllTransactions")
        assert chain.read("getCommits", number)[1] == ()
        life.forget()
        life.work_until("mined", kind="commit")
    assert chain.read("getCommits", number)[1] == (before,)
    assert source.asked == [number]


def test_a_reveal_waits_for_the_confirmations_of_its_commitment(
    chain: CouncilChain, tmp_path: Path
) -> None:
    chain.fund(KEYS[0])
    number = chain.ask()
    chain.ask_node("anvil_mine", "0x3")
    with living(chain, tmp_path / "store", confirmations=3) as life:
        life.work_until("mined", kind="commit")
        life.work_until("waiting", kind="reveal")
        chain.ask_node("evm_mine")
        life.work(6)
        assert chain.read("getReveals", number)[1] == ()
        chain.ask_node("evm_mine")
        life.work_until("mined", kind="reveal")


def test_an_answer_to_another_question_is_not_used(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEYS[0])
    chain.ask(agents=2)
    source = CountingAnswer("yes", "no")
    with living(chain, tmp_path / "store", source=source) as life:
        life.work_until("kept")
        chain.ask_node("anvil_reorg", int(chain.ask_node("eth_blockNumber"), 16) - 1, [])
        chain.ask_node("anvil_dropAllTransactions")
        number = chain.ask(agents=2, query="Is 8 a prime?")
        assert number == 1
        life.forget()
        assert life.work_until("kept")["answer"] == "no"
    assert source.asked == [1, 1]


def test_a_lost_store_is_said_and_nothing_is_sent(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEYS[0])
    number = chain.ask()
    with living(chain, tmp_path / "first", confirmations=50) as life:
        chain.ask_node("anvil_mine", "0x32")
        life.work_until("mined", kind="commit")
    with living(chain, tmp_path / "second") as life:
        assert "pass the store that made it" in str(life.work_until("lost")["message"])
        life.work()
        assert life.events.counts["signed"] == life.events.counts["computing"] == 0
    with living(chain, tmp_path / "first") as life:
        life.work_until("mined", kind="reveal")
    assert chain.read("getReveals", number)[1] == (b"yes",)


@pytest.mark.parametrize(
    ("limits", "required", "reason"),
    [
        (RequestLimits(max_bond=BOND - 1), ((), ()), "is above --max-bond"),
        (RequestLimits(max_bond=BOND, min_reward=ETHER), ((), ()), "is below --min-reward"),
        (RequestLimits(max_bond=BOND), (("vision",), ()), "--capability declares it"),
        (RequestLimits(max_bond=BOND), ((), ("law",)), "requires law; --domain declares it"),
    ],
)
def test_requests_beyond_the_limits_are_left(
    chain: CouncilChain,
    tmp_path: Path,
    limits: RequestLimits,
    required: tuple[tuple[str, ...], tuple[str, ...]],
    reason: str,
) -> None:
    chain.fund(KEYS[0])
    chain.ask(required=required)
    with living(chain, tmp_path / "store", limits=limits) as life:
        assert reason in str(life.work_until("skipped")["reason"])
        life.work()
        assert life.events.counts == {"skipped": 1}


def test_a_request_that_is_not_named_is_left(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEYS[0])
    chain.ask()
    limits = RequestLimits(max_bond=BOND, request_ids=frozenset({2}))
    with living(chain, tmp_path / "store", limits=limits) as life:
        life.work()
        assert life.events.counts == {"unknown": 1}
        number = chain.ask()
        life.work_until("mined", kind="commit")
    assert chain.read("getCommits", 1)[0] == ()
    assert len(chain.read("getCommits", number)[0]) == 1


def test_too_little_ether_for_the_bond_is_said(chain: CouncilChain, tmp_path: Path) -> None:
    account = chain.fund(KEYS[0], BOND - 1)
    chain.ask()
    with living(chain, tmp_path / "store") as life:
        reason = str(life.work_until("rejected", kind="commit")["reason"])
    has, needs = format_amount(BOND - 1), format_amount(BOND)
    assert reason.startswith(f"{account} has {has}, and needs {needs} for the bond")


def test_a_dry_run_keeps_and_sends_nothing(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEYS[0])
    chain.ask()
    with living(chain, tmp_path / "store", is_dry=True) as life:
        assert life.work_until("would_answer")["answer"] == "yes"
        life.work()
        assert life.events.counts["signed"] == life.events.counts["kept"] == 0


def test_a_full_and_a_late_request_are_said(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEYS[0])
    chain.fund(KEYS[1])
    chain.ask()
    with living(chain, tmp_path / "first", withdraws=False) as life:
        life.work_until("mined", kind="commit")
    limits = RequestLimits(max_bond=BOND, request_ids=frozenset({1, 2}))
    with living(chain, tmp_path / "second", key=KEYS[1], limits=limits) as life:
        assert life.work_until("missed")["reason"] == "the council is full"
        chain.ask(agents=2)
        chain.pass_time(HOUR + 1)
        life.forget()
        assert "is over" in str(life.work_until("missed")["reason"])


def test_a_seat_that_waits_in_the_pool_is_taken(chain: CouncilChain, tmp_path: Path) -> None:
    """Who comes second neither signs a commitment nor pays for it."""
    for key in KEYS[:2]:
        chain.fund(key)
    chain.ask()
    chain.ask_node("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC
    with (
        living(chain, tmp_path / "0", withdraws=False) as one,
        living(chain, tmp_path / "1", key=KEYS[1]) as two,
    ):
        one.work_until("sent", kind="commit")
        two.work_until("rejected", kind="commit")
        assert two.events.counts["signed"] == 0
        chain.ask_node("evm_mine")
        one.work_until("mined", kind="commit", succeeded=True)


def test_a_race_that_is_lost_in_flight_is_counted(chain: CouncilChain, tmp_path: Path) -> None:
    for key in KEYS[:2]:
        chain.fund(key)
    chain.ask()
    chain.ask_node("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC
    with living(chain, tmp_path / "0", withdraws=False) as life:
        life.work_until("sent", kind="commit")
        # Another one pays more, so that it is mined before.
        form = {"from": chain.sender, "to": chain.oracle, "value": hex(BOND), "gas": hex(10**6)}
        fees = {"maxFeePerGas": hex(10**12), "maxPriorityFeePerGas": hex(10**11)}
        data = load_artifact(CONTRACT).encode_call("commit", 1, b"\1" * 32)
        chain.ask_node("eth_sendTransaction", {**form, **fees, "data": "0x" + data.hex()})
        chain.ask_node("evm_mine")
        assert life.work_until("reverted", kind="commit")["cost"]


def test_a_judge_is_drawn_and_decides(chain: CouncilChain, tmp_path: Path) -> None:
    for key in KEYS[:3]:
        chain.fund(key)
    number = chain.ask(agents=2, specifications="")
    with (
        living(chain, tmp_path / "0", source=CountingAnswer("Paris")) as one,
        living(chain, tmp_path / "1", key=KEYS[1], source=CountingAnswer("Lyon")) as two,
        living(chain, tmp_path / "2", Judge, key=KEYS[2]) as judge,
    ):
        judge.work_until("mined", kind="registerJudge")
        one.work_until("mined", kind="commit")
        two.work_until("mined", kind="commit")
        two.work_until("mined", kind="reveal")
        one.work_until("mined", kind="reveal")
        chain.ask_node("anvil_mine", "0x3")
        judge.work_until("mined", kind="aggregate")
        judge.work_until("mined", kind="withdraw")
        one.work_until("mined", kind="withdraw")
        assert one.work_until("ended")["outcome"] == "right"
        assert two.work_until("ended")["outcome"] == "wrong"
        assert judge.work_until("ended")["verdict"] == "upheld"
    assert chain.read("getResolution", number) == (b"Paris", True)


def test_a_keeper_ends_phases_whose_time_is_over(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEYS[3])
    number = chain.ask()
    limits = RequestLimits(max_bond=2**256)
    with living(chain, tmp_path / "store", Keeper, key=KEYS[3], limits=limits) as life:
        life.work()
        assert life.events.counts["sent"] == 0
        chain.pass_time(HOUR + 1)
        life.work_until("mined", kind="advance")
    assert chain.read("phaseOf", number)[0] == RequestPhase.FAILED


def test_tokens_of_a_request_that_ended_before_the_start_are_withdrawn(
    chain: CouncilChain, tmp_path: Path
) -> None:
    account = chain.fund(KEYS[0])
    token = chain.make_token()
    chain.ask(token=token)
    limits = RequestLimits(max_bond=BOND, reward_tokens=frozenset({bytes.fromhex(token[2:])}))
    with living(chain, tmp_path / "store", limits=limits, withdraws=False) as life:
        life.work_until("ended")
    assert chain.read("claimable", token, account) == REWARD
    with living(chain, tmp_path / "store") as life:
        life.work_until("mined", kind="withdraw")
        life.work_until(
            "mined", kind="withdraw", request=(bytes.fromhex(token[2:]).rjust(32, b"\0"), bytes(32))
        )
    assert chain.read("claimable", token, account) == chain.read("claimable", NOBODY, account) == 0


def test_an_answer_that_stays_the_same_is_not_computed_again(
    chain: CouncilChain, tmp_path: Path
) -> None:
    chain.fund(KEYS[0])
    chain.ask()
    with living(chain, tmp_path / "store", source=FixedAnswer("maybe")) as life:
        assert "must be one of yes, no" in str(life.work_until("missed")["reason"])
        assert not life.worker.has_work
        chain.pass_time(HOUR + 1)  # Nor is it said again that the time is over.
        life.work()
        assert life.events.counts == {"commitments": 1, "computing": 1, "missed": 1}


@pytest.mark.parametrize("withdraws", [True, False])
def test_who_takes_one_request_ends_with_it(
    chain: CouncilChain, tmp_path: Path, *, withdraws: bool
) -> None:
    account = chain.fund(KEYS[0])
    number = chain.ask()
    limits = RequestLimits(max_bond=BOND, request_ids=frozenset({number}))
    store = tmp_path / "store"
    with living(chain, store, limits=limits, poll_seconds=0.01, withdraws=withdraws) as life:
        thread = threading.Thread(target=life.worker.run, daemon=True)
        thread.start()
        thread.join(HANG_SECONDS)
        assert not thread.is_alive()
    assert chain.read("phaseOf", number)[0] == RequestPhase.DISTRIBUTED
    assert (chain.read("claimable", NOBODY, account) == 0) == withdraws


def test_a_store_of_another_genesis_names_a_restart(chain: CouncilChain, tmp_path: Path) -> None:
    with closing(CouncilClient(chain.url, chain.canonical)) as client:
        identity = chain.identify(client, KEYS[0])
    with CouncilStore(tmp_path / "store", identity):
        pass
    other = replace(identity, genesis_hash=b"\1" * 32)
    with pytest.raises(ConfigError, match="started again"):
        CouncilStore(tmp_path / "store", other)

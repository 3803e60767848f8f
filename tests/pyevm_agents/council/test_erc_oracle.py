"""A council of an oracle that has ERC-8033's interface alone: no ERC-165, no view of a phase."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.app import main
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.decisions import pass_time
from pyevm_agents.council.erc_phases import ErcEnds, ErcEvent, ErcState, derive_phase
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.messages import NO_END, NOBODY, CouncilRequest, RequestPhase
from pyevm_agents.council.participants import Judge
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore
from tests.pyevm_agents.council.council_chain import BOND, ETHER, HOUR, CouncilChain, read_lines
from tests.pyevm_agents.council.living import KEYS, CountingAnswer, living
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

    from pyevm_agents.council.messages import RequestView

ONE, TWO, JUDGE = b"\1" * 20, b"\2" * 20, b"\3" * 20


class PlainChain(CouncilChain):
    """A `PlainCouncil` on a node."""

    def build_creation(self) -> bytes:
        return load_artifact("PlainCouncil").encode_creation(HOUR)

    def count_requests(self) -> int:
        return len(self.read_views())

    def read_views(self) -> list[RequestView]:
        with closing(CouncilClient(self.url, self.canonical)) as client:
            head = client.read_head().number
            return client.read_views(client.list_request_ids(head), head)


@pytest.fixture
def chain() -> Iterator[PlainChain]:
    served = Served()
    with fake_remote(served) as remote:
        yield PlainChain(served.ask, remote.url)
    served.close()


def read_wei(chain: PlainChain, account: str) -> int:
    return int(chain.ask_node("eth_getBalance", account, "latest"), 16)


def test_a_whole_council(chain: PlainChain, tmp_path: Path) -> None:
    accounts = [chain.fund(key) for key in KEYS[:3]]
    chain.ask(agents=2, specifications="")
    limits = RequestLimits(max_bond=2 * BOND)
    with (
        living(chain, tmp_path / "0", source=CountingAnswer("Paris")) as one,
        living(chain, tmp_path / "1", key=KEYS[1], source=CountingAnswer("Lyon")) as two,
        living(chain, tmp_path / "2", Judge, key=KEYS[2], limits=limits) as judge,
    ):
        assert one.work_until("commitments")["form"] == "plain"
        for life in (one, two):
            life.work_until("mined", kind="commit")
        for life in (one, two):
            life.work_until("mined", kind="reveal")
        for kind in ("registerJudge", "selectJudge", "postJudgeBond", "aggregate"):
            judge.work_until("mined", kind=kind, succeeded=True)
        judge.work_until("mined", kind="distributeRewards", succeeded=True)
        outcomes = [life.work_until("ended")["outcome"] for life in (one, two)]
        assert outcomes == ["right", "wrong"]
        assert judge.work_until("ended")["verdict"] == "upheld"
        assert all(life.events.counts["reverted"] == 0 for life in (one, two, judge))
    paid, lost, _ = (read_wei(chain, each) for each in accounts)
    assert paid > ETHER + BOND > ETHER > lost


def run(chain: PlainChain, folder: Path, command: str, *words: str) -> Result:
    """Run a command; its key, if it takes one, and its store are in the folder."""
    options = ["--rpc-url", chain.url, "--oracle", chain.oracle]
    if command == "join":
        keystore = write_keystore(folder / "key.json", KEYS[0].to_bytes())
        (folder / "password").write_text(PASSWORD)
        options += ["--keystore", str(keystore), "--password-file", str(folder / "password")]
        options += ["--store", str(folder / "store"), "--poll-interval", "0.05", "--once"]
    if command == "ask":
        options += ["--unlocked", chain.sender]
    environment = {"COUNCIL_ORACLE": None, "ETH_KEYSTORE": None, "ETH_PASSWORD": None}
    return CliRunner().invoke(main, ["council", command, *options, *words], env=environment)


def test_the_commands_know_the_erc_alone(chain: PlainChain, tmp_path: Path) -> None:
    chain.fund(KEYS[0])
    asked = run(chain, tmp_path, "ask", "Is 7 a prime?", "--agents", "1")
    assert asked.exit_code == 0, asked.output
    assert "Commitments: plain" in asked.output
    shown = run(chain, tmp_path, "watch", "--once")
    assert "Commitments: plain" in shown.output
    [form] = read_lines(run(chain, tmp_path, "watch", "--once", "--json").stdout)
    assert (form["phase"], form["whoCanAct"]) == ("Commit", "1 more agents: commit")
    answer = ("--request", "1", "--answer", "yes")
    wrong = run(chain, tmp_path, "join", *answer, "--commitment", "bound")
    assert "the bond would be lost" in " ".join(wrong.output.split())
    [view] = chain.read_views()
    assert view.commits == {}
    joined = run(chain, tmp_path, "join", *answer)
    assert joined.exit_code == 0, joined.output
    [view] = chain.read_views()
    assert (view.phase, [*view.reveals.values()]) == (RequestPhase.DRAW, [b"yes"])


@pytest.mark.parametrize(("option", "value"), [("--value", "1ether"), ("--pay-directly", None)])
def test_what_the_erc_has_not_is_refused_before_anything_is_paid(
    chain: PlainChain, tmp_path: Path, option: str, value: str | None
) -> None:
    result = run(chain, tmp_path, "ask", "Is 7 a prime?", option, *filter(None, (value,)))
    assert result.exit_code == 2
    assert chain.read_views() == []


def event(name: str, *values: object) -> ErcEvent:
    return ErcEvent(name=name, values=values, block_number=1)


FINAL, DISPUTED = event("ResolutionFinalized", b""), event("DisputeInitiated", ONE, "")
DRAWN, OPENED = event("JudgeSelected", "0x" + JUDGE.hex()), event("DisputeWindowOpened", 77)


@pytest.mark.parametrize(
    ("commits", "reveals", "history", "phase", "ends_at"),
    [
        (0, 0, [], RequestPhase.COMMIT, 50),
        (1, 0, [], RequestPhase.COMMIT, 50),
        (2, 0, [], RequestPhase.REVEAL, 60),
        (2, 1, [], RequestPhase.REVEAL, 60),
        (1, 1, [], RequestPhase.DRAW, 70),
        (2, 2, [], RequestPhase.DRAW, 70),
        (2, 1, [event("RevealsClosed")], RequestPhase.DRAW, 70),
        (2, 2, [DRAWN], RequestPhase.JUDGE, 80),
        (2, 2, [DRAWN, FINAL], RequestPhase.RESOLVED, NO_END),
        (2, 2, [DRAWN, FINAL, OPENED], RequestPhase.WINDOW, 77),
        (2, 2, [DRAWN, FINAL, OPENED, DISPUTED], RequestPhase.DISPUTE_DRAW, NO_END),
        (2, 2, [DRAWN, FINAL, OPENED, DISPUTED, DRAWN], RequestPhase.DISPUTE_JUDGE, NO_END),
        (2, 2, [FINAL, DISPUTED, event("DisputeResolved")], RequestPhase.RESOLVED, NO_END),
        (2, 2, [FINAL, event("RewardsDistributed")], RequestPhase.DISTRIBUTED, NO_END),
        (2, 0, [event("ResolutionFailed", "")], RequestPhase.FAILED, NO_END),
    ],
)
def test_phases_of_the_erc(
    commits: int, reveals: int, history: list[ErcEvent], phase: RequestPhase, ends_at: int
) -> None:
    request = CouncilRequest(
        request_id=1,
        requester=ONE,
        reward=1,
        reward_token=NOBODY,
        bond=1,
        agent_count=2,
        deadline=50,
        query="",
        specifications="",
        capabilities=(),
        domains=(),
    )
    agents = (ONE, TWO)
    state = ErcState(
        request=request,
        commits=dict.fromkeys(agents[:commits], b""),
        reveals=dict.fromkeys(agents[:reveals], b""),
        is_final=False,
        history=history,
        ends=ErcEnds(reveal=60, draw=70, judge=80),
    )
    assert derive_phase(state) == (phase, ends_at)


def test_a_deadline_begins_the_reveals(chain: PlainChain) -> None:
    """The oracle emits nothing when its time to commit ends."""
    chain.ask(agents=2, specifications="")
    commitment = b"\1" * 32
    chain.call("commit", 1, commitment, value=BOND)
    with closing(CouncilClient(chain.url, chain.canonical)) as client:
        [view] = chain.read_views()
        later = pass_time(view, view.ends_at + 1, client.read_terms())
    assert (view.phase, later.phase) == (RequestPhase.COMMIT, RequestPhase.REVEAL)
    assert later.ends_at == view.ends_at + HOUR

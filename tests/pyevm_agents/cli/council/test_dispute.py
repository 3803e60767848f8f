"""`pyevm-agents council dispute`: what it refuses, shows and sends, and that it goes on."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address

from pyevm_agents.cli.app import main
from pyevm_agents.council.decisions import JudgeRole
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.messages import RequestPhase, Verdict
from pyevm_agents.council.participants import Judge
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore
from tests.pyevm_agents.council.council_chain import (
    BOND,
    DISPUTES,
    ETHER,
    HOUR,
    NOBODY,
    REWARD,
    CouncilChain,
    read_lines,
)
from tests.pyevm_agents.council.living import KEYS, CountingAnswer, living
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result
    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.council.messages import RequestView
    from tests.pyevm_agents.council.living import Life

KEY, JUDGES = KEYS[4], (KEYS[3], KEYS[5], KEYS[6])
ACCOUNT = KEY.public_key.to_checksum_address()
DISPUTE_BOND = REWARD + 3 * BOND
"""What overturning a vote moves: reward and bonds, which is more than the rules' part of a bond."""

FEE = REWARD * DISPUTES[3] // 10_000
GAIN = FEE * DISPUTES[5] // 10_000


class ChoosesNo:
    """Decides for those who said no."""

    def judge(self, view: RequestView) -> Verdict:
        winners = tuple(agent for agent, each in view.reveals.items() if each == b"no")
        return Verdict(answer=b"no", winners=winners, reasoning=b"It is even.")


@pytest.fixture
def chain() -> Iterator[CouncilChain]:
    served = Served()
    with fake_remote(served) as remote:
        yield CouncilChain(served.ask, remote.url, DISPUTES)
    served.close()


VALUE = 2 * REWARD


def decide_by_votes(
    chain: CouncilChain, folder: Path, *, token: str = NOBODY, value: int = 0
) -> int:
    """Ask a question that two agents answer with yes, and one with no. Input: a declared value."""
    with ExitStack() as stack:
        for key in KEYS[:3]:
            chain.fund(key)
        number = chain.ask(agents=3, token=token)
        if value:
            chain.call("declareValue", number, value)
        limits = RequestLimits(max_bond=BOND, reward_tokens=frozenset({bytes.fromhex(token[2:])}))
        lives = [
            stack.enter_context(
                living(
                    chain,
                    folder / f"agent {place}",
                    key=key,
                    source=CountingAnswer(text),
                    limits=limits,
                    withdraws=False,
                )
            )
            for place, (key, text) in enumerate(zip(KEYS, ("yes", "no", "yes"), strict=False))
        ]
        for kind in ("commit", "reveal"):
            for life in lives:
                life.work_until("mined", kind=kind)
    assert chain.read("phaseOf", number)[0] == RequestPhase.WINDOW
    return number


def run(chain: CouncilChain, folder: Path, *words: str, number: int = 1) -> Result:
    """Run the command; its key and store are in the folder."""
    keystore = write_keystore(folder / "key.json", KEY.to_bytes())
    (folder / "password").write_text(PASSWORD)
    options = ["--rpc-url", chain.url, "--oracle", chain.oracle, "--keystore", str(keystore)]
    options += ["--password-file", str(folder / "password"), "--store", str(folder / "store")]
    options += ["--poll-interval", "0.05", "--turn-seconds", "0"]
    options += [] if "--max-bond" in words else ["--max-bond", "1ether"]
    if "--reason" not in words:
        options += ["--reason", "It is even."]
    environment = {"COUNCIL_ORACLE": None, "ETH_KEYSTORE": None, "ETH_PASSWORD": None}
    command = ["council", "dispute", str(number), *options, *words]
    return CliRunner().invoke(main, command, env=environment)


def join_words(result: Result) -> str:
    return " ".join(result.output.split())


def start_judge(stack: ExitStack, chain: CouncilChain, folder: Path, key: PrivateKey) -> Life:
    """Start a judge of disputes who decides for those who said no."""
    chain.fund(key)
    path, limits = folder / f"judge {key}", RequestLimits(max_bond=ETHER)
    roles: dict[str, Any] = {"judge_role": JudgeRole.DISPUTES}
    return stack.enter_context(
        living(chain, path, Judge, key=key, source=ChoosesNo(), limits=limits, **roles)
    )


def test_a_dispute_goes_on_at_each_start_until_its_end(chain: CouncilChain, tmp_path: Path) -> None:
    number = decide_by_votes(chain, tmp_path)
    chain.fund(KEY)
    first = run(chain, tmp_path, "--once")
    assert first.exit_code == 0, first.output
    assert chain.read("phaseOf", number)[0] == RequestPhase.DISPUTE_REGISTRATION
    assert "answer yes, by more than half of the votes" in join_words(first)
    assert "bond 0.13 ether, sent with the transaction; nothing is approved" in join_words(first)
    assert "with 0.005 ether of the judge's fee" in join_words(first)
    with ExitStack() as stack:
        lives = [start_judge(stack, chain, tmp_path, key) for key in JUDGES]
        for life in lives:
            life.work_until("mined", kind="registerJudge")
        chain.pass_time(HOUR + 1)
        kinds = [
            each.get("kind") for each in read_lines(run(chain, tmp_path, "--once", "--json").stdout)
        ]
        assert "initiateDispute" not in kinds
        assert "advance" in kinds
        chain.ask_node("anvil_mine", "0x3")
        for life in lives:
            life.work_until("mined", kind="resolveDispute", succeeded=True)
    before = int(chain.ask_node("eth_getBalance", ACCOUNT, "latest"), 16)
    events = read_lines(run(chain, tmp_path, "--json").stdout)
    [ended] = [each for each in events if each["event"] == "ended"]
    assert (ended["answer"], ended["outcome"]) == ("no", "overturned")
    [claimed] = [each for each in events if each["event"] == "claimable"]
    assert claimed["amount"] == str(DISPUTE_BOND + GAIN)
    assert int(chain.ask_node("eth_getBalance", ACCOUNT, "latest"), 16) > before
    assert chain.read("claimable", NOBODY, ACCOUNT) == 0
    again = run(chain, tmp_path, "--json")
    assert [each["kind"] for each in read_lines(again.stdout) if each["event"] == "sent"] == []
    assert "overturned" in again.output


def test_a_dry_run_shows_the_stakes_and_sends_nothing(chain: CouncilChain, tmp_path: Path) -> None:
    token = chain.make_token()
    number = decide_by_votes(chain, tmp_path, token=token, value=VALUE)
    chain.fund(KEY)
    result = run(chain, tmp_path, "--dry-run", "--json")
    [stakes] = [each for each in read_lines(result.stdout) if each["event"] == "stakes"]
    assert (stakes["bondWei"], stakes["gain"]) == (str(VALUE + 3 * BOND), str(GAIN))
    assert (stakes["gainToken"], stakes["answer"]) == (token, "yes")
    assert "would_send" in result.stdout
    assert chain.read("phaseOf", number)[0] == RequestPhase.WINDOW
    words = join_words(run(chain, tmp_path, "--dry-run"))
    assert f"with {GAIN:,} of the token {token}, of the judge's fee" in words


def test_what_can_t_be_disputed_is_refused(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY)
    words = join_words(run(chain, tmp_path, number=7))
    assert "request 7: the council has no such request; it has none yet" in words
    number = chain.ask(agents=3)
    words = join_words(run(chain, tmp_path, number=number))
    assert "is in the phase commit, so it has no answer yet" in words
    chain.pass_time(HOUR + 1)
    chain.call("advance", number)
    assert "has failed, so it has no answer" in join_words(run(chain, tmp_path, number=number))
    number = decide_by_votes(chain, tmp_path)
    result = run(chain, tmp_path, "--max-bond", "1000gwei", number=number)
    assert result.exit_code == 2
    assert "the dispute's bond of 0.13 ether is above --max-bond 1,000 gwei" in join_words(result)


def test_who_can_t_pay_is_told_what_it_needs(chain: CouncilChain, tmp_path: Path) -> None:
    decide_by_votes(chain, tmp_path)
    assert "has no ether to pay for transactions" in join_words(run(chain, tmp_path))
    chain.fund(KEY, DISPUTE_BOND)
    words = join_words(run(chain, tmp_path))
    assert "has 0.13 ether, and needs 0.13 ether for the bond and up to" in words
    assert chain.read("phaseOf", 1)[0] == RequestPhase.WINDOW


def test_a_second_dispute_and_a_late_one_are_refused(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY)
    number = decide_by_votes(chain, tmp_path)
    chain.call("initiateDispute", number, "Mine.", value=DISPUTE_BOND)
    result = run(chain, tmp_path)
    assert result.exit_code == 2
    sender = to_checksum_address(chain.sender)
    assert f"is disputed already, by {sender}: “Mine.”" in join_words(result)
    late = decide_by_votes(chain, tmp_path)
    chain.pass_time(HOUR + 1)
    words = join_words(run(chain, tmp_path, number=late))
    assert "its window for disputes is closed" in words


@pytest.mark.parametrize("reason", ["", "x" * 4_097])
def test_a_reason_has_a_length(chain: CouncilChain, tmp_path: Path, reason: str) -> None:
    result = run(chain, tmp_path, "--reason", reason)
    assert result.exit_code == 2
    assert f"--reason of {len(reason):,} bytes: must be 1 to 4,096" in join_words(result)


def test_a_council_without_disputes_says_so(tmp_path: Path) -> None:
    served = Served()
    with fake_remote(served) as remote:
        chain = CouncilChain(served.ask, remote.url)
        chain.fund(KEY, ETHER)
        chain.fund(KEYS[0])
        chain.ask()
        with living(chain, tmp_path / "agent") as life:
            life.work_until("mined", kind="distributeRewards")
        assert "this council has no disputes" in join_words(run(chain, tmp_path))
    served.close()

"""`pyevm-agents council`: what it refuses, one pass of each role, the table, and JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_keys.datatypes import PrivateKey
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.app import main
from pyevm_agents.council.council_client import CONTRACT
from tests.pyevm_agents.cli.oracle.conftest import NO_CONTRACT, PASSWORD, write_keystore
from tests.pyevm_agents.council.council_chain import (
    BOND,
    HOUR,
    NOBODY,
    REWARD,
    CouncilChain,
    build_terms,
    read_lines,
)
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

KEY = PrivateKey(b"\x41" * 32)
ACCOUNT = KEY.public_key.to_checksum_address()
ANSWER = ("--request", "1", "--answer", "yes")


@pytest.fixture
def chain() -> Iterator[CouncilChain]:
    served = Served()
    with fake_remote(served) as remote:
        yield CouncilChain(served.ask, remote.url)
    served.close()


def run(chain: CouncilChain, folder: Path, command: str, *words: str, oracle: str = "") -> Result:
    """Run a command once; its key and store are in the folder."""
    options = ["--rpc-url", chain.url, "--oracle", oracle or chain.oracle, "--once"]
    if command != "watch" or "--advance" in words:
        keystore = write_keystore(folder / "key.json", KEY.to_bytes())
        (folder / "password").write_text(PASSWORD)
        options += ["--keystore", str(keystore), "--password-file", str(folder / "password")]
        options += ["--store", str(folder / "store"), "--poll-interval", "0.05"]
    environment = {"COUNCIL_ORACLE": None, "ETH_KEYSTORE": None, "ETH_PASSWORD": None}
    return CliRunner().invoke(main, ["council", command, *options, *words], env=environment)


def join_words(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "which requests? Pass --request NUMBER, --min-reward AMOUNT, or --all"),
        (("--max-bond", "1ether"), "which requests? Pass --request NUMBER"),
        (("--chain-id", "1", *ANSWER), "must be 1; pass the URL of a node of that chain"),
        (("--answer", "yes", "--all"), "--answer: needs --request NUMBER"),
        ((*ANSWER, "--answer-command", "true"), "exclude each other; pass one"),
        (("--all", "--answer-command", "'"), "No closing quotation"),
        (("--request", "two", "--answer", "yes"), "'two': not the number of a request"),
        (("--request", "0", "--answer", "yes"), "'0': not the number of a request"),
        (("--request", "1", "--answer", ""), "answer of 0 bytes: must be 1 to 2,048"),
        (ANSWER, f"info agent {ACCOUNT}: has no ether to pay for transactions"),
    ],
)
def test_a_start_that_can_t_work_is_refused(
    chain: CouncilChain, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = run(chain, tmp_path, "join", *words)
    assert result.exit_code == 2, result.output
    assert message in join_words(result)


def test_another_contract_is_refused(chain: CouncilChain, tmp_path: Path) -> None:
    rules = str(chain.read("rules"))
    for oracle, message in (
        (NO_CONTRACT, "no contract on chain"),
        (rules, "no oracle of ERC-8033, for it has no commit"),
    ):
        result = run(chain, tmp_path, "watch", oracle=oracle)
        assert result.exit_code == 2
        assert message in join_words(result)


def test_an_agent_in_one_pass(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY)
    chain.ask()
    result = run(chain, tmp_path, "join", *ANSWER, "--json")
    assert result.exit_code == 0, result.output
    events = read_lines(result.stdout)
    sent = [each["kind"] for each in events if each["event"] == "sent"]
    assert sent == ["commit", "reveal", "distributeRewards", "withdraw"]
    [ended] = [each for each in events if each["event"] == "ended"]
    assert (ended["request"], ended["outcome"]) == (1, "right")
    assert events[-1]["event"] == "summary"


def test_a_command_answers(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY)
    chain.ask()
    program = tmp_path / "answer.py"
    program.write_text("import json, sys\nprint(json.load(sys.stdin)['options'][1])\n")
    command = f"{sys.executable} {program}"
    result = run(chain, tmp_path, "join", "--all", "--answer-command", command)
    assert "request 1  answer no" in result.output
    assert chain.read("getResolution", 1) == (b"no", True)


def test_a_dry_run_sends_nothing(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY)
    chain.ask()
    result = run(chain, tmp_path, "join", *ANSWER, "--dry-run")
    assert "would answer" in result.output
    assert chain.read("getCommits", 1) == ((), ())


def test_a_judge_registers_in_one_pass(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY)
    chain.ask()
    result = run(chain, tmp_path, "judge", "--min-reward", "1wei", "--verdict-command", "true")
    assert result.exit_code == 0, result.output
    assert chain.read("judgesOf", 1, False)[1] == (ACCOUNT.lower(),)  # noqa: FBT003 - of a contract


def test_the_table_and_its_json(chain: CouncilChain, tmp_path: Path) -> None:
    assert "The council has no requests." in run(chain, tmp_path, "watch").output
    chain.ask()
    chain.ask(agents=3)
    words = join_words(run(chain, tmp_path, "watch"))
    assert "1 Is 7 a prime? commit in 59 min 0.1 ether 0.01 ether" in words or "in 1 h" in words
    result = run(chain, tmp_path, "watch", "--json", "--request", "2")
    [form] = read_lines(result.stdout)
    assert (form["requestId"], form["phase"], form["isOverdue"]) == (2, "Commit", False)
    assert form["whoCanAct"] == "3 more agents: commit; judges: registerJudge"


class UnwiredChain(CouncilChain):
    """A council whose source of reputation serves no council, so that all commitments revert."""

    def build_creation(self) -> bytes:
        source = load_artifact("CouncilReputation").encode_creation(NOBODY, NOBODY, [])
        address = to_checksum_address(self.send(None, source)["contractAddress"])
        terms = build_terms(self)
        return load_artifact(CONTRACT).encode_creation(terms, address)


def test_a_commitment_that_would_revert_is_told_before_anything_is_computed(
    tmp_path: Path,
) -> None:
    served = Served()
    with fake_remote(served) as remote:
        chain = UnwiredChain(served.ask, remote.url)
        chain.fund(KEY)
        chain.ask()
        result = run(chain, tmp_path, "join", *ANSWER)
        assert result.exit_code == 2, result.output
        assert "can't commit to an answer: NotOracle(" in join_words(result)
        assert "computing" not in result.output
        assert chain.read("getCommits", 1) == ((), ())
    served.close()


def test_a_keeper_advances(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY)
    chain.ask()
    chain.pass_time(HOUR + 1)
    assert "anybody: advance" in join_words(run(chain, tmp_path, "watch"))
    result = run(chain, tmp_path, "watch", "--advance")
    assert result.exit_code == 0, result.output
    assert "failed" in run(chain, tmp_path, "watch").output


def test_a_keeper_calls_a_requester_back(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY)
    chain.ask_by_market()
    chain.pass_time(HOUR + 1)
    chain.call("advance", 1)
    for state in ("pending", "called"):
        [form] = read_lines(run(chain, tmp_path, "watch", "--json").stdout)
        assert form["callback"] == state
        assert "callback" in str(form["whoCanAct"])
        result = run(chain, tmp_path, "watch", "--advance")
        assert result.exit_code == 0, result.output
    assert "nothing was due" in result.output


def test_a_keeper_sends_others_what_they_may_withdraw(chain: CouncilChain, tmp_path: Path) -> None:
    """A requester that is a contract of the ERC alone could never take its refund."""
    chain.fund(KEY)
    chain.ask()
    chain.pass_time(HOUR + 1)
    chain.call("advance", 1)
    assert chain.read("claimable", NOBODY, chain.sender) == REWARD
    before = int(chain.ask_node("eth_getBalance", chain.sender, "latest"), 16)
    result = run(chain, tmp_path, "watch", "--advance", "--withdraw-for", chain.sender)
    assert result.exit_code == 0, result.output
    assert int(chain.ask_node("eth_getBalance", chain.sender, "latest"), 16) == before + REWARD


def test_advancing_needs_a_key(chain: CouncilChain) -> None:
    options = ["--rpc-url", chain.url, "--oracle", chain.oracle, "--advance"]
    result = CliRunner().invoke(main, ["council", "watch", *options], env={"ETH_KEYSTORE": None})
    assert result.exit_code == 2
    assert "--advance: needs --keystore FILE" in join_words(result)


def test_a_request_that_is_not_there_is_named(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY)
    chain.ask(agents=3)
    told = "the council has no such request"
    result = run(chain, tmp_path, "watch", "--request", "9")
    assert result.exit_code == 2
    assert f"request 9: {told}; its last one is 1" in join_words(result)
    result = run(chain, tmp_path, "join", "--request", "9", "--answer", "yes")
    assert result.exit_code == 2
    assert f"request 9 reason {told} yet; its last one is 1" in join_words(result)
    assert "skipped" not in result.output
    assert "summary nothing was due" in join_words(result)


def test_who_has_the_bond_alone_is_told_and_ends(chain: CouncilChain, tmp_path: Path) -> None:
    chain.fund(KEY, BOND)
    chain.ask()
    result = run(chain, tmp_path, "join", *ANSWER)
    assert result.exit_code == 0, result.output
    told = f"{ACCOUNT} has 0.01 ether, and needs 0.01 ether for the bond and more for gas"
    assert told in join_words(result)
    assert chain.read("getCommits", 1) == ((), ())

"""`pyevm-agents council deploy` and `ask`: a council's rules, a question, and what they refuse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.app import main
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.messages import NOBODY, RequestPhase
from tests.pyevm_agents.council.council_chain import ETHER, HOUR, REWARD, CouncilChain
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result

SENDER = to_checksum_address(ADDRESSES[0])
STRANGER = "0x" + "77" * 20
QUESTION = "Is 7 a prime?"


@pytest.fixture
def chain() -> Iterator[CouncilChain]:
    served = Served()
    with fake_remote(served) as remote:
        yield CouncilChain(served.ask, remote.url)
    served.close()


def run(chain: CouncilChain, command: str, *words: str, status: int = 0) -> Result:
    """Run a command of the first account; check its exit status."""
    options = ["--rpc-url", chain.url, "--unlocked", SENDER]
    environment = {"COUNCIL_ORACLE": chain.oracle, "ETH_KEYSTORE": None, "ETH_PASSWORD": None}
    result = CliRunner().invoke(main, ["council", command, *options, *words], env=environment)
    assert result.exit_code == status, result.output
    return result


def refuse(chain: CouncilChain, command: str, *words: str) -> str:
    result = run(chain, command, *words, status=2)
    return " ".join(result.output.split())


def run_json(chain: CouncilChain, command: str, *words: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads(run(chain, command, *words, "--json").stdout)


def read_head(chain: CouncilChain) -> int:
    block = chain.ask_node("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC
    return int(block["timestamp"], 16)


def test_a_council_has_the_rules_that_were_given(chain: CouncilChain) -> None:
    words = ("--reveal-time", "5m", "--draw-time", "6m", "--judge-time", "7m", "--judge-fee", "3")
    more = ("--dispute-window", "0", "--dispute-registration", "8m", "--dispute-bond", "655")
    parts = ("--disputer-part", "11", "--dispute-judge-part", "12", "--callback-gas", "9000")
    last = ("--seed-delay", "9", "--min-bond", "2gwei", "--deterministic")
    second = ("--dispute-judges", "5", "--commitment", "plain")
    form = run_json(chain, "deploy", *words, *more, *parts, *last, *second)
    client = CouncilClient(chain.url, bytes.fromhex(form["oracle"][2:]))
    client.require_council()
    kept = tuple(client.read_all_terms().values())
    client.close()
    times, gas = (300, 360, 420, 0, 480), 9_000
    hundredths = (300, 65_500, 1_100, 1_200)
    lowest = -(2**31)
    flags = (9, True, False, False)
    assert kept == (*times, gas, *hundredths, *flags, 2 * 10**9, *[lowest] * 3, 5, True)
    assert (form["commitment"], form["isFinal"], form["reputation"]) == ("plain", True, None)
    assert form["terms"] | {"minBond": 2 * 10**9} == dict(zip(form["terms"], kept, strict=True))
    assert form["terms"]["minBond"] == str(2 * 10**9)


def test_participants_are_funded_once_each(chain: CouncilChain) -> None:
    words = ("--participant", STRANGER, "--participant", STRANGER, "--fund", "3ether")
    result = run(chain, "deploy", *words)
    assert result.stdout.count("Sent 3 ether to") == 1
    assert int(chain.ask_node("eth_getBalance", STRANGER, "latest"), 16) == 3 * ETHER


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--reveal-time", "0"), "OutOfRange(member='revealTime', value=0, lowest=1"),
        (("--reveal-time", "31d"), "highest=2592000); pass a value in this range"),
        (("--min-judge-reputation", "1"), "need --reputation, which says who has which"),
        (("--weighted-votes",), "need --reputation, which says who has which"),
        (("--dispute-window", "1h"), "--dispute-window: needs --reputation"),
        (("--dispute-judges", "4"), "--dispute-judges 4: must be odd"),
        (("--reputation", "new"), "--reputation new: needs --client ADDRESS"),
        (("--client", STRANGER), "--client: needs --reputation new"),
        (("--reputation", STRANGER), "no contract on chain"),
        (("--judge-fee", "101"), "101 is not in the range 0<=x<=100"),
    ],
)
def test_rules_that_no_council_can_have(
    chain: CouncilChain, words: tuple[str, ...], message: str
) -> None:
    result = CliRunner().invoke(
        main, ["council", "deploy", "--rpc-url", chain.url, "--unlocked", SENDER, *words]
    )
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


def test_a_question_is_asked_with_its_terms(chain: CouncilChain) -> None:
    words = ("--agents", "5", "--bond", "2gwei", "--reward", "3gwei", "--deadline", "2h")
    needs = ("--capability", "text", "--domain", "numbers", "--specifications", "In base ten")
    options = ("--option", "yes", "--option", "no")
    chain.ask_node("evm_increaseTime", 30 * 24 * HOUR)  # No block came since.
    form = run_json(chain, "ask", QUESTION, *words, *needs, *options)
    client = CouncilClient(chain.url, chain.canonical)
    [view] = client.read_views([form["request"]])
    client.close()
    request = view.request
    assert (view.phase, request.query, request.options) == (
        RequestPhase.COMMIT, QUESTION, ("yes", "no"),
    )  # fmt: skip
    assert request.specifications == "OPTIONS: yes|no\nIn base ten"
    assert (request.agent_count, request.bond, request.reward) == (5, 2 * 10**9, 3 * 10**9)
    assert (request.capabilities, request.domains) == (("text",), ("numbers",))
    assert request.deadline == form["deadline"] <= read_head(chain) + 2 * HOUR
    assert request.reward_token == NOBODY


@pytest.mark.parametrize(
    ("allowed", "approvals"),
    [(REWARD, []), (REWARD + 1, [0, REWARD]), (REWARD - 1, [0, REWARD]), (0, [REWARD])],
)
def test_a_council_may_take_just_the_reward_of_a_token(
    chain: CouncilChain, allowed: int, approvals: list[int]
) -> None:
    """The council takes all that it may, so a larger allowance would be a larger reward."""
    token = chain.make_token()
    approve = load_artifact("RewardToken").encode_call("approve", chain.oracle, allowed)
    chain.send(token, approve)
    words = ("--reward-token", token, "--reward", str(REWARD))
    form = run_json(chain, "ask", QUESTION, *words)
    purposes = [f"Allowed the council {each:,} base units" for each in approvals]
    assert [each["purpose"] for each in form["transactions"]] == [*purposes, "Asked the council"]
    client = CouncilClient(chain.url, chain.canonical)
    [view] = client.read_views([form["request"]])
    client.close()
    assert view.request.reward == REWARD
    assert to_checksum_address(view.request.reward_token) == form["rewardToken"] == token


def test_people_read_what_a_question_pays(chain: CouncilChain) -> None:
    token = chain.make_token()
    result = run(chain, "ask", QUESTION, "--reward-token", token, "--reward", "5")
    words = " ".join(result.stdout.split())
    assert f"Request 1: 3 agents, 5 base units of {token}, bonds of 0.01 ether; commit" in words
    assert f"council watch --oracle {chain.oracle} --request 1" in words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((" ",), "QUESTION: must not be empty"),
        ((QUESTION, "--option", "yes"), "--option: 1 given; must be 2 to 16: repeat --option"),
        ((QUESTION, "--option", "a", "--option", "a"), "given twice: a, a; pass each once"),
        ((QUESTION, "--option", "a|b", "--option", "c"), "'a|b': must have 1 to 64 bytes, no |"),
        ((QUESTION, "--option", "", "--option", "c"), "'': must have 1 to 64 bytes"),
        ((QUESTION, "--option", "x" * 65, "--option", "c"), "must have 1 to 64 bytes"),
        ((QUESTION, "--specifications", "OPTIONS: a|b"), "pass each option by --option"),
        ((QUESTION, "--reward-token", STRANGER), "no contract on chain"),
    ],
)
def test_a_question_that_no_council_takes(
    chain: CouncilChain, words: tuple[str, ...], message: str
) -> None:
    assert message in refuse(chain, "ask", *words)
    assert chain.read("requestCount") == 0


def test_a_contract_that_is_no_token_or_no_council_is_refused(chain: CouncilChain) -> None:
    said = refuse(chain, "ask", QUESTION, "--reward-token", chain.oracle)
    assert "no token of ERC-20, for it has no" in said
    rules = str(chain.read("rules"))
    assert "no oracle of ERC-8033" in refuse(chain, "ask", QUESTION, "--oracle", rules)
    late = run(chain, "ask", QUESTION, "--deadline", "40d", status=1)
    assert "member='deadline'" in late.output
    assert chain.read("requestCount") == 0

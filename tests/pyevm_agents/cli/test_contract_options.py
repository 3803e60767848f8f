"""Options that take a contract's address: what stands there is checked before anything is paid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.app import main
from pyevm_agents.devnet.registries import build_registries
from tests.pyevm_agents.council.council_chain import CouncilChain
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result

EMPTY = "0x" + "77" * 20
IDENTITY, FEEDBACK, _ = map(to_checksum_address, build_registries())
NEW = ("council", "deploy", "--reputation", "new", "--client", EMPTY)
ASK = ("council", "ask", "Is 7 a prime?")


@dataclass
class Contracts:
    """A chain with some contract of each kind."""

    chain: CouncilChain
    token: str
    reputation: str

    def find(self, name: str) -> str:
        """Return an address by the name of a kind."""
        known = {"council": self.chain.oracle, "token": self.token, "reputation": self.reputation}
        return {**known, "empty": EMPTY, "identity": IDENTITY, "feedback": FEEDBACK}[name]

    def run(self, *words: str) -> Result:
        """Run a command of the first account."""
        options = ["--rpc-url", self.chain.url, "--unlocked", self.chain.sender]
        environment = {"COUNCIL_ORACLE": self.chain.oracle, "ETH_KEYSTORE": None}
        return CliRunner().invoke(main, [*words, *options], env=environment)

    def count_sent(self) -> int:
        count = self.chain.ask_node("eth_getTransactionCount", self.chain.sender, "pending")
        return int(count, 16)


@pytest.fixture(scope="module")
def contracts() -> Iterator[Contracts]:
    served = Served()
    with fake_remote(served) as remote:
        chain = CouncilChain(served.ask, remote.url)
        for address, account in build_registries().items():
            name = to_checksum_address(address)
            chain.ask_node("anvil_setCode", name, "0x" + account.code.hex())
            for slot, value in account.storage.items():
                chain.ask_node("anvil_setStorageAt", name, f"0x{slot:064x}", f"0x{value:064x}")
        creation = load_artifact("CouncilReputation").encode_creation(IDENTITY, FEEDBACK, [EMPTY])
        reputation = to_checksum_address(chain.send(None, creation)["contractAddress"])
        yield Contracts(chain, chain.make_token(), reputation)
    served.close()


CHALLENGEABLE = ("oracle", "deploy", "--challengeable", "--bond", "1ether")
WRONG = [
    (("council", "deploy"), "--reputation", ("empty", "token", "identity", "council")),
    (NEW, "--identity-registry", ("empty", "token", "feedback")),
    (NEW, "--feedback-registry", ("empty", "token", "identity")),
    (ASK, "--oracle", ("empty", "token", "reputation")),
    (ASK, "--reward-token", ("empty", "identity", "council")),
    (CHALLENGEABLE, "--arbiter", ("token", "identity", "council")),
    (("tools", "deploy", "--address", IDENTITY), "--factory", ("empty", "token", "council")),
    (
        ("oracle", "deploy-agent", "--name", "A", "--base-prompt", "B", "--tool", "CounterTool"),
        "--oracle",
        ("empty", "token", "council"),
    ),
]


@pytest.mark.parametrize(
    ("words", "option", "place"),
    [(words, option, place) for words, option, places in WRONG for place in places],
    ids=[f"{each[0][0]} {each[1]} {place}" for each in WRONG for place in each[2]],
)
def test_nothing_and_another_contract_are_refused_before_anything_is_sent(
    contracts: Contracts, words: tuple[str, ...], option: str, place: str
) -> None:
    before = contracts.count_sent()
    result = contracts.run(*words, option, contracts.find(place))
    assert result.exit_code != 0, result.output
    assert not isinstance(result.exception, AssertionError)
    assert contracts.count_sent() == before


@pytest.mark.parametrize(
    "words",
    [
        ("council", "deploy", "--reputation", "reputation"),
        (*NEW, "--identity-registry", "identity", "--feedback-registry", "feedback"),
        (*ASK, "--oracle", "council"),
        (*ASK, "--oracle", "council", "--reward-token", "token", "--reward", "5"),
        (*CHALLENGEABLE, "--arbiter", "empty"),
    ],
)
def test_the_right_contract_is_taken(contracts: Contracts, words: tuple[str, ...]) -> None:
    names = {"reputation", "identity", "feedback", "council", "token", "empty"}
    command, options = words[:2], words[2:]
    given = [contracts.find(each) if each in names else each for each in options]
    result = contracts.run(*command, *given)
    assert result.exit_code == 0, result.output


def test_a_council_with_reputation_is_wired(contracts: Contracts) -> None:
    """Without the wiring each commitment would revert."""
    result = contracts.run(*NEW)
    assert result.exit_code == 0, result.output
    again = contracts.run("council", "deploy", "--reputation", contracts.reputation)
    before = contracts.count_sent()
    twice = contracts.run("council", "deploy", "--reputation", contracts.reputation)
    assert twice.exit_code == 2, again.output
    assert "serves the council" in twice.output
    assert contracts.count_sent() == before


def test_a_source_of_another_deployer_is_refused(contracts: Contracts) -> None:
    chain = contracts.chain
    stranger = chain.ask_node("eth_accounts")[1]
    creation = load_artifact("CouncilReputation").encode_creation(IDENTITY, FEEDBACK, [EMPTY])
    source = to_checksum_address(chain.attempt(stranger, None, creation)["contractAddress"])
    before = contracts.count_sent()
    result = contracts.run("council", "deploy", "--reputation", source)
    assert result.exit_code == 2
    assert "setOracle(COUNCIL)" in result.output
    assert contracts.count_sent() == before

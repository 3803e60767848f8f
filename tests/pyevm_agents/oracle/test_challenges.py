"""Workers, a watching one and an arbiter on an oracle whose answers can be challenged."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak

from pyevm_agents.oracle.messages import Answer, ComputedAnswer, Evidence
from tests.pyevm_agents.oracle.oracle_chain import BOND, PRICES, WINDOW, WORKER, WORKER_KEY
from tests.pyevm_agents.oracle.working import REFUSAL, RefusingComputer, living

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.oracle.messages import AgentRequest
    from tests.pyevm_agents.oracle.oracle_chain import Deployed, OracleChain
    from tests.pyevm_agents.oracle.working import Life

WATCHER_KEY, ARBITER_KEY = PrivateKey(b"\x66" * 32), PrivateKey(b"\x55" * 32)
WATCHER, ARBITER = (key.public_key.to_checksum_address() for key in (WATCHER_KEY, ARBITER_KEY))
LIE = b"\x87\x65\x43\x21"
REFUSED = 2


class LyingComputer(RefusingComputer):
    """Answers every request with another refusal."""

    def compute(self, request: AgentRequest) -> ComputedAnswer:
        computed = super().compute(request)
        members = {name: getattr(computed.evidence, name) for name in Evidence.__slots__}
        members["output_hash"] = keccak(LIE)
        return ComputedAnswer(Answer(refused=True, output=LIE), Evidence(**members))


@pytest.fixture
def chain(oracle_chain: OracleChain) -> OracleChain:
    """A chain whose oracle has two workers with stakes, and an arbiter."""
    chain = oracle_chain
    terms = (ARBITER, BOND, WINDOW, WINDOW)
    chain.oracle = chain.deploy("ChallengeableOracle", chain.sender, PRICES, terms)
    for account in (WORKER, WATCHER, ARBITER):
        chain.send(account, b"", value=10**18)
    for worker in (WORKER, WATCHER):
        chain.oracle.send("setWorker", worker, True)  # noqa: FBT003 - an argument of a contract
        stake(chain, chain.oracle, worker)
    chain.agent = chain.deploy_agent(oracle=chain.oracle)
    return chain


def stake(chain: OracleChain, oracle: Deployed, worker: str) -> None:
    chain.ask("anvil_impersonateAccount", worker)
    chain.send(oracle.address, oracle.encode("stake"), value=BOND, sender=worker)


@pytest.fixture
def lives(chain: OracleChain, tmp_path: Path) -> Iterator[dict[str, Life]]:
    """A lying worker, an honest one that watches, and the arbiter."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                living(
                    chain,
                    tmp_path / name,
                    computer,
                    key=key,
                    turn_seconds=60,
                    is_watching=name == "watcher",
                )
            )
            for name, computer, key in (
                ("liar", LyingComputer(), WORKER_KEY),
                ("watcher", RefusingComputer(), WATCHER_KEY),
                ("arbiter", RefusingComputer(), ARBITER_KEY),
            )
        }


def pass_seconds(chain: OracleChain, seconds: int) -> None:
    head = int(chain.ask("eth_getBlockByNumber", "latest", False)["timestamp"], 16)  # noqa: FBT003 - JSON-RPC's
    chain.ask("evm_setNextBlockTimestamp", head + seconds)
    chain.ask("anvil_mine")


def ask_until_turn(chain: OracleChain, worker: str) -> AgentRequest:
    """Ask until the first turn is a worker's; the other requests are left to expire."""
    first = 0 if worker == WORKER else 1
    while (request := chain.ask_agent()).commitment.request_id % 2 != first:
        pass
    return request


def find_proposal(chain: OracleChain, request: AgentRequest) -> tuple[int, str]:
    """Return status and worker of a request's proposal."""
    proposal = chain.oracle.read("proposalOf", request.commitment.request_id)[0]
    return proposal[5], proposal[3].lower()


def test_a_wrong_answer_is_challenged_and_ruled_against_and_a_right_one_follows(
    chain: OracleChain, lives: dict[str, Life]
) -> None:
    request = ask_until_turn(chain, WORKER)
    oracle, request_id = chain.oracle, request.commitment.request_id
    lives["liar"].work_until(lambda: find_proposal(chain, request)[0] == 1)
    lives["watcher"].work_until(lambda: find_proposal(chain, request)[0] == 2)
    lives["arbiter"].work_until(lambda: find_proposal(chain, request)[0] == 0)
    assert oracle.read("claimable", ARBITER) == BOND // 2
    assert oracle.read("claimable", WATCHER) == BOND + BOND // 2
    assert oracle.read("freeStakeOf", WORKER) == 0

    pass_seconds(chain, 61)  # The watcher's turn; the liar does not repeat its answer.
    sent = lives["liar"].events.counts["sent"]
    lives["liar"].work()
    assert lives["liar"].events.counts["sent"] == sent
    lives["watcher"].work_until(lambda: find_proposal(chain, request) == (1, WATCHER.lower()))
    pass_seconds(chain, WINDOW + 1)
    lives["watcher"].settle()
    outcome, output, worker, _ = oracle.read("answerOf", request_id)
    assert (outcome, output, worker.lower()) == (REFUSED, REFUSAL, WATCHER.lower())
    assert oracle.read("claimable", WATCHER) == BOND + BOND // 2 + request.commitment.fee
    assert oracle.read("freeStakeOf", WATCHER) == BOND


def test_a_false_challenge_loses_its_bond_and_the_answer_becomes_final(
    chain: OracleChain, lives: dict[str, Life]
) -> None:
    request = ask_until_turn(chain, WATCHER)
    oracle, request_id = chain.oracle, request.commitment.request_id
    lives["watcher"].work_until(lambda: find_proposal(chain, request)[0] == 1)
    proposal_id = oracle.read("proposalOf", request_id)[0][0]
    oracle.send("challenge", request_id, proposal_id, value=BOND)
    lives["arbiter"].work_until(lambda: find_proposal(chain, request)[0] == 3)
    assert oracle.read("claimable", chain.sender) == 0
    lives["watcher"].settle()
    assert oracle.read("answerOf", request_id)[:2] == (REFUSED, REFUSAL)
    assert oracle.read("claimable", WATCHER) == BOND // 2 + request.commitment.fee
    assert oracle.read("claimable", ARBITER) == BOND // 2


def test_without_a_ruling_both_bonds_go_back(chain: OracleChain, lives: dict[str, Life]) -> None:
    request = ask_until_turn(chain, WATCHER)
    oracle, request_id = chain.oracle, request.commitment.request_id
    lives["watcher"].work_until(lambda: find_proposal(chain, request)[0] == 1)
    proposal_id = oracle.read("proposalOf", request_id)[0][0]
    oracle.send("challenge", request_id, proposal_id, value=BOND)
    pass_seconds(chain, WINDOW + 1)
    lives["watcher"].work_until(lambda: find_proposal(chain, request)[0] != 2)
    assert oracle.read("claimable", chain.sender) == BOND
    assert oracle.read("freeStakeOf", WATCHER) + BOND * (find_proposal(chain, request)[0] == 1) == (
        BOND
    )


def test_an_answer_without_a_stake_is_rejected_and_given_after_it(
    chain: OracleChain, lives: dict[str, Life]
) -> None:
    oracle = chain.oracle
    chain.send(oracle.address, oracle.encode("unstake", BOND), sender=WATCHER)
    request = ask_until_turn(chain, WATCHER)
    watcher = lives["watcher"]
    watcher.work_until(lambda: watcher.events.counts["rejected"])
    [reason] = {str(fields["reason"]) for name, fields in watcher.events.all if name == "rejected"}
    assert "InsufficientStake" in reason
    stake(chain, oracle, WATCHER)
    watcher.work_until(lambda: find_proposal(chain, request)[0] == 1)

"""A Governor with timelock as the editor of a knowledge base: passages by vote."""

from __future__ import annotations

import pytest
from eth_utils import keccak

from benchmarks.retrieval import K1, STOP_WORDS, B
from tests.contracts.loan.ballots import Ballot
from tests.contracts.loan.loan_world import proposal_of
from tests.contracts.loan.pool_bench import PoolBench
from tests.contracts.plain_evm import OWNER, ZERO, RevertedError, reverts

PASSAGE = "A loan needs collateral of 150 percent."
NOT_STORED, STORED = False, True
EDITOR = keccak(text="EDITOR_ROLE")


@pytest.fixture(scope="module")
def bench() -> PoolBench:
    """A DAO whose timelock is the base's only admin and editor; the owner has the votes."""
    bench = PoolBench()
    bench.build_dao()
    bench.add("base", "KnowledgeBase", bench.address("timelock"), STOP_WORDS, K1, B)
    bench["votes"]("delegate", OWNER.address)
    bench.wait(1)
    return bench


def ballot(bench: PoolBench, function: str, *arguments: object, description: str) -> Ballot:
    base = bench.contracts["base"]
    proposal = proposal_of(base, "KnowledgeBase", function, *arguments, description=description)
    return Ballot(bench["governor"], bench.wait, proposal)


def test_a_governor_adds_and_removes_a_passage(bench: PoolBench) -> None:
    base = bench["base"]
    for function, arguments in (("add", ([PASSAGE], STORED)), ("remove", ([1],))):
        with reverts("AccessControlUnauthorizedAccount", OWNER.address, EDITOR):
            base(function, *arguments)
    assert base("search", "collateral", 8) == ()

    ballot(bench, "add", [PASSAGE], STORED, description="Add a passage.").pass_all()
    ((number, score),) = base("search", "collateral", 8)
    assert (number, score > 0) == (1, True)
    assert base("textOf", 1) == (True, PASSAGE)

    lost = ballot(bench, "remove", [1], description="Remove it at once.")
    lost.open()
    lost.close()  # nobody votes
    with pytest.raises(RevertedError):
        lost.queue()
    assert base("textOf", 1) == (True, PASSAGE)

    ballot(bench, "remove", [1], description="Remove it.").pass_all()
    assert base("search", "collateral", 8) == ()
    with reverts("NoSuchPassage", 1):
        base("textOf", 1)


def test_a_governor_gives_and_takes_the_editors_role(bench: PoolBench) -> None:
    base = bench["base"]
    ballot(bench, "grantRole", EDITOR, OWNER.address, description="The owner edits.").pass_all()
    base("add", ["The DAO sets the limit."], NOT_STORED)
    ballot(bench, "revokeRole", EDITOR, OWNER.address, description="No more.").pass_all()
    with reverts("AccessControlUnauthorizedAccount", OWNER.address, EDITOR):
        base("add", ["x"], NOT_STORED)
    assert not base("hasRole", EDITOR, ZERO)

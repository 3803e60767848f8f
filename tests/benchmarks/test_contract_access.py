"""Scores of an analysis: each kind of right answer and of mistake; the analysis of some."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from eth_utils import to_checksum_address

from benchmarks.contract_access import (
    GuessedFunction,
    guess_with_evmole,
    score_access,
    score_approvals,
    score_interfaces,
    select,
)
from benchmarks.contract_adapters import analyse_contracts, open_chain, read_contract
from benchmarks.contract_truth import TrueApproval, TrueFunction, read_truth
from benchmarks.contract_world import ContractWorld
from pyevm_agents.contract_intelligence.capabilities import (
    Access,
    Approval,
    ContractIntelligence,
    ContractKind,
    FunctionCapability,
)
from pyevm_agents.devnet.local_account import LocalAccount

if TYPE_CHECKING:
    from pyevm_agents.chain import Chain
    from tests.samples import Sample

ACCOUNT = Address(b"\xac" * 20)
TRUTH = read_truth()


@pytest.fixture(scope="module")
def chain() -> Chain:
    return open_chain()


@pytest.fixture(scope="module")
def world(chain: Chain) -> ContractWorld:
    return ContractWorld(LocalAccount(chain), ACCOUNT, native_symbol="BNB")


def true(name: str, **facts: object) -> TrueFunction:
    """Return an open function that writes, with other facts."""
    function = TrueFunction(
        contract="switch",
        signature=f"{name}()",
        is_read_only=False,
        is_payable=False,
        may_call=True,
    )
    return replace(function, **facts)  # type: ignore[arg-type]


def said(name: str, access: Access, **facts: object) -> FunctionCapability:
    """Return what an analysis says of a function."""
    function = FunctionCapability(
        name=name,
        signature=f"{name}()",
        selector=select(f"{name}()"),
        parameters=(),
        access=access,
    )
    return replace(function, **facts)  # type: ignore[arg-type]


def analysed(*functions: FunctionCapability) -> dict[str, ContractIntelligence]:
    """Return an analysis of the switch."""
    return {
        "switch": ContractIntelligence(
            address="",
            name="switch",
            kind=ContractKind.CUSTOM,
            account="",
            block_number=0,
            abi_source="file",
            functions=functions,
        )
    }


def test_every_answer_counts_as_what_it_is(world: ContractWorld) -> None:
    owner = to_checksum_address(world.owner.address)
    truth = [
        true("a"),
        true("b"),
        true("c"),
        true("d", may_call=False, callers=("owner",)),
        true("e", may_call=False, callers=("owner",)),
        true("f", may_call=False, callers=("owner",)),
        true("g", may_call=False, callers=("others",)),
        true("h", may_call=False, is_stopped=True),
        true("i", may_call=False, is_stopped=True),
    ]
    found = analysed(
        said("a", Access.OPEN),
        said("b", Access.FORBIDDEN),
        said("c", Access.UNKNOWN),
        said("d", Access.FORBIDDEN, callers=(owner,)),
        said("e", Access.FORBIDDEN, callers=(to_checksum_address(world.router),)),
        said("f", Access.OPEN),
        said("g", Access.UNKNOWN),
        said("h", Access.OPEN, reason="paused"),
        said("i", Access.OPEN),
    )
    score = score_access({"switch": truth}, found, world)
    assert (score.functions, score.closed, score.found, score.wrong) == (9, 4, 3, 2)
    assert (score.unknown, score.stopped, score.noticed) == (2, 2, 1)
    assert (score.callers, score.named, len(score.misnamed)) == (3, 1, 1)
    assert (score.precision, score.recall) == (3 / 5, 3 / 4)
    assert len(score.mistakes) == 3


def test_a_function_that_was_not_analysed_is_named(world: ContractWorld) -> None:
    with pytest.raises(ValueError, match=r"switch\.a\(\): was not analysed"):
        score_access({"switch": [true("a")]}, analysed(), world)


def test_an_approval_is_found_by_token_and_spender(world: ContractWorld) -> None:
    needed = TrueApproval(tokens=("USDT", "DAI"), spender="router")
    truth = {"switch": [true(name, approvals=(needed,)) for name in "abcd"] + [true("e")]}

    def approving(name: str, token: str, spender: str) -> FunctionCapability:
        places = [to_checksum_address(world.address(place)) for place in (token, spender)]
        approval = Approval(token=places[0], spender=places[1], amount=1)
        return said(name, Access.OPEN, approvals=(approval,))

    found = analysed(
        approving("a", "DAI", "router"),
        approving("b", "USDC", "router"),
        approving("c", "USDT", "factory"),
        said("d", Access.OPEN),
        approving("e", "USDT", "router"),
    )
    score = score_approvals(truth, found, world)
    assert (score.true, score.found) == (4, 1)
    assert score.missing == tuple(f"switch.{name}(): USDT/DAI for router" for name in "bcd")
    assert score.further == ("switch.e()",)


def test_guesses_from_code_are_compared_by_selector() -> None:
    truth = {"switch": [true("a"), true("b", is_read_only=True), true("c", is_payable=True)]}
    guesses = {
        "switch": {
            select("a()"): GuessedFunction(is_read_only=False, is_payable=False),
            select("b()"): GuessedFunction(is_read_only=False, is_payable=False),
        }
    }
    score = score_interfaces(truth, guesses)
    assert (score.functions, score.found, score.reads_right, score.payable_right) == (3, 2, 1, 2)


def test_evmole_finds_the_functions_of_the_switch(chain: Chain, world: ContractWorld) -> None:
    truth = {"switch": TRUTH["switch"]}
    score = score_interfaces(truth, guess_with_evmole({"switch": chain.code(world.switch)}))
    assert score.found == score.functions == score.reads_right == 5


SMALL = ("switch", "two-step box", "beacon", "proxy admin")
"""Contracts that CI analyses; `make evidence` analyses all."""


@pytest.mark.sample(count=len(SMALL), seed=0)
def test_the_analysis_finds_who_may_call_what(
    chain: Chain, world: ContractWorld, sample: Sample
) -> None:
    """The one mistake: the account may cancel what it has scheduled, and can schedule nothing."""
    names = [*SMALL, *(name for name in TRUTH if name not in SMALL)][: sample.count]
    truth = {name: TRUTH[name] for name in names}
    found = dict(analyse_contracts(chain, world, names))
    access = score_access(truth, found, world)
    mistakes = [one.partition("(")[0] for one in access.mistakes]
    known = ["said to be open: manager.cancel"] if "manager" in names else []
    assert mistakes == known
    assert access.found == access.closed - len(known) > 0
    assert access.precision == 1.0
    assert access.misnamed == ()
    assert access.named == access.callers - len(known)
    assert access.noticed == access.stopped
    approvals = score_approvals(truth, found, world)
    assert (approvals.missing, approvals.further) == ((), ())
    sample.figures.update({"contracts": len(names), "functions": access.functions})


def test_the_interface_has_every_function_of_the_table(world: ContractWorld) -> None:
    for name, functions in TRUTH.items():
        selectors = {function.selector for function in read_contract(world, name).functions}
        assert selectors == {select(function.signature) for function in functions}

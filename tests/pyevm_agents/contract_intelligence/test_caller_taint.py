"""The taint of calls: what the conditions before a revert were computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import AccountOverride, Call
from pyevm_agents.contract_intelligence.call_search import CheckKind, find_check
from pyevm_agents.contract_intelligence.conditions import list_comparisons
from pyevm_agents.contract_intelligence.probe import PROBE_BALANCE_WEI, CallProbe, Prober
from tests.chain_bench import OWNER, Bench
from tests.pyevm_agents.contract_intelligence.deployment import AGENT, hex_of, list_functions

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_typing import Address

    from pyevm_agents.contract_intelligence.call_search import AccessCheck


def list_checks(chain: Bench, to: Address, data: bytes) -> list[AccessCheck]:
    result = Prober(chain.chain).run(CallProbe(sender=AGENT, to=to, data=data))
    assert not result.is_success
    found = [
        find_check(decision, comparison)
        for decision in result.tape.decisions
        for comparison in list_comparisons(decision.condition)
    ]
    return [each for each in found if each is not None]


@pytest.mark.parametrize(
    "function", ["setValue", "setValueByXor", "setValueAsDeployer", "setValueByOrigin"]
)
def test_the_address_that_the_caller_is_compared_with(
    bench: Callable[..., Bench], function: str
) -> None:
    chain = bench()
    box = chain.deploy("AssemblyBox", OWNER)
    data = load_artifact("AssemblyBox").encode_call(function, 1)
    [check] = list_checks(chain, box, data)
    assert check.kind is CheckKind.IDENTITY
    assert check.holder == int.from_bytes(OWNER, "big")
    assert (check.slot is not None) == (function in {"setValue", "setValueByXor"})


def test_the_slot_of_a_membership(bench: Callable[..., Bench]) -> None:
    chain = bench()
    box = chain.deploy("AssemblyBox", OWNER)
    data = load_artifact("AssemblyBox").encode_call("setValueByRole", 1)
    [check] = list_checks(chain, box, data)
    assert check.kind is CheckKind.MEMBERSHIP
    assert check.slot is not None
    account, slot = check.slot
    assert account == box
    member = ((account, slot, 2),)
    assert (
        Prober(chain.chain)
        .run(CallProbe(sender=AGENT, to=box, data=data, storage=member))
        .is_success
    )


def test_a_membership_in_another_contract(bench: Callable[..., Bench]) -> None:
    """AccessManaged asks its manager, which reads the role of the address that it is given."""
    chain = bench()
    manager = chain.deploy("BoxManager", OWNER)
    box = chain.deploy("ManagedBox", manager)
    checks = list_checks(chain, box, load_artifact("ManagedBox").encode_call("setValue", 1))
    memberships = [each for each in checks if each.kind is CheckKind.MEMBERSHIP]
    assert {each.slot[0] for each in memberships if each.slot is not None} == {manager}


@pytest.mark.parametrize("name", ["TokenBox", "RolesBox", "ItemBox", "AssemblyBox"])
def test_tracing_changes_no_result(bench: Callable[..., Bench], name: str) -> None:
    chain = bench()
    box = chain.deploy(name, OWNER)
    rich = {AGENT: AccountOverride(balance_wei=PROBE_BALANCE_WEI)}
    prober = Prober(chain.chain)
    for function in list_functions(load_artifact(name).abi):
        for sender in (AGENT, OWNER):
            data = bytes(function.selector) + b"".join(
                int.from_bytes(AGENT, "big").to_bytes(32, "big") for _ in function.parameters
            )
            probe = prober.run(CallProbe(sender=sender, to=box, data=data))
            call = Call(to=box, sender=sender, data=data, gas=prober.gas)
            plain = chain.chain.call(call, header=prober.header, overrides=rich)
            assert probe.is_success == (plain.error is None)
            assert (probe.output, probe.gas_used) == (plain.output, plain.gas_used)


def test_an_inner_caller_is_not_the_account(bench: Callable[..., Bench]) -> None:
    """The token compares its caller, which is the vault, with nothing of the account."""
    chain = bench()
    token = chain.deploy("TokenBox", OWNER)
    vault = chain.deploy("VaultBox", token)
    data = load_artifact("VaultBox").encode_call("deposit", 5, hex_of(AGENT))
    checks = list_checks(chain, vault, data)
    assert [each for each in checks if each.holder] == []

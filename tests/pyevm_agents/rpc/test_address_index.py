"""The index of accounts by block and transaction."""

from __future__ import annotations

from pyevm_agents.rpc.address_index import AddressIndex
from pyevm_agents.tracing import CallTree
from tests.chain_bench import OWNER
from tests.pyevm_agents.tracing.scenario import CONTRACT
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CREATED, NOBODY

BLOCK = b"\x01" * 32


def tree(name: str) -> CallTree:
    calls = CallTree()
    BY_NAME[name].trace(calls)
    return calls


def test_who_takes_part_is_found_once_and_then_known() -> None:
    appearances = AddressIndex()
    assert appearances.get(BLOCK) is None
    executions: list[int] = []

    def execute() -> list[CallTree]:
        executions.append(1)
        return [tree("transfer"), tree("creation"), tree("create without the balance")]

    found = appearances.find(BLOCK, execute)
    assert found[0] == {OWNER, NOBODY}
    assert found[1] == {OWNER, CREATED}
    assert {OWNER, CONTRACT} <= found[2]
    assert appearances.get(BLOCK) == found
    assert executions == [1]

"""Stability of tools' metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.contract_intelligence.metadata_stability import (
    CodeChange,
    inspect_metadata,
)
from tests.chain_bench import OWNER, Bench
from tests.pyevm_agents.contract_intelligence.deployment import AGENT, hex_of, list_functions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.contract_intelligence.metadata_stability import MetadataStability

DELEGATING = Address(b"\x78" * 20)
CLOCK = Address(b"\x79" * 20)


def inspect(chain: Bench, tool: Address, name: str) -> MetadataStability:
    functions = list_functions(load_artifact(name).abi)
    return inspect_metadata(chain.chain, tool, functions, AGENT)


def test_a_tool_of_constants_cannot_change(bench: Callable[..., Bench]) -> None:
    chain = bench()
    stability = inspect(chain, chain.deploy("EchoTool"), "EchoTool")
    assert not stability.can_change
    assert stability.failed == ()


def test_slots_and_their_writers(bench: Callable[..., Bench]) -> None:
    chain = bench()
    tool = chain.deploy("MutableTool", OWNER)
    stability = inspect(chain, tool, "MutableTool")
    name, description = stability.slots
    assert (name.readers, name.writers) == (("name",), ("setName(string)",))
    assert (name.callers, name.is_open) == ((hex_of(OWNER),), False)
    assert description.readers == ("description",)
    assert (description.writers, description.is_open) == (("setDescription(string)",), True)
    assert stability.can_change


def test_proxies_can_change_their_code(bench: Callable[..., Bench]) -> None:
    chain = bench()
    logic = chain.deploy("MutableTool", OWNER)
    visit = load_artifact("MutableTool").encode_call("visit")
    proxy = chain.deploy("ProxyBox", logic, visit)
    stability = inspect(chain, proxy, "MutableTool")
    assert stability.code_changes == ((hex_of(proxy), CodeChange.PROXY),)


def test_delegating_accounts_can_change_their_code(bench: Callable[..., Bench]) -> None:
    chain = bench()
    tool = chain.deploy("EchoTool")
    other = bench(codes={DELEGATING: b"\xef\x01\x00" + tool})
    assert other.deploy("EchoTool") == tool
    stability = inspect(other, DELEGATING, "EchoTool")
    assert stability.code_changes == ((hex_of(DELEGATING), CodeChange.DELEGATION),)
    assert stability.failed == ()


def test_metadata_that_depend_on_the_time(bench: Callable[..., Bench]) -> None:
    code = bytes.fromhex("425f5260205ff3")  # Return the time.
    chain = bench(codes={CLOCK: code})
    assert inspect_metadata(chain.chain, CLOCK, (), AGENT).environment == ("TIMESTAMP",)
